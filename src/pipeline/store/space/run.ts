import { type EvictionWalk, startWalk } from "./eviction-walk.ts";

/** What is freed, in this order. */
const PHASES = ["delivered", "waveforms", "pending"] as const;
export type Phase = (typeof PHASES)[number];

/** How far freeing space has got. */
export interface Run {
  phase: number;
  walk: EvictionWalk;
}

export const startRun = (): Run => ({ phase: 0, walk: startWalk() });

/** Undefined once nothing is left to free. */
export const phaseOf = ({ phase }: Run): Phase | undefined => PHASES[phase];

/** The run moves on to what follows this slice: once that is committed. */
export function moveOn(run: Run, walk: EvictionWalk): void {
  Object.assign(run, walk.isOver ? { phase: run.phase + 1, walk: startWalk() } : { walk });
}
