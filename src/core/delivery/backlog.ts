import type { Lane, LaneDepth } from "./delivery.ts";
import { isWaveform, parseLaneName } from "./lane-plan.ts";

export interface Backlog {
  /** Readings not yet delivered: those of the longest lane, because one reading is pending in several lanes at once. */
  readonly readings: number;
  /** Time of the oldest of them, ms, as the gateway dated it; null if nothing is pending. */
  readonly oldestTimeMs: number | null;
}

/**
 * The figure that sites alarm on. Waveforms do not count: one that is too large for the broker waits for a broker
 * that accepts more, and would look like readings that are not delivered. `isSelected` selects lanes; by default all of
 * them.
 */
export function backlogOf(
  lanes: Readonly<Record<string, LaneDepth>>,
  isSelected: (uplink: string, lane: Lane) => boolean = () => true,
): Backlog {
  const depths = Object.entries(lanes).flatMap(([name, depth]) => {
    const parts = parseLaneName(name);
    const isOne = parts !== null && !isWaveform(parts.lane) && isSelected(parts.uplink, parts.lane);
    return isOne ? [depth] : [];
  });
  const times = depths.flatMap(({ oldestTimeMs }) => oldestTimeMs ?? []);
  return {
    readings: Math.max(0, ...depths.map(({ readings }) => readings)),
    oldestTimeMs: times.length === 0 ? null : Math.min(...times),
  };
}
