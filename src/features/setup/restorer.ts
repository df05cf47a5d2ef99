/**
 * Backup and restore through the running agent: a restore is checked in whole, kept as a version, applied by difference
 * and tried like a signed document; where links or reads get worse, the files of before come back.
 */

import { faultText } from "../../core/configuration/configuration-fault.ts";
import type { ConfigurationTexts } from "../../core/configuration/configuration-files.ts";
import { isUnnamed } from "../../core/configuration/empty-site.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Uplink } from "../../core/uplink.ts";
import { type Backup, openBackup } from "./backup.ts";
import type { ChangeTurn } from "./change-turn.ts";
import type { FileVersions } from "./file-versions.ts";
import { type BoxState, backupOf, examineRestore, runningRefusal } from "./restore.ts";
import type { BackupOutcome, RestoreOutcome, RestoreRequest, RestoreView } from "./shown.ts";
import { ChangeTrial, type TriedChangeParts, trialHealthOf } from "./trial.ts";
import { untilWritten } from "./trial-journal.ts";
import type { Trial } from "./trial-records.ts";

export interface RestorerParts extends TriedChangeParts {
  readonly versions: Readonly<Record<"site" | "uplinks", FileVersions>>;
  readonly dataDir: string;
  readonly uplinks: () => readonly Uplink[];
  /** Shared by all that changes the files. */
  readonly turn: ChangeTurn;
  readonly version: string;
  readonly instance: () => string | null;
  /** Where a box of this site is online at these brokers; null if none shows it. For a box that has no sessions yet. */
  readonly lookElsewhere: (site: string, uplinks: readonly Uplink[]) => Promise<string | null>;
  /** For what happens after the response. */
  readonly audit: (outcome: string, detail: string) => void;
}

/** A restore has no version, and nobody waits for its result at a broker. */
const NO_DOCUMENT = {
  version: 0,
  digest: "",
  reply: { uplink: "", broker: "", responseTopic: null, correlation: null },
  isRestore: true,
} as const;

/** Who reloads what is put back. */
const BEFORE = "the configuration before the restore";

const CHANGED = {
  outcome: "changed",
  detail:
    "the files of this box have changed since that was shown; look at what would change again",
} as const;

export class Restorer {
  readonly #parts: RestorerParts;
  readonly #trialMs: number;

  /** @param trialMs CONFIG_TRIAL_S */
  constructor(parts: RestorerParts, trialMs: number) {
    this.#parts = parts;
    this.#trialMs = trialMs;
  }

