import { isWaveform, parseLaneName } from "./lane-plan.ts";
import type { Lane, LaneDepth } from "./ports.ts";

export interface Backlog {
  /** Readings not yet delivered: those of the lane that has most, for one reading waits in several lanes at once. */
  readonly readings: number;
  /** Time of the oldest of them, ms, as the gateway dated it; null when nothing waits. */
  readonly oldestTimeMs: number | null;
}

/**
 * What sites alarm on. Waveforms do not count: one that is too large for the broker waits for a broker that takes more, and
 * would look like readings that do not get through. `isMeant` chooses lanes; all unless given.
 */
export function backlogOf(
  lanes: Readonly<Record<string, LaneDepth>>,
  isMeant: (uplink: string, lane: Lane) => boolean = () => true,
): Backlog {
  const depths = Object.entries(lanes).flatMap(([name, depth]) => {
    const parts = parseLaneName(name);
    const isOne = parts !== null && !isWaveform(parts.lane) && isMeant(parts.uplink, parts.lane);
    return isOne ? [depth] : [];
  });
  const times = depths.flatMap(({ oldestTimeMs }) => oldestTimeMs ?? []);
  return {
    readings: Math.max(0, ...depths.map(({ readings }) => readings)),
    oldestTimeMs: times.length === 0 ? null : Math.min(...times),
  };
}
