/**
 * What is on disk around a trial, so that a power cut between any two steps leaves the old configuration or the new
 * one, complete:
 * 1. `trial.json` contains both, before a file is touched    2. the files are written    3. the trial
 * 4. `accepted.json` records the result: from here on it is settled    5. `trial.json` is deleted
 * A start that finds `trial.json` without its `accepted.json` restores the old files: a trial that did not end counts
 * as failed.
 */

import { join } from "node:path";
import type { ConfigurationTexts } from "../../core/configuration/configuration-files.ts";
import type { Runtime } from "../../core/ports.ts";
import type { DurableFiles } from "../../lib/durable-file.ts";
import { makeDirectory } from "../../lib/make-directory.ts";
import { type Accepted, acceptedOf, sealed, type Trial, trialOf } from "./trial-records.ts";

export interface ConfigurationPaths {
  readonly site: string;
  /** Null if UPLINKS_FILE is not set. */
  readonly uplinks: string | null;
}

export class TrialJournal {
  readonly #files: DurableFiles;
  readonly #trialPath: string;
  readonly #acceptedPath: string;
  readonly #directory: string;

  constructor(files: DurableFiles, dataDir: string) {
    this.#files = files;
    this.#directory = join(dataDir, "configuration");
    this.#trialPath = join(this.#directory, "trial.json");
    this.#acceptedPath = join(this.#directory, "accepted.json");
  }

  /** Null if there is none, or if it is damaged. */
  get accepted(): Accepted | null {
    return acceptedOf(this.#files.read(this.#acceptedPath));
  }
  get trial(): Trial | null {
    return trialOf(this.#files.read(this.#trialPath));
  }

  /** The record of the last accepted document, if it is there and damaged: which versions are old is not known then. */
  get damagedRecord(): string | null {
    const text = this.#files.read(this.#acceptedPath);
    return text === null || acceptedOf(text) !== null ? null : this.#acceptedPath;
  }

  begin(trial: Trial): void {
    makeDirectory(this.#directory, 0o700);
    this.#files.write(this.#trialPath, sealed(trial));
  }

  end(accepted: Accepted): void {
    this.#files.write(this.#acceptedPath, sealed(accepted));
    this.#files.remove(this.#trialPath);
  }

  /** Restores the old files as `restore` does, and forgets the trial. */
  undo(trial: Trial, paths: ConfigurationPaths): string[] {
    const kept = this.restore(trial, paths);
    this.abandon();
    return kept;
  }

  /** The old files are restored, and the document counts as never accepted. */
  abandon(): void {
    this.#files.remove(this.#trialPath);
  }

  /** Puts a part of the new configuration, or of the old one, in its place. */
  write(paths: ConfigurationPaths, texts: ConfigurationTexts, seen: ConfigurationTexts): void {
    for (const part of ["site", "uplinks"] as const) {
      const path = paths[part];
      const text = texts[part];
      if (path !== null && text !== null && text !== seen[part]) this.#files.write(path, text);
    }
  }

  /**
   * Restores the old files; one that did not exist is deleted. A file that is neither the old nor the new one was
   * changed by somebody since and stays: its path is returned.
   */
  restore({ before, after }: Trial, paths: ConfigurationPaths): string[] {
    const kept: string[] = [];
    for (const part of ["site", "uplinks"] as const) {
      const path = paths[part];
      const old = before[part];
      if (path === null || old === after[part]) continue;
      const now = this.#files.read(path);
      if (now === old) continue;
      if (now !== null && now !== after[part]) kept.push(path);
      else if (old === null) this.#files.remove(path);
      else this.#files.write(path, old);
    }
    return kept;
  }

  /** The files that differ from those of the trial: somebody has changed or deleted them. */
  changedSince({ after }: Trial, paths: ConfigurationPaths): string[] {
    return (["site", "uplinks"] as const).flatMap((part) => {
      const path = paths[part];
      return path === null || this.#files.read(path) === after[part] ? [] : [path];
    });
  }

  /** Before the files are read at a start. Null if no trial was interrupted, or its record is damaged: the files stay then. */
  recover(paths: ConfigurationPaths, nowMs: number): Accepted | null {
    const trial = this.trial;
    if (trial === null) {
      if (this.#files.read(this.#trialPath) !== null) this.#files.remove(this.#trialPath);
      return null;
    }
    const { version, digest, reply } = trial;
    const { isRestore = false } = trial;
    const settled = this.accepted;
    if (settled?.digest === digest && !isRestore) {
      this.#files.remove(this.#trialPath);
      return null;
    }
    const kept = this.restore(trial, paths);
    const also =
      kept.length === 0 ? "" : `; ${kept.join(" and ")} was changed since then and is kept`;
    const accepted: Accepted = {
      version,
      digest,
      ...(kept.length === 0
        ? ({ outcome: "rolled_back", reason: "trial" } as const)
        : ({ outcome: "superseded", reason: "changed_here" } as const)),
      detail: `the agent stopped during the trial; the last good configuration was restored${also}`,
      atMs: nowMs,
      reply,
    };
    if (isRestore) this.abandon();
    else this.end(accepted);
    return isRestore ? { ...accepted, isRestore } : accepted;
  }
}

/** Between two tries to end a trial on a disk that takes nothing, ms. */
const RETRY_MS = 10_000;

/**
 * Takes a step of a trial's end until the disk takes it: left to the next start, a configuration that failed would stay till
 * then, and one that was tried well would go. False if `signal` came first.
 */
export async function untilWritten(
  step: () => void,
  { clock, logger }: Runtime,
  signal: AbortSignal,
): Promise<boolean> {
  for (let isTold = false; !signal.aborted; isTold = true) {
    try {
      step();
      return true;
    } catch (err) {
      if (!isTold)
        logger.error({ err }, "the end of a configuration's trial cannot be written; trying again");
    }
    await clock.sleep(RETRY_MS, signal);
  }
  return false;
}
