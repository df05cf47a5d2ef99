/**
 * Applies changed files to the running agent: read and checked completely first, then applied by difference. One reload
 * at a time. A fault leaves everything as it was, and is reported until a reload succeeds.
 */

import {
  type ConfigurationChanges,
  type ConfigurationState,
  changeLines,
  changesOf,
  hasChanges,
  NO_CHANGES,
  type ReloadReport,
  SAME_SITE,
  uplinksDifference,
  withRenewedMain,
} from "../core/configuration/configuration.ts";
import { sha256 } from "../core/configuration/configuration-digest.ts";
import { type ConfigurationFault, faultText } from "../core/configuration/configuration-fault.ts";
import type {
  ConfigurationFiles,
  ConfigurationTexts,
  Reloads,
} from "../core/configuration/configuration-files.ts";
import { isUnnamed } from "../core/configuration/empty-site.ts";
import { siteDifference, withUnchanged } from "../core/configuration/site-difference.ts";
import type { Logger } from "../core/ports.ts";
import type { Site } from "../core/site.ts";
import type { ReplaceableSite } from "../core/site-source.ts";
import { messageOf } from "../core/thrown.ts";
import { MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import { lost, renamed } from "./reload-faults.ts";

/** Adds, removes and renews uplinks. */
export interface RunningUplinks {
  /** Null without MQTT_URL. */
  readonly main: Uplink | null;
  readonly current: readonly Uplink[];
  /** Opens, closes and renews the uplinks that differ, and no others; `main` stays as it is unless it is among them. */
  replace(uplinks: readonly Uplink[]): Promise<void>;
}

export interface ReloaderParts {
  readonly files: ConfigurationFiles;
  readonly site: ReplaceableSite;
  readonly uplinks: RunningUplinks;
  readonly digest: (site: Site, uplinks: readonly Uplink[]) => string;
  /** Waits for a lock of a moment on the store; why nothing can be written after it, or null. */
  readonly whyUnwritable: () => Promise<string | null>;
  /** Settings whose files change with a restart alone. */
  readonly restartFiles?: () => readonly string[];
  readonly logger: Logger;
}

export class Reloader implements Reloads {
  readonly #parts: ReloaderParts;
  #turn: Promise<unknown> = Promise.resolve();
  #faults: readonly string[] = [];
  #pendingRestart: readonly string[] = [];
  #pendingReload: readonly string[] = [];
  /** Digests of the texts that were last applied, or refused. */
  #seen: { readonly site: string; readonly uplinks: string };
  #inEffect: ConfigurationTexts;
  #digest: string;
  readonly #listeners: ((by: string) => void)[] = [];

  /** @param texts of the files that the agent was started with */
  constructor(parts: ReloaderParts, texts: ConfigurationTexts) {
    this.#parts = parts;
    this.#seen = digestsOf(texts);
    this.#inEffect = texts;
    this.#digest = parts.digest(parts.site.current, othersOf(parts.uplinks.current));
  }

  onReload(listener: (by: string) => void): void {
    this.#listeners.push(listener);
  }

  get inEffect(): ConfigurationTexts {
    return this.#inEffect;
  }

  get state(): ConfigurationState {
    return {
      configuration: this.#digest,
      pendingRestart: this.#pendingRestart,
      pendingReload: this.#pendingReload,
      configurationFaults: this.#faults,
      renewedByRestart: this.#parts.restartFiles?.() ?? [],
    };
  }

  /** Checks whether files or environment differ from the running configuration; changes nothing. */
  look(): void {
    const { files } = this.#parts;
    const now = digestsOf(files.texts());
    this.#pendingReload = [
      ...(now.site === this.#seen.site ? [] : ["SITE_FILE"]),
      ...(now.uplinks === this.#seen.uplinks ? [] : ["UPLINKS_FILE"]),
    ];
    this.#pendingRestart = files.pendingRestart();
  }

  reload(by: string): Promise<ReloadReport> {
    const turn = this.#turn.then(() =>
      this.#reload(by).catch((error: unknown) => this.#failed(error, by)),
    );
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async settled(): Promise<void> {
    for (let turn: unknown = null; turn !== this.#turn; ) {
      turn = this.#turn;
      await turn;
    }
  }

  async #reload(by: string): Promise<ReloadReport> {
    const { files, site, uplinks, logger } = this.#parts;
    const examined = files.examine();
    this.#seen = digestsOf(examined.texts);
    this.#pendingReload = [];
    this.#pendingRestart = files.pendingRestart();
    for (const listener of this.#listeners) listener(by);
    const faults = [
      ...examined.faults,
      ...renamed(site.current, examined.site),
      ...lost(othersOf(uplinks.current), examined.texts.uplinks),
    ];
    if (examined.site === null || examined.uplinks === null || faults.length > 0) {
      this.#faults = faults.map(faultText);
      logger.error(
        { by, faults: this.#faults, configuration: this.#digest },
        "reload refused; the running configuration is unchanged",
      );
      return this.#report("refused", NO_CHANGES, faults, examined.warnings);
    }
    this.#faults = [];
    const next = othersOf(examined.uplinks);
    // Topics and client ids, including those of `main`, contain the name that the first site file brings.
    const isFirst = isUnnamed(site.current) && !isUnnamed(examined.site);
    const after = withUnchanged(site.current, examined.site);
    const difference = siteDifference(site.current, after);
    const main = examined.uplinks.find(({ name }) => name === MAIN_UPLINK) ?? null;
    const others = uplinksDifference(uplinks.current, next);
    const renewed = withRenewedMain(others, uplinks.main, main);
    const isWhole = isFirst || renewed !== others;
    const changes = changesOf(difference, renewed);
    if (!hasChanges(changes)) {
      this.#inEffect = examined.texts;
      logger.info({ by, configuration: this.#digest }, "reload: nothing has changed");
      return this.#report("unchanged", changes, [], examined.warnings);
    }
    const ahead = changes.consequences?.slice(0, LINES_MAX) ?? [];
    if (ahead.length > 0) logger.warn({ by, consequences: ahead }, "reload: about to be applied");
    const formerMain = isWhole && uplinks.main !== null ? [uplinks.main] : [];
    const before = { site: site.current, uplinks: [...formerMain, ...othersOf(uplinks.current)] };
    const held = await this.#parts.whyUnwritable();
    if (held !== null) throw new Error(held);
    try {
      site.replace(after);
      if (isWhole || hasChanges(changesOf(SAME_SITE, others)))
        await uplinks.replace(isWhole ? examined.uplinks : next);
    } catch (error) {
      // Even the way back may need room on a full disk.
      const stuck: string[] = [];
      const back = async (what: string, restore: () => unknown) => {
        try {
          await restore();
        } catch (again) {
          logger.error({ err: again, by }, `the ${what} of before could not be restored`);
          stuck.push(what);
        }
      };
      await back("site", () => site.replace(before.site));
      await back("uplinks", () => uplinks.replace(before.uplinks));
      return this.#failed(error, by, examined.warnings, stuck);
    }
    this.#inEffect = examined.texts;
    this.#digest = this.#parts.digest(after, next);
    const what = changeLines(changes).slice(0, LINES_MAX);
    logger.info({ by, configuration: this.#digest, changes: what }, "reload applied");
    return this.#report("applied", changes, [], examined.warnings);
  }

  /** Whatever failed, status says it until a reload succeeds. @param stuck what could not be taken back */
  #failed(
    error: unknown,
    by: string,
    warnings: readonly ConfigurationFault[] = [],
    stuck: readonly string[] = [],
  ): ReloadReport {
    const remedy =
      stuck.length === 0
        ? "the running configuration stays in effect; try again"
        : `the ${stuck.join(" and the ")} may be in effect in part: remove the cause, then reload again or restart the agent`;
    const fault = { place: "reload", problem: messageOf(error), remedy };
    this.#faults = [faultText(fault)];
    this.#parts.logger.error({ err: error, by }, `reload failed; ${remedy}`);
    return this.#report("refused", NO_CHANGES, [fault], warnings);
  }

  #report(
    outcome: ReloadReport["outcome"],
    changes: ConfigurationChanges,
    faults: readonly ConfigurationFault[],
    warnings: readonly ConfigurationFault[],
  ): ReloadReport {
    const { configuration, pendingRestart, renewedByRestart } = this.state;
    const after = { configuration, pendingRestart, renewedByRestart };
    return { outcome, changes, faults, warnings, ...after };
  }
}

/** Changes listed in one log line. */
const LINES_MAX = 50;

/** `main` comes from the environment: it changes only with a restart. */
function othersOf(uplinks: readonly Uplink[]): Uplink[] {
  return uplinks.filter(({ name }) => name !== MAIN_UPLINK);
}

function digestsOf({ site, uplinks }: ConfigurationTexts): { site: string; uplinks: string } {
  return { site: sha256(site ?? ""), uplinks: sha256(uplinks ?? "") };
}
