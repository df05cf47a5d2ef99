import type { HistoryRange, HistoryReader, StreamRange } from "../../../core/query/ports.ts";
import type { StoredReading } from "../../../core/stored-reading.ts";
import type { History } from "./history.ts";

interface Ranges
  extends Pick<
    History,
    "latest" | "latestOf" | "streams" | "extent" | "merged" | "counts" | "newestSeq"
  > {
  range(
    query: StreamRange & { readonly order: "asc" | "desc"; readonly limit: number },
  ): Iterable<StoredReading>;
}

/** The store's history in pages that start after a position. */
export function historyPages(history: Ranges): HistoryReader {
  return {
    latest: (sensor, kind) => history.latest(sensor, kind),
    latestOf: (wanted) => history.latestOf(wanted),
    streams: () => history.streams(),
    extent: () => history.extent(),
    counts: (range, isEnough) => history.counts(range, isEnough),
    newestSeq: () => history.newestSeq(),
    merged: (range) => history.merged(range),
    page(range: HistoryRange): readonly StoredReading[] {
      const { sensor, kind, after, limit } = range;
      const isDescending = range.order === "descending";
      const fromMs = after && !isDescending ? Math.max(range.fromMs, after.timeMs) : range.fromMs;
      const toMs = after && isDescending ? Math.min(range.toMs, after.timeMs + 1) : range.toMs;
      const page: StoredReading[] = [];
      const order = isDescending ? "desc" : "asc";
      for (const reading of history.range({ sensor, kind, fromMs, toMs, order, limit })) {
        if (after && reading.timeMs === after.timeMs) {
          const isPassed = isDescending ? reading.seq >= after.seq : reading.seq <= after.seq;
          if (isPassed) continue;
        }
        page.push(reading);
        if (page.length >= limit) break;
      }
      return page;
    },
  };
}
