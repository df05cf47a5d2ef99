/**
 * Several histories merged into one, oldest first: the result of the history operations. They are read in step, so that
 * memory holds one page of each.
 */

import type { StoredReading } from "../stored-reading.ts";
import type { HistoryReader, StreamRange } from "./ports.ts";
import { PAGE_ROWS, walk } from "./walk.ts";

/** Readings held in pages of all histories together. */
const HELD_ROWS = 2_000;
const PAGE_ROWS_MIN = 4;

type MergedStream = Pick<StreamRange, "sensor" | "kind">;
export interface MergedRange {
  readonly streams: readonly MergedStream[];
  /** Included, ms. */
  readonly fromMs: number;
  /** Excluded, ms. */
  readonly toMs: number;
}

/** `pause` runs between pages, so that polling and publishing continue; if it throws, the walk ends. */
export async function* mergedReadings(
  history: HistoryReader,
  { streams, fromMs, toMs }: MergedRange,
  pause: () => Promise<void>,
): AsyncGenerator<StoredReading> {
  const pageRows = Math.min(
    PAGE_ROWS,
    Math.max(PAGE_ROWS_MIN, Math.floor(HELD_ROWS / Math.max(1, streams.length))),
  );
  const walks = streams.map((stream) =>
    walk(history, { ...stream, fromMs, toMs, order: "ascending" }, pause, pageRows),
  );
  const heads = new Heads();
  const pull = async (index: number): Promise<void> => {
    const next = await walks[index]?.next();
    if (next === undefined || next.done === true) return;
    heads.add({ reading: next.value, index });
  };
  for (const index of walks.keys()) {
    await pull(index);
    // A walk pauses after its first page, before its end: thousands of them would block everything else.
    await pause();
  }
  for (let head = heads.takeOldest(); head !== null; head = heads.takeOldest()) {
    yield head.reading;
    await pull(head.index);
  }
}

interface Head {
  readonly reading: StoredReading;
  /** Index of the walk it came from. */
  readonly index: number;
}

/** A binary heap, oldest first: a large site has thousands of histories. */
class Heads {
  readonly #heads: Head[] = [];

  add(head: Head): void {
    const heads = this.#heads;
    let at = heads.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = heads[above];
      if (other === undefined || !isOlder(head.reading, other.reading)) break;
      heads[at] = other;
      at = above;
    }
    heads[at] = head;
  }

  takeOldest(): Head | null {
    const heads = this.#heads;
    const oldest = heads[0];
    const last = heads.pop();
    if (oldest === undefined || last === undefined) return null;
    if (heads.length === 0) return oldest;
    let at = 0;
    for (;;) {
      const below = this.#olderOf(2 * at + 1, 2 * at + 2);
      const other = heads[below];
      if (other === undefined || !isOlder(other.reading, last.reading)) break;
      heads[at] = other;
      at = below;
    }
    heads[at] = last;
    return oldest;
  }

  #olderOf(left: number, right: number): number {
    const [one, other] = [this.#heads[left], this.#heads[right]];
    if (one === undefined || other === undefined) return left;
    return isOlder(other.reading, one.reading) ? right : left;
  }
}

/**
 * Number of readings in the range, without reading them. Once `isEnough` says so, the remaining streams are assumed to
 * have as many.
 */
export async function countReadings(
  history: HistoryReader,
  { streams, fromMs, toMs }: MergedRange,
  pause: () => Promise<void>,
  isEnough: () => boolean = () => false,
): Promise<number> {
  let count = 0;
  let counted = 0;
  for (const stream of streams) {
    count += history.count({ ...stream, fromMs, toMs });
    counted += 1;
    if (isEnough()) return (count / counted) * streams.length;
    await pause();
  }
  return count;
}

function isOlder(left: StoredReading, right: StoredReading): boolean {
  return left.timeMs < right.timeMs || (left.timeMs === right.timeMs && left.seq < right.seq);
}