  /** Where the box of the backup seems to go on; null if none was seen, or somebody repeats its site's name. */
  async #runningElsewhere(
    backup: Backup,
    { site: repeated, isLocal }: RestoreRequest,
  ): Promise<string | null> {
    const { instance, status, lookElsewhere, site } = this.#parts;
    if (backup.instance === instance() || repeated === backup.site) return null;
    if (!isUnnamed(site()))
      return status().links.find(({ otherAgent }) => otherAgent)?.otherAgent ?? null;
    const examined = examineRestore(backup, repeated, this.#state(isLocal));
    return "outcome" in examined ? null : lookElsewhere(backup.site, examined.uplinks);
  }

  #state(isLocal: boolean): BoxState {
    const { configuration, paths, dataDir, site, uplinks, policy } = this.#parts;
    const box = { configuration, paths, dataDir, site: site(), uplinks: uplinks() };
    return { ...box, policy: isLocal ? null : policy };
  }

  backup(): BackupOutcome {
    const { clock, reloader, version, instance } = this.#parts;
    const about = { version, instance: instance(), timeMs: clock.now() };
    return backupOf(this.#state(true), { ...about, configuration: reloader.state.configuration });
  }

  async restore(request: RestoreRequest, by: string): Promise<RestoreOutcome> {
    const { turn, reloader } = this.#parts;
    if (turn.held !== null) return { outcome: "busy", detail: turn.held };
    const opened = openBackup(request.text);
    if ("problem" in opened)
      return { outcome: "unusable", detail: `${opened.problem}; ${opened.remedy}` };
    const { backup } = opened;
    const running = await this.#runningElsewhere(backup, request);
    if (running !== null) return runningRefusal(running);
    await reloader.settled();
    // Another one may have begun while the brokers were asked.
    if (turn.held !== null) return { outcome: "busy", detail: turn.held };
    const examined = examineRestore(backup, request.site, this.#state(request.isLocal));
    if ("outcome" in examined) return examined;
    const { texts, view } = examined;
    if (request.basis !== null && request.basis !== view.basis) return CHANGED;
    if (view.unchanged) return { outcome: "unchanged", view };
    if (request.isDryRun) return { outcome: "planned", view };
    const end = turn.take("a restored backup is on trial; wait until the trial ends");
    let ending: Promise<unknown> = Promise.resolve();
    try {
      const begun = await this.#begin(texts, view, by);
      ending = begun.ending;
      return begun.outcome;
    } finally {
      const isOver = () => end?.();
      void ending.then(isOver, isOver);
    }
  }

  /** Writes and applies; without a trial where it is in effect at the next start only. `ending`: until another change may begin. */
  async #begin(
    after: ConfigurationTexts,
    view: RestoreView,
    by: string,
  ): Promise<{ readonly outcome: RestoreOutcome; readonly ending: Promise<unknown> }> {
    const { clock, configuration, journal, paths, reloader, site, versions, logger } = this.#parts;
    const replaced = configuration.texts();
    const health = trialHealthOf(this.#parts, site());
    // What is replaced may have faults: a trial that fails goes back to what ran.
    const before = reloader.inEffect;
    const trial: Trial = { ...NO_DOCUMENT, before, after, startedAtMs: clock.now() };
    try {
      journal.begin(trial);
      for (const part of ["site", "uplinks"] as const) {
        const text = replaced[part];
        if (text !== null && text !== after[part])
          versions[part].keep({ replacedAtMs: clock.now(), replacedBy: by, text });
      }
      journal.write(paths, after, replaced);
      if (view.nextStart) journal.abandon();
    } catch (err) {
      logger.error({ err, by }, "the backup could not be restored");
      const detail = messageOf(err);
      return { outcome: { outcome: "not_writable", detail }, ending: this.#undo(trial) };
    }
    if (view.nextStart) {
      logger.warn({ by }, "backup restored; it is in effect at the next start");
      return { outcome: { outcome: "saved", view, report: null }, ending: Promise.resolve() };
    }
    const report = await reloader.reload(by);
    if (report.outcome === "refused") {
      const ending = this.#undo(trial).then((kept) => kept && reloader.reload(BEFORE));
      return { outcome: { outcome: "faults", faults: report.faults }, ending };
    }
    logger.info({ by, disabled: view.disabled }, "backup restored; on trial");
    const change = { site: site(), uplinks: report.changes.uplinks };
    const watched = new ChangeTrial(this.#parts, health, change);
    return { outcome: { outcome: "saved", view, report }, ending: this.#end(trial, watched) };
  }

  /** Puts the files of before back, as soon as the disk takes them; null if the agent ends first: the next start does so. */
  async #undo(trial: Trial): Promise<readonly string[] | null> {
    const { journal, paths } = this.#parts;
    let kept: readonly string[] = [];
    const undo = () => {
      kept = journal.undo(trial, paths);
    };
    return (await untilWritten(undo, this.#parts, this.#parts.ending)) ? kept : null;
  }

  async #end(trial: Trial, watched: ChangeTrial): Promise<void> {
    const { journal, reloader, audit, logger } = this.#parts;
    try {
      const worse = await watched.run(this.#trialMs, this.#parts.ending);
      // The agent ends: the next start brings back the files of before.
      if (worse === null) return;
      if (worse.length > 0) {
        const kept = await this.#undo(trial);
        if (kept === null) return;
        const report = await reloader.reload(BEFORE);
        const faults = report.outcome === "refused" ? report.faults.map(faultText) : [];
        logger.error({ worse, kept, faults }, "restored backup rolled back");
        audit("rolled_back", `not as good as before: ${worse.join(", ")}`);
        return;
      }
      // Left there, the next start would bring back the files of before.
      if (!(await untilWritten(() => journal.abandon(), this.#parts, this.#parts.ending))) return;
      logger.info({}, "restored backup is in effect");
      audit("applied", "each link is up, and each sensor that had records has some");
    } catch (err) {
      logger.error({ err }, "the trial of the restored backup could not be ended");
    }
  }
}
