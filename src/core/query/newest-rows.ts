/**
 * The newest rows of several histories, up to a cap, oldest first: what the history operations answer.
 * Every history is walked backwards in step, so that memory holds the rows answered and one page of each history.
 */
import type { StoredReading } from "../ports.ts";
import type { Kind } from "../sensor.ts";
import type { HistoryReader } from "./ports.ts";
import { PAGE_ROWS, walk } from "./walk.ts";

/** Readings held in pages of all histories together. */
const HELD_ROWS = 2_000;
const PAGE_ROWS_MIN = 8;

export interface Stream {
  readonly sensor: string;
  readonly kind: Kind;
}
export interface RowsRequest<Row> {
  readonly streams: readonly Stream[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly rowsMax: number;
  /** Rows of one reading, in the order they are to be answered. */
  readonly rowsOf: (reading: StoredReading) => readonly Row[];
}

export async function newestRows<Row>(
  history: HistoryReader,
  request: RowsRequest<Row>,
  pause: () => Promise<void>,
): Promise<Row[]> {
  const { streams, fromMs, toMs, rowsMax, rowsOf } = request;
  const pageRows = Math.min(
    PAGE_ROWS,
    Math.max(PAGE_ROWS_MIN, Math.floor(HELD_ROWS / Math.max(1, streams.length))),
  );
  const walks = streams.map((stream) =>
    walk(history, { ...stream, fromMs, toMs, order: "descending" }, pause, pageRows),
  );
  const heads: { readonly reading: StoredReading; readonly index: number }[] = [];
  const pull = async (index: number): Promise<void> => {
    const next = await walks[index]?.next();
    if (next === undefined || next.done === true) return;
    const head = { reading: next.value, index };
    // Ordered by time, newest last; streams are few, so a place is found by looking.
    let at = heads.length;
    while (at > 0 && isNewer(heads[at - 1]?.reading, next.value)) at -= 1;
    heads.splice(at, 0, head);
  };
  for (const index of walks.keys()) await pull(index);
  const newestFirst: Row[] = [];
  for (;;) {
    const head = heads.pop();
    if (head === undefined || newestFirst.length >= rowsMax) break;
    newestFirst.push(...[...rowsOf(head.reading)].reverse());
    await pull(head.index);
  }
  return newestFirst.slice(0, rowsMax).reverse();
}

function isNewer(left: StoredReading | undefined, right: StoredReading): boolean {
  if (left === undefined) return false;
  return left.timeMs > right.timeMs || (left.timeMs === right.timeMs && left.seq > right.seq);
}
