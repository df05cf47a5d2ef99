import { existsSync } from "node:fs";
import type { PendingSecrets, Reloads } from "../../core/configuration/configuration-files.ts";
import type { Clock, Logger } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import type { DurableFiles } from "../../lib/durable-file.ts";
import { replaceTrouble } from "../../lib/write-trouble.ts";
import type { ChangeTurn } from "./change-turn.ts";
import type { EditedPart } from "./edited-part.ts";
import { fileMark } from "./file-mark.ts";
import type { FileVersions } from "./file-versions.ts";
import type { EditedFile, FileCheck, FileVersion, SaveOutcome } from "./shown.ts";

export interface FileEditorParts {
  readonly files: DurableFiles;
  readonly reloader: Pick<Reloads, "reload">;
  readonly versions: FileVersions;
  /** Shared by all that changes the files: what is on trial may be reverted, and a save with it. */
  readonly turn: ChangeTurn;
  readonly clock: Pick<Clock, "now">;
  readonly logger: Logger;
}

/** One change at a time. People and configuration management may also edit the file: their changes are never overwritten unseen. */
export class FileEditor {
  readonly #parts: FileEditorParts;
  readonly #part: EditedPart;

  constructor(parts: FileEditorParts, part: EditedPart) {
    this.#parts = parts;
    this.#part = part;
  }

  get path(): string {
    return this.#part.path;
  }

  /** Why it cannot be saved; null if it can. */
  get trouble(): string | null {
    return replaceTrouble(this.#part.path);
  }

  read(): EditedFile {
    const text = this.#part.text();
    const isBlank = (text ?? "").trim() === "";
    return { ...this.#part.shown(text), hash: fileMark(text ?? ""), isBlank };
  }

  /** Faults and warnings of content that is not written, and what a reload would change. */
  check(content: unknown): FileCheck {
    const written = this.#part.written(content);
    return "faults" in written
      ? { faults: written.faults, warnings: [], changes: [] }
      : this.#part.check(written.text, written.secrets);
  }

  /** @param expected hash of the file that the change was made from */
  async save(content: unknown, expected: string, by: string): Promise<SaveOutcome> {
    // What is hidden from the browser is filled in from the file, so the file must be the version that the browser saw.
    const before = this.read();
    if (before.hash !== expected) return this.#changedElsewhere(before);
    const written = this.#part.written(content);
    if ("faults" in written) return { outcome: "faults", faults: written.faults };
    return this.#inTurn(() => this.#save(written.text, expected, by, written.secrets));
  }

  async #inTurn(work: () => Promise<SaveOutcome>): Promise<SaveOutcome> {
    const { turn } = this.#parts;
    if (turn.held !== null) return { outcome: "busy", detail: turn.held };
    const end = turn.take("another change is being saved; try again in a moment");
    try {
      return await work();
    } finally {
      end?.();
    }
  }

  #changedElsewhere(file: EditedFile): SaveOutcome {
    const text = this.#part.text();
    const changes = text === null ? [] : this.#part.check(text).changes;
    return { outcome: "changed_elsewhere", file, changes };
  }

  async #save(
    text: string,
    expected: string,
    by: string,
    secrets: PendingSecrets = new Map(),
  ): Promise<SaveOutcome> {
    try {
      return await this.#write(text, expected, by, secrets);
    } finally {
      this.#pruneSecrets();
    }
  }

  /** Also removes what an interrupted save left behind. */
  #pruneSecrets(): void {
    const { versions, logger } = this.#parts;
    const { secrets } = this.#part;
    if (secrets === undefined) return;
    try {
      const text = this.#part.text();
      // A version that cannot be read now may name any of them.
      if (text === null && existsSync(this.#part.path)) return;
      const kept = versions.list().map(({ version }) => versions.text(version));
      secrets.prune([text, ...kept]);
    } catch (err) {
      logger.warn({ err }, "password files that are no longer used could not be removed");
    }
  }

  async #write(
    text: string,
    expected: string,
    by: string,
    secrets: PendingSecrets,
  ): Promise<SaveOutcome> {
    const { files, versions, reloader, clock, logger } = this.#parts;
    const { path } = this.#part;
    const before = this.#part.text();
    if (fileMark(before ?? "") !== expected) return this.#changedElsewhere(this.read());
    const { faults } = this.#part.check(text, secrets);
    if (faults.length > 0) return { outcome: "faults", faults };
    if (before === null && existsSync(path))
      return { outcome: "not_writable", detail: unread(path) };
    try {
      if (before !== null && before !== text)
        versions.keep({ replacedAtMs: clock.now(), replacedBy: by, text: before });
      this.#part.secrets?.write(secrets);
      files.write(path, text);
    } catch (err) {
      logger.error({ err, by, path }, "the file could not be written");
      const problem = messageOf(err);
      const remedy = `the agent must be able to write ${this.#part.setting}, its directory and DATA_DIR (docs/setup.md)`;
      return { outcome: "not_writable", detail: `${problem}; ${remedy}` };
    }
    const report = await reloader.reload(by);
    if (report.outcome === "refused") {
      // A change that could not be applied must not wait in the file for the next start.
      if (this.#part.text() === text && !(await this.#putBack(before)))
        return {
          outcome: "not_writable",
          detail: `${path} holds the refused change, because the text of before could not be written: restore its last version`,
        };
      return { outcome: "faults", faults: this.#part.safe(report.faults) };
    }
    return { outcome: "saved", file: this.read(), report };
  }

  /** Reloaded, so that the file counts neither as faulty nor as changed: signed documents wait for that. */
  async #putBack(text: string | null): Promise<boolean> {
    const { files, reloader, logger } = this.#parts;
    const { path } = this.#part;
    try {
      if (text === null) files.remove(path);
      else files.write(path, text);
    } catch (err) {
      logger.error({ err, path }, "the text of before could not be written");
      return false;
    }
    await reloader.reload("the file of before");
    return true;
  }

  versions(): readonly FileVersion[] {
    return this.#parts.versions.list();
  }

  /** Null for a version that is not kept. */
  version(version: number) {
    const text = this.#parts.versions.text(version);
    if (text === null) return null;
    return { ...this.#part.shown(text), changes: this.#part.check(text).changes };
  }

  restore(version: number, expected: string, by: string): Promise<SaveOutcome> {
    const text = this.#parts.versions.text(version);
    if (text === null)
      return Promise.resolve({
        outcome: "unknown_version",
        detail: `version ${version} is not kept; only the last ten are`,
      });
    return this.#inTurn(() => this.#save(text, expected, by));
  }
}

/**
 * A file that exists but cannot be read now is not replaced: nobody has seen it, and no version of it could be kept.
 */
function unread(path: string): string {
  return `${replaceTrouble(path) ?? `${path} cannot be read`}; it is not replaced without having been read: allow the agent's user to read it`;
}
