import type { Lane, LaneDepth } from "./ports.ts";

/** Lanes whose entries are readings; the others carry the samples of readings that went out before. */
const READING_LANES = ["json", "plain", "sparkplug"] as const satisfies readonly Lane[];

export interface Backlog {
  /** Readings not yet delivered: those of the lane that has most, for one reading waits in several lanes at once. */
  readonly readings: number;
  /** Time of the oldest of them, ms, as the gateway dated it; null when nothing waits. */
  readonly oldestTimeMs: number | null;
}

/**
 * What sites alarm on. Waveforms do not count: one that is too large for the broker waits for a broker that takes more, and
 * would look like readings that do not get through.
 */
export function backlogOf(lanes: Readonly<Partial<Record<Lane, LaneDepth>>>): Backlog {
  const depths = READING_LANES.flatMap((lane) => lanes[lane] ?? []);
  const times = depths.flatMap(({ oldestTimeMs }) => oldestTimeMs ?? []);
  return {
    readings: Math.max(0, ...depths.map(({ readings }) => readings)),
    oldestTimeMs: times.length === 0 ? null : Math.min(...times),
  };
}
