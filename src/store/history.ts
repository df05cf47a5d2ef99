import type { StoredReading } from "../core/ports.ts";
import { KINDS, type Kind } from "../core/sensor.ts";
import type { Database, Row } from "./database.ts";
import { hourOf, READING_COLUMNS, toStoredReading } from "./stored-reading.ts";
import type { Streams } from "./streams.ts";

export interface HistoryQuery {
  /** All sensors where not given. */
  readonly sensor?: string | undefined;
  /** All kinds where not given. */
  readonly kind?: Kind | undefined;
  /** First instant, ms. */
  readonly fromMs: number;
  /** First instant after the range, ms. */
  readonly toMs: number;
  /** asc unless given. */
  readonly order?: "asc" | "desc";
}

/** Rows read at a time: a few milliseconds of work, then the caller has its turn. */
const SLICE_ROWS = 500;

const BASE = `SELECT ${READING_COLUMNS} FROM readings r WHERE r.hour = ?`;
/** Statements of the queries, so that their plans can be asserted. */
export const HISTORY_SQL = {
  streamAsc: `${BASE} AND r.stream = ? AND r.time_ms >= ? AND r.time_ms < ? AND (r.time_ms, r.seq) > (?, ?)
    ORDER BY r.time_ms, r.seq LIMIT ?`,
  streamDesc: `${BASE} AND r.stream = ? AND r.time_ms >= ? AND r.time_ms < ? AND (r.time_ms, r.seq) < (?, ?)
    ORDER BY r.time_ms DESC, r.seq DESC LIMIT ?`,
  nextHour: "SELECT hour FROM readings WHERE hour >= ? ORDER BY hour LIMIT 1",
  previousHour: "SELECT hour FROM readings WHERE hour <= ? ORDER BY hour DESC LIMIT 1",
  latest: `${BASE} AND r.stream = ? AND r.is_future = 0 ORDER BY r.time_ms DESC, r.seq DESC LIMIT 1`,
} as const;

/** Local queries over what is stored, in bounded slices. Times are walked hour by hour, a seek for each sensor and kind. */
export class History {
  readonly #db: Database;
  readonly #streams: Streams;

  constructor(db: Database, streams: Streams) {
    this.#db = db;
    this.#streams = streams;
  }

  /** The newest reading of a sensor and kind; those dated into the future by a wrong clock do not count. */
  latest(sensor: string, kind: Kind): StoredReading | null {
    const stream = this.#find(sensor, kind)[0];
    if (stream === undefined) return null;
    for (let hour = this.#previousHour(1e12); hour !== null; hour = this.#previousHour(hour - 1)) {
      const [row] = this.#db.read(HISTORY_SQL.latest).all(hour, stream);
      if (row !== undefined) return toStoredReading(row, this.#streams);
    }
    return null;
  }

  /** Readings of a range in order of time (within an hour: sensor and kind first where several are asked for). */
  *range(query: HistoryQuery): Generator<StoredReading, void, void> {
    const isDescending = query.order === "desc";
    const streams = this.#find(query.sensor, query.kind);
    if (streams.length === 0 || query.toMs <= query.fromMs) return;
    const firstHour = hourOf(query.fromMs);
    const lastHour = hourOf(query.toMs - 1);
    let hour = isDescending ? this.#previousHour(lastHour) : this.#nextHour(firstHour);
    while (hour !== null && hour >= firstHour && hour <= lastHour) {
      for (const stream of streams) yield* this.#hourOf(stream, hour, query, isDescending);
      hour = isDescending ? this.#previousHour(hour - 1) : this.#nextHour(hour + 1);
    }
  }

  *#hourOf(
    stream: number,
    hour: number,
    { fromMs, toMs }: HistoryQuery,
    isDescending: boolean,
  ): Generator<StoredReading, void, void> {
    const sql = isDescending ? HISTORY_SQL.streamDesc : HISTORY_SQL.streamAsc;
    const end = Number.MAX_SAFE_INTEGER;
    let last: readonly [number, number] = isDescending ? [end, end] : [-end, -1];
    for (;;) {
      const rows: Row[] = this.#db
        .read(sql)
        .all(hour, stream, fromMs, toMs, last[0], last[1], SLICE_ROWS);
      for (const row of rows) yield toStoredReading(row, this.#streams);
      const tail = rows.at(-1);
      if (tail === undefined || rows.length < SLICE_ROWS) return;
      last = [tail[2] as number, tail[0] as number];
    }
  }

  /** The newest `limit` readings of a range, oldest of them first. */
  rangeNewest(query: Omit<HistoryQuery, "order">, limit: number): StoredReading[] {
    const newest: StoredReading[] = [];
    for (const reading of this.range({ ...query, order: "desc" })) {
      if (newest.length >= limit) break;
      newest.push(reading);
    }
    return newest.reverse();
  }

  /** Sensors and kinds that have ever been stored. */
  streams(): readonly { readonly sensor: string; readonly kind: Kind }[] {
    this.#streams.load();
    return this.#streams.all();
  }

  #find(sensor: string | undefined, kind: Kind | undefined): number[] {
    if (sensor === undefined) {
      this.#streams.load();
      return this.#streams
        .all()
        .filter((stream) => kind === undefined || stream.kind === kind)
        .map(({ stream }) => stream);
    }
    const find = () =>
      (kind === undefined ? KINDS : [kind]).flatMap(
        (k) => this.#streams.find(sensor, k)?.stream ?? [],
      );
    const found = find();
    if (found.length > 0) return found;
    this.#streams.load();
    return find();
  }

  #nextHour(hour: number): number | null {
    return (this.#db.read(HISTORY_SQL.nextHour).all(hour)[0]?.[0] ?? null) as number | null;
  }

  #previousHour(hour: number): number | null {
    return (this.#db.read(HISTORY_SQL.previousHour).all(hour)[0]?.[0] ?? null) as number | null;
  }
}
