import type { StoredReading } from "../ports.ts";
import type { Kind } from "../sensor.ts";
import type { HistoryRange, HistoryReader } from "./ports.ts";

/** A store's history as it walks: lazily, in bounded slices, with no statement left open between them. */
export interface WalkableHistory {
  latest(sensor: string, kind: Kind): StoredReading | null;
  range(query: {
    readonly sensor: string;
    readonly kind: Kind;
    readonly fromMs: number;
    readonly toMs: number;
    readonly order: "asc" | "desc";
  }): Iterable<StoredReading>;
}

/** Pages over a walkable history; a page starts again where the one before ended. */
export function createHistoryReader(history: WalkableHistory): HistoryReader {
  return {
    latest: (sensor, kind) => history.latest(sensor, kind),
    page({ sensor, kind, fromMs, toMs, order, after, limit }: HistoryRange) {
      const isAscending = order === "ascending";
      const page: StoredReading[] = [];
      const rows = history.range({
        sensor,
        kind,
        fromMs: isAscending && after !== null ? Math.max(fromMs, after.timeMs) : fromMs,
        toMs: !isAscending && after !== null ? Math.min(toMs, after.timeMs + 1) : toMs,
        order: isAscending ? "asc" : "desc",
      });
      for (const row of rows) {
        if (page.length >= limit) break;
        if (after !== null && row.timeMs === after.timeMs) {
          const isBehind = isAscending ? row.seq <= after.seq : row.seq >= after.seq;
          if (isBehind) continue;
        }
        page.push(row);
      }
      return page;
    },
  };
}
