/**
 * Applies signed documents: verified, fully checked, written, applied by difference, and tried; one that fails is
 * reverted.
 */

import type { KeyObject } from "node:crypto";
import { type ReloadReport } from "../../core/configuration/configuration.ts";
import { faultText } from "../../core/configuration/configuration-fault.ts";
import type { ConfigurationTexts } from "../../core/configuration/configuration-files.ts";
import { messageOf } from "../../core/thrown.ts";
import { LogPace } from "../../lib/log-pace.ts";
import type { ChangeTurn } from "./change-turn.ts";
import {
  type DocumentRefusal,
  isRefusal,
  openDocument,
  type RefusalReason,
  type SignedDocument,
} from "./signed-document.ts";
import { ChangeTrial, type TriedChangeParts, trialHealthOf } from "./trial.ts";
import { untilWritten } from "./trial-journal.ts";
import type { Ending, ReplyTo, Trial } from "./trial-records.ts";

/**
 * Before this time a box without a clock chip does not know the time yet, so it cannot tell whether a document has
 * expired.
 */
const PLAUSIBLE_SINCE_MS = Date.UTC(2024, 0, 1);

/** As published on the response topic, or on `agent/cmd/site/result`. */
export interface DocumentResult {
  readonly ok: boolean;
  readonly outcome: "trial" | "refused" | Ending["outcome"];
  readonly version: number | null;
  readonly reason: RefusalReason | "trial" | null;
  readonly detail: string;
  /** The configuration now in effect. */
  readonly configuration: string;
}

/** `isRepeated`: a document that was accepted before only gets its earlier result again. */
export type ReportResult = (result: DocumentResult, reply: ReplyTo, isRepeated: boolean) => void;

export interface RemoteParts extends TriedChangeParts {
  /** Those in effect now. */
  readonly keys: () => readonly KeyObject[];
  /** Why no change can be stored; null if it can. */
  readonly whyUnwritable: () => Promise<string | null>;
  /** Shared by all that changes the files. */
  readonly turn: ChangeTurn;
}

export class RemoteConfiguration {
  readonly #parts: RemoteParts;
  readonly #trialMs: number;
  readonly #pace: LogPace;

  /** @param trialMs CONFIG_TRIAL_S */
  constructor(parts: RemoteParts, trialMs: number) {
    this.#parts = parts;
    this.#trialMs = trialMs;
    this.#pace = new LogPace(parts.clock);
  }

