/**
 * Two boxes with one site name: the runs that their messages name alternate, as those of a box that starts again do not.
 * Retained messages are none of these: those of the run before come after the new one's, and a clock that is behind dates
 * them later.
 */
import type { Item } from "./parse/item.ts";

/** A, B and A again within this time, ms. */
const WITHIN_MS = 600_000;
/** Runs kept of a site. */
const RUNS_MAX = 8;
const SITES_MAX = 100_000;
const RUN = /^[0-9a-f]{8}$/;

interface Heard {
  /** When it was heard last. */
  readonly atMs: number;
  /** Its newest message's own time: one that is delivered again is no news. */
  readonly time: string;
  /** It has sent more than one message since it was first heard. */
  readonly isRepeated: boolean;
}

export class SiteRuns {
  /** Of each site, in the order in which they were heard. */
  readonly #sites = new Map<string, Map<string, Heard>>();

  /** Both runs if they alternate, the present one first; null otherwise. @param nowMs monotonic */
  heard(item: Item, nowMs: number): readonly [string, string] | null {
    if (item.type !== "boxState" && item.type !== "boxStats") return null;
    const { run, time, state } = item.body ?? {};
    // The will of a former run comes after the next one's start.
    if (item.type === "boxState" && state !== "online") return null;
    if (typeof run !== "string" || !RUN.test(run) || typeof time !== "string") return null;
    const runs = this.#sites.get(item.site) ?? new Map<string, Heard>();
    if (this.#sites.size >= SITES_MAX) this.#sites.clear();
    this.#sites.set(item.site, runs);
    const before = runs.get(run);
    if (before !== undefined && time <= before.time) return null;
    const last = [...runs.keys()].at(-1);
    if (last === run && before !== undefined) {
      runs.set(run, { atMs: nowMs, time, isRepeated: true });
      return null;
    }
    const isBack = before !== undefined && nowMs - before.atMs < WITHIN_MS;
    runs.delete(run);
    const between = last === undefined ? undefined : runs.get(last);
    runs.set(run, { atMs: nowMs, time, isRepeated: before !== undefined });
    const [oldest] = runs.keys();
    if (runs.size > RUNS_MAX && oldest !== undefined) runs.delete(oldest);
    if (!isBack || last === undefined || between === undefined) return null;
    // What a stopped collector had not acknowledged of the run before a restart comes after the new one's messages.
    return between.isRepeated || between.time > before.time ? [run, last] : null;
  }
}
