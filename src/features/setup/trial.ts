/**
 * The trial of a changed configuration (plant section 17): won where each link that was up before, and each that the
 * change adds or changes, is up, and each sensor that had records has some in a read since the change.
 */

import type { AgentStatus, LinkStatus } from "../../core/agent-status.ts";
import type { UplinksDifference } from "../../core/configuration/configuration.ts";
import type { ConfigurationFiles, Reloads } from "../../core/configuration/configuration-files.ts";
import { canonicalJson } from "../../core/configuration/site-difference.ts";
import type { Clock, Logger, StreamFound } from "../../core/ports.ts";
import { isRead, type Kind, type Sensor, sameCode } from "../../core/sensor.ts";
import { type Site } from "../../core/site.ts";
import type { Configuring } from "../host.ts";
import type { FilePolicy } from "./file-policy.ts";
import type { ConfigurationPaths, TrialJournal } from "./trial-journal.ts";

/** A trial is won when nothing was missing for this long without a break, ms. */
const STEADY_MS = 60_000;
const CHECK_MS = 500;
/** Sensors whose records are missing are read again after this long, ms: their intervals may exceed the trial. */
const READ_AGAIN_MS = 15_000;

/** What a trial watches. */
export interface TrialParts {
  readonly clock: Clock;
  readonly status: () => Pick<AgentStatus, "links">;
  readonly reads: Configuring["reads"];
}

/** What a change needs that is written, applied and tried. */
export interface TriedChangeParts extends TrialParts {
  readonly reloader: Reloads;
  readonly configuration: ConfigurationFiles;
  readonly journal: TrialJournal;
  readonly paths: ConfigurationPaths;
  /** Which files a change may name; null without UPLINKS_FILE. */
  readonly policy: FilePolicy | null;
  /** In effect now. */
  readonly site: () => Site;
  readonly logger: Logger;
  /** Ends a trial with the agent: the next start brings back the files of before. */
  readonly ending: AbortSignal;
}

/** What worked before a change: links by name, and sensors with their kinds that had records. */
export interface TrialHealth {
  readonly links: ReadonlySet<string>;
  readonly records: ReadonlyMap<string, readonly Kind[]>;
  readonly site: Site;
}

export function trialHealthOf({ status, reads }: TrialParts, site: Site): TrialHealth {
  const records = new Map<string, Kind[]>();
  for (const { sensor, kind, hadRecords } of reads.found)
    if (hadRecords) records.set(sensor, [...(records.get(sensor) ?? []), kind]);
  const up = status().links.filter(({ isConnected }) => isConnected);
  return { links: new Set(up.map(linkName)), records, site };
}

export class ChangeTrial {
  readonly #parts: TrialParts;
  readonly #before: TrialHealth;
  readonly #changedUplinks: ReadonlySet<string>;
  /** Codes of the sensors that must have records, with the kinds that had some. */
  readonly #sensors: ReadonlyMap<string, readonly Kind[]>;
  /** When the change was in effect, monotonic ms. */
  readonly #since: number;

  constructor(
    parts: TrialParts,
    before: TrialHealth,
    after: { readonly site: Site; readonly uplinks: UplinksDifference },
  ) {
    const { added, changed } = after.uplinks;
    this.#parts = parts;
    this.#before = before;
    this.#changedUplinks = new Set([...added, ...changed.map(({ name }) => name)]);
    this.#sensors = awaitedSensors(before, after.site);
    this.#since = parts.clock.monotonic();
  }

  /** Resolves with what is missing at the end; empty: the trial is won. Null once aborted. */
  async run(trialMs: number, signal: AbortSignal): Promise<readonly string[] | null> {
    const { clock, reads } = this.#parts;
    const endsAt = this.#since + trialMs;
    const steadyMs = Math.min(STEADY_MS, trialMs / 2);
    let wellSince: number | null = null;
    let readAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      const unread = this.#unread();
      const missing = [...this.#missingLinks(), ...this.#missingRecords(unread)];
      const now = clock.monotonic();
      if (missing.length > 0) wellSince = null;
      else wellSince ??= now;
      if (wellSince !== null && now - wellSince >= steadyMs) return [];
      if (now >= endsAt) return missing.length > 0 ? missing : ["links or reads were not stable"];
      if (unread.length > 0 && now - readAt >= READ_AGAIN_MS) {
        readAt = now;
        reads.readSoon(unread);
      }
      await clock.sleep(Math.min(CHECK_MS, Math.max(1, endsAt - now)), signal);
      if (signal.aborted) return null;
    }
  }

  #missingLinks(): string[] {
    const { links } = this.#before;
    const now = this.#parts.status().links;
    const down = now.filter(
      (link) =>
        !link.isConnected && (links.has(linkName(link)) || this.#changedUplinks.has(link.uplink)),
    );
    if (links.size > 0 && !now.some(({ isConnected }) => isConnected)) return ["every link"];
    return down.map((link) => `link ${linkName(link)}`);
  }

  /** Sensors and kinds whose records are awaited. One that was removed meanwhile is not. */
  #unread(): StreamFound[] {
    const { found } = this.#parts.reads;
    const isFound = ({ foundAt }: StreamFound) => foundAt !== null && foundAt >= this.#since;
    // With other codes throughout no sensor is left that had records: then one of the others must have some.
    if (this.#hasNoneLeft) return found.some(isFound) ? [] : [...found];
    const polled = new Set(found.map(({ sensor, kind }) => `${sensor} ${kind}`));
    const has = (sensor: string) =>
      found.some((one) => sameCode(one.sensor, sensor) && isFound(one));
    return found.filter((one) => {
      const kinds = this.#sensors.get(one.sensor);
      if (kinds === undefined || isFound(one)) return false;
      if (kinds.includes(one.kind)) return true;
      // Where none of the kinds that had records is read any more, any other may have them.
      return !kinds.some((kind) => polled.has(`${one.sensor} ${kind}`)) && !has(one.sensor);
    });
  }

  get #hasNoneLeft(): boolean {
    return this.#before.records.size > 0 && this.#sensors.size === 0;
  }

  #missingRecords(unread: readonly StreamFound[]): string[] {
    if (this.#hasNoneLeft && unread.length > 0) return ["every sensor: no records"];
    return unread.map(({ sensor, kind }) => `${sensor} ${kind}: no records`);
  }
}

/** A sensor whose code alone is another one stands for the one that had records. */
function awaitedSensors({ records, site }: TrialHealth, after: Site): Map<string, readonly Kind[]> {
  const codes = new Set(site.sensors.map(({ code }) => code));
  const added = after.sensors.filter((one) => !codes.has(one.code));
  const awaited = new Map<string, readonly Kind[]>();
  for (const sensor of site.sensors) {
    const kinds = records.get(sensor.code);
    if (kinds === undefined) continue;
    const same = after.sensors.find(({ code }) => code === sensor.code);
    const index = added.findIndex((one) => entryOf(one) === entryOf(sensor));
    const successor = same ?? (index < 0 ? undefined : added.splice(index, 1)[0]);
    if (successor !== undefined && isRead(successor)) awaited.set(successor.code, kinds);
  }
  return awaited;
}

function entryOf(sensor: Sensor): string {
  return canonicalJson({ ...sensor, code: "" });
}

function linkName({ name, uplink }: Pick<LinkStatus, "name" | "uplink">): string {
  return `${uplink} ${name}`;
}
