/** Records that come in groups, by their times: one find each, and the period is that from group to group. */

/** So many steps between records are looked at: three groups of up to seven records. */
export const GROUP_STEPS_KEPT = 24;
const STEPS_NEEDED = 5;
/** A pause between groups is this much longer than a step within one. */
const PAUSE_FACTOR = 4;
/** Groups are regular if the longest time from one to the next is at most this much of the shortest: outages are not. */
const REGULAR_FACTOR = 1.2;

export interface Groups {
  /** From group to group, ms. */
  readonly periodMs: number;
  /** From the first to the last record of one, ms. */
  readonly spanMs: number;
  /** From the first record of the newest group to its newest one, ms. */
  readonly sinceStartMs: number;
}

/**
 * @param stepsMs from record to record, ascending in time
 * @returns null if the records come one by one, or it cannot be told
 */
export function groupsOf(stepsMs: readonly number[]): Groups | null {
  if (stepsMs.length < STEPS_NEEDED) return null;
  const within = stepsMs.toSorted((a, b) => a - b)[Math.floor(stepsMs.length / 4)] ?? 0;
  const pauses: number[] = [];
  for (const [at, ms] of stepsMs.entries()) if (ms > PAUSE_FACTOR * within) pauses.push(at);
  const groups = pauses.slice(1).map((pause, i) => stepsMs.slice((pauses[i] ?? 0) + 1, pause + 1));
  if (groups.length < 2 || groups.some((steps) => steps.length < 2)) return null;
  const periods = groups.map(sum).toSorted((a, b) => a - b);
  const [shortest = 0] = periods;
  const longest = periods.at(-1) ?? 0;
  const newest = stepsMs.slice((pauses.at(-1) ?? 0) + 1);
  const sizeMax = Math.max(...groups.map((steps) => steps.length));
  if (longest > REGULAR_FACTOR * shortest || newest.length > 2 * sizeMax) return null;
  const spans = groups.map((steps) => sum(steps.slice(0, -1))).toSorted((a, b) => a - b);
  return {
    periodMs: middleOf(periods),
    spanMs: middleOf(spans),
    sinceStartMs: sum(newest),
  };
}

const sum = (values: readonly number[]) => values.reduce((total, ms) => total + ms, 0);
const middleOf = (sorted: readonly number[]) => sorted[Math.floor(sorted.length / 2)] ?? 0;

/** Of so many finds that show it, two decide. */
const FINDS_KEPT = 3;
/** After this many finds that show nothing the records may come singly again: they are asked for one by one until they show it. */
const UNPROVED_MAX = 20;

/**
 * Records that become visible together, whatever their times: several are found at once, and a read shortly before
 * found none of them.
 */
export class Batches {
  #shown: { readonly stepMs: number; readonly isBatch: boolean }[] = [];
  #unproved = 0;
  #wasEmpty = false;

  empty(): void {
    this.#wasEmpty = true;
  }

  /** @param stepMs from the newest record before to the newest one of this find */
  found(records: number, stepMs: number): void {
    const isBatch = records > 1;
    if (isBatch && !this.#wasEmpty) this.#unproved += 1;
    else {
      this.#unproved = 0;
      this.#shown = [...this.#shown, { stepMs, isBatch }].slice(-FINDS_KEPT);
    }
    if (this.#unproved > UNPROVED_MAX) this.#shown = [];
    this.#wasEmpty = false;
  }

  /** From batch to batch, ms; null if records come one by one. */
  get periodMs(): number | null {
    const batches = this.#shown.filter(({ isBatch }) => isBatch);
    if (batches.length < 2) return null;
    return Math.min(...batches.map(({ stepMs }) => stepMs));
  }
}