  /** Processes one document. Reports `refused`, or `trial` and later its result. Never rejects. */
  async take(bytes: Uint8Array, reply: ReplyTo, report: ReportResult): Promise<void> {
    const { logger, clock, journal, keys, reloader, site, turn } = this.#parts;
    const reportResult = (result: Omit<DocumentResult, "configuration">, isRepeated = false) => {
      const { configuration } = reloader.state;
      const level = result.ok ? "info" : "warn";
      // Whoever may publish can send refused and repeated documents as fast as the broker delivers them.
      const isOwn = result.outcome !== "refused" && !isRepeated;
      const line = isOwn ? {} : this.#pace.next(`${result.outcome} ${result.reason}`);
      if (line !== null)
        logger[level]({ ...result, configuration, ...line }, "signed configuration");
      report({ ...result, configuration }, reply, isRepeated);
    };
    const refuse = ({ reason, detail }: DocumentRefusal, version: number | null) =>
      reportResult({ ok: false, outcome: "refused", version, reason, detail });
    let end: (() => void) | null = null;
    try {
      const nowMs = clock.now();
      if (nowMs < PLAUSIBLE_SINCE_MS)
        return refuse(
          {
            reason: "clock",
            detail: "this box does not know the time yet; send the document again later",
          },
          null,
        );
      const last = journal.accepted;
      const expected = { site: site().site, nowMs, version: 0 };
      const document = openDocument(bytes, keys(), expected);
      if (isRefusal(document)) return refuse(document, null);
      const { version } = document;
      const isRepeated = last !== null && document.digest === last.digest;
      if (isRepeated && turn.held === null) {
        const { outcome, detail } = last;
        const isApplied = outcome === "applied";
        return reportResult(
          {
            ok: isApplied,
            outcome,
            version,
            reason: isApplied ? null : outcome === "superseded" ? "changed_here" : "replayed",
            detail: `already received: ${detail}`,
          },
          true,
        );
      }
      const { damagedRecord } = journal;
      if (damagedRecord !== null)
        return refuse(
          {
            reason: "version",
            detail: `which version was accepted last is not known, because ${damagedRecord} is damaged: delete that file on the box, then any version is accepted again`,
          },
          version,
        );
      if (last !== null && !isRepeated && version <= last.version)
        return refuse(
          {
            reason: "version",
            detail: `its version is ${version}, but version ${last.version} was already accepted; sign it with a higher version`,
          },
          version,
        );
      // Last: a document that is invalid in itself is refused for that, whatever else is going on.
      if (turn.held !== null)
        return refuse({ reason: "trial_running", detail: turn.held }, version);
      end = turn.take("a signed configuration is on trial; wait until the trial ends");
      const held = await this.#parts.whyUnwritable();
      if (held !== null) return refuse({ reason: "store_held", detail: held }, version);
      // Links are down while it opens and closes sessions, and what it applies may be taken back.
      await reloader.settled();
      const prepared = this.#prepare(document);
      if ("reason" in prepared) return refuse(prepared, version);
      const before = trialHealthOf(this.#parts, site());
      const trial: Trial = {
        version,
        digest: document.digest,
        ...prepared,
        startedAtMs: nowMs,
        reply,
      };
      const begun = await this.#begin(trial);
      if ("reason" in begun) return refuse(begun, version);
      const change = { site: site(), uplinks: begun.changes.uplinks };
      const watched = new ChangeTrial(this.#parts, before, change);
      reportResult({
        ok: true,
        outcome: "trial",
        version,
        reason: null,
        detail: `applied; on trial for at most ${Math.round(this.#trialMs / 1000)} s`,
      });
      const ended = await this.#end(trial, watched);
      if (ended !== null) reportResult({ ok: ended.outcome === "applied", version, ...ended });
    } catch (error) {
      logger.error({ err: error }, "a signed configuration could not be processed");
      const detail = messageOf(error);
      refuse(
        {
          reason: "not_writable",
          detail: `${detail}; the agent must be able to write SITE_FILE, UPLINKS_FILE and the directories they are in`,
        },
        null,
      );
    } finally {
      end?.();
    }
  }

  /** The texts of before and after, once everything is known to be valid; a refusal leaves no trace. */
  #prepare({
    content,
  }: SignedDocument):
    | { readonly before: ConfigurationTexts; readonly after: ConfigurationTexts }
    | DocumentRefusal {
    const { configuration, paths, policy, reloader } = this.#parts;
    if (content.uplinks !== undefined && paths.uplinks === null)
      return {
        reason: "content",
        detail: "it contains uplinks, but UPLINKS_FILE is not set on this box",
      };
    const before = configuration.texts();
    const { inEffect } = reloader;
    // Also one that a reload refused: a trial that fails could not go back to it.
    const changed = [
      ...(before.site === inEffect.site ? [] : ["SITE_FILE"]),
      ...(before.uplinks === inEffect.uplinks ? [] : ["UPLINKS_FILE"]),
    ];
    if (changed.length > 0)
      return {
        reason: "changed_here",
        detail: `the file of ${changed.join(" and ")} was changed on this box and is not in effect: reload it, or undo the change`,
      };
    const after = {
      site: content.site === undefined ? before.site : textOf(content.site),
      uplinks: content.uplinks === undefined ? before.uplinks : textOf(content.uplinks),
    };
    const named = policy?.faultsOf(after.uplinks, before.uplinks) ?? [];
    if (named.length > 0) return { reason: "content", detail: named.map(faultText).join("\n") };
    const { faults, site } = configuration.examine(after);
    if (faults.length > 0) return { reason: "content", detail: faults.map(faultText).join("\n") };
    if (site?.site !== this.#parts.site().site)
      return {
        reason: "content",
        detail: `its site file is for site ${JSON.stringify(site?.site)}`,
      };
    return { before, after };
  }

  /** The report of the reload, once the new files are in effect. */
  async #begin(trial: Trial): Promise<ReloadReport | DocumentRefusal> {
    const { journal, paths, reloader } = this.#parts;
    journal.begin(trial);
    try {
      journal.write(paths, trial.after, trial.before);
    } catch (error) {
      await this.#undo(trial);
      throw error;
    }
    const report = await reloader.reload(`signed document ${trial.version}`);
    if (report.outcome !== "refused") return report;
    if (await this.#undo(trial)) await reloader.reload("the last good configuration");
    return { reason: "content", detail: report.faults.map(faultText).join("\n") };
  }

  /** Puts the files back of a trial that could not begin. */
  #undo(trial: Trial): Promise<boolean> {
    const { journal, paths } = this.#parts;
    return untilWritten(() => journal.undo(trial, paths), this.#parts, this.#parts.ending);
  }

  /** How it ended, with the files in their places; null if the agent ended first. */
  async #end(trial: Trial, watched: ChangeTrial): Promise<Ending | null> {
    const { journal, paths, reloader, clock } = this.#parts;
    const worse = await watched.run(this.#trialMs, this.#parts.ending);
    if (worse === null) return null;
    const { version, digest, reply } = trial;
    const changed = journal.changedSince(trial, paths);
    const kept = `${changed.join(" and ")} was changed on this box during the trial and is kept`;
    let detail = "each link is up, and each sensor that had records has some";
    const written = (step: () => void) => untilWritten(step, this.#parts, this.#parts.ending);
    if (worse.length > 0) {
      if (!(await written(() => journal.restore(trial, paths)))) return null;
      const report = await reloader.reload(`the configuration before document ${version}`);
      const isBack = report.outcome !== "refused";
      const restored = changed.length === 0 ? "the last good configuration" : "the other file";
      detail = `not as good as before: ${worse.join(", ")}; ${restored} was restored${isBack ? "" : `, but cannot be applied: ${report.faults.map(faultText).join("; ")}`}`;
    }
    const ending: Ending =
      changed.length > 0
        ? { outcome: "superseded", reason: "changed_here", detail: `${kept}; ${detail}` }
        : worse.length > 0
          ? { outcome: "rolled_back", reason: "trial", detail }
          : { outcome: "applied", reason: null, detail };
    const isEnded = await written(() =>
      journal.end({ version, digest, reply, atMs: clock.now(), ...ending }),
    );
    return isEnded ? ending : null;
  }
}

function textOf(part: object): string {
  return `${JSON.stringify(part, null, 2)}\n`;
}
