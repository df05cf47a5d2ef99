import type { StoredReading } from "../stored-reading.ts";
import { DAY_MS } from "../time-units.ts";
import type { HistoryPosition, HistoryRange, HistoryReader, MergedRange } from "./ports.ts";

/** Readings fetched by one query: few enough that a write never waits noticeably. */
const PAGE_ROWS = 200;
/**
 * A range is read window by window, because an empty stretch costs a seek per stored hour: a month of them is a few
 * milliseconds, after which other work gets its turn.
 */
const WINDOW_MS = 30 * DAY_MS;
/** No reading is older (services section 3.2), nor newer: the wire's clocks end in 2106. */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
const LATEST_MS = Date.UTC(2107, 0, 1);

export type Walk = Omit<HistoryRange, "after" | "limit">;

/**
 * Reads the stored part of a range page by page. `pause` runs between pages, so that polling and publishing continue,
 * and memory holds one page.
 */
export async function* walk(
  history: HistoryReader,
  range: Walk,
  pause: () => Promise<void>,
  pageRows = PAGE_ROWS,
): AsyncGenerator<StoredReading> {
  const extent = history.extent();
  if (extent === null) return;
  const fromMs = Math.max(range.fromMs, extent.fromMs);
  const toMs = Math.min(range.toMs, extent.toMs);
  for (const window of windows({ ...range, fromMs, toMs })) {
    let after: HistoryPosition | null = null;
    for (;;) {
      const page: readonly StoredReading[] = history.page({
        ...range,
        ...window,
        after,
        limit: pageRows,
      });
      yield* page;
      await pause();
      const last = page.at(-1);
      if (last === undefined || page.length < pageRows) break;
      after = { timeMs: last.timeMs, seq: last.seq };
    }
  }
}

function* windows({ fromMs, toMs, order }: Walk): Generator<{ fromMs: number; toMs: number }> {
  const first = Math.max(fromMs, EARLIEST_MS);
  const end = Math.min(toMs, LATEST_MS);
  if (order === "ascending") {
    for (let at = first; at < end; at += WINDOW_MS) {
      yield { fromMs: at, toMs: Math.min(end, at + WINDOW_MS) };
    }
  } else {
    for (let at = end; at > first; at -= WINDOW_MS) {
      yield { fromMs: Math.max(first, at - WINDOW_MS), toMs: at };
    }
  }
}

/**
 * Number of readings in the range, without reading them. Once `isEnough` says so, the other stored hours
 * are assumed to have as many: times may lie years apart, where a clock was wrong.
 */
export async function countReadings(
  history: Pick<HistoryReader, "counts">,
  range: MergedRange,
  pause: () => Promise<void>,
  isEnough: () => boolean = () => false,
): Promise<number> {
  let count = 0;
  let counted = 0;
  let others = 0;
  for (const part of history.counts(range, isEnough)) {
    if (part.count === null) others += part.hours;
    else counted += part.hours;
    count += part.count ?? 0;
    await pause();
  }
  return others === 0 ? count : (count * (counted + others)) / counted;
}
