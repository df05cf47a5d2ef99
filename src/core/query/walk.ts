import type { StoredReading } from "../ports.ts";
import type { HistoryPosition, HistoryRange, HistoryReader } from "./ports.ts";

/** Readings fetched by one query: short enough that a write never waits for it noticeably. */
export const PAGE_ROWS = 200;

export type Walk = Omit<HistoryRange, "after" | "limit"> & {
  readonly after?: HistoryPosition | null;
};

/**
 * Walks a range page by page. `pause` runs between pages, so that polling and publishing go on, and memory holds one page.
 */
export async function* walk(
  history: HistoryReader,
  range: Walk,
  pause: () => Promise<void>,
  pageRows = PAGE_ROWS,
): AsyncGenerator<StoredReading> {
  let after = range.after ?? null;
  for (;;) {
    const page = history.page({ ...range, after, limit: pageRows });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageRows) return;
    after = { timeMs: last.timeMs, seq: last.seq };
    await pause();
  }
}
