import { isEvent } from "../../../core/delivery/event-kind.ts";
import type { CountedHours, MergedRange } from "../../../core/query/ports.ts";
import { KINDS, type Kind, type StreamKey } from "../../../core/sensor.ts";
import type { StoredReading } from "../../../core/stored-reading.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import { MERGED_SQL, mergedCounts, mergedPages, type StreamsRange } from "./merged-pages.ts";
import type { NewestTimes } from "./newest-times.ts";
import {
  hourOf,
  READING_COLUMNS,
  type StoredReadingRow,
  toStoredReading,
} from "./stored-reading.ts";

export interface HistoryQuery {
  /** All sensors if not given. */
  readonly sensor?: string | undefined;
  /** All kinds if not given. */
  readonly kind?: Kind | undefined;
  /** First instant, ms. */
  readonly fromMs: number;
  /** First instant after the range, ms. */
  readonly toMs: number;
  /** asc unless given. */
  readonly order?: "asc" | "desc";
  /** Those that were stored later are left out. */
  readonly untilSeq?: number;
  /** How many the caller takes, if it knows: not many more are read. */
  readonly limit?: number;
}

/** Rows read at a time: a few milliseconds of work, then the caller gets its turn. */
const SLICE_ROWS = 500;
/** Beyond every time and number. */
const END = Number.MAX_SAFE_INTEGER;

const BASE = `SELECT ${READING_COLUMNS} FROM readings r WHERE r.hour = ?`;
/** Statements of the queries, so that their query plans can be asserted. */
export const HISTORY_SQL = {
  streamDesc: `${BASE} AND r.stream = ? AND r.time_ms >= ? AND r.time_ms < ? AND (r.time_ms, r.seq) < (?, ?)
    ORDER BY r.time_ms DESC, r.seq DESC LIMIT ?`,
  nextHour: "SELECT hour FROM readings WHERE hour >= ? ORDER BY hour LIMIT 1",
  previousHour: "SELECT hour FROM readings WHERE hour <= ? ORDER BY hour DESC LIMIT 1",
  newestSeq: "SELECT max(seq) FROM readings",
  latest: `${BASE} AND r.stream = ? AND r.is_future = 0 AND r.time_ms =
    (SELECT max(time_ms) FROM readings WHERE hour = ? AND stream = ? AND is_future = 0) ORDER BY r.seq LIMIT 1`,
  /** The same of many streams of one hour. */
  latestOf: `SELECT ${READING_COLUMNS} FROM json_each(?) CROSS JOIN readings r WHERE r.seq =
    (SELECT min(seq) FROM readings WHERE hour = ? AND stream = value AND is_future = 0 AND time_ms =
      (SELECT max(time_ms) FROM readings WHERE hour = ? AND stream = value AND is_future = 0))`,
} as const;

/**
 * Local queries over stored readings, in limited slices. Times are searched hour by hour, a seek for each sensor and
 * kind.
 */
export class History {
  readonly #db: Database;
  readonly #streams: Streams;
  readonly #newest: NewestTimes | null;

  /** Only the writing process has `newest`; without it each query searches the hours. */
  constructor(db: Database, streams: Streams, newest: NewestTimes | null) {
    this.#db = db;
    this.#streams = streams;
    this.#newest = newest;
  }

  /**
   * The newest reading of a sensor and kind, as the live topic has it: of two with one time the first stored. Those
   * dated in the future by a wrong clock do not count.
   */
  latest(sensor: string, kind: Kind): StoredReading | null {
    const stream = this.#find(sensor, kind)[0];
    if (stream === undefined) return null;
    if (this.#newest === null) return this.#seekLatest(stream);
    const known = this.#newestIn(this.#newest.hour(stream), stream);
    if (known !== undefined) return known;
    this.#newest.lookAgain();
    return this.#newestIn(this.#newest.hour(stream), stream) ?? null;
  }

  /** The same of many: the site of a large plant is looked up at the start. Those without a reading are omitted. */
  *latestOf<K extends StreamKey>(wanted: readonly K[]): Generator<readonly [K, StoredReading]> {
    for (let from = 0; from < wanted.length; from += SLICE_ROWS) {
      const slice = wanted.slice(from, from + SLICE_ROWS);
      const numbers = slice.map(({ sensor, kind }) => this.#streams.find(sensor, kind)?.stream);
      const known = numbers.filter((stream) => stream !== undefined);
      const found = new Map<number, StoredReading>();
      for (const [hour, streams] of this.#newest?.byHour(known) ?? []) {
        const rows = this.#db.readArrays<StoredReadingRow>(HISTORY_SQL.latestOf);
        for (const row of rows.all(JSON.stringify(streams), hour, hour))
          found.set(row[1], this.#readable(row));
      }
      for (const [index, key] of slice.entries()) {
        const stream = numbers[index];
        if (stream === undefined) continue;
        // One that is missing has none, or retention has removed the hour of its newest.
        const reading = found.get(stream) ?? this.latest(key.sensor, key.kind);
        if (reading !== null) yield [key, reading];
      }
    }
  }

  #seekLatest(stream: number): StoredReading | null {
    for (let hour = this.#previousHour(1e12); hour !== null; hour = this.#previousHour(hour - 1)) {
      const found = this.#newestIn(hour, stream);
      if (found) return found;
    }
    return null;
  }

  /** Undefined if that hour no longer contains any. */
  #newestIn(hour: number | null, stream: number): StoredReading | null | undefined {
    if (hour === null) return null;
    const [row] = this.#db
      .readArrays<StoredReadingRow>(HISTORY_SQL.latest)
      .all(hour, stream, hour, stream);
    return row === undefined ? undefined : this.#readable(row);
  }

  /** Of the newest ones: many look at them, and each is looked at for damage. */
  #readable(row: StoredReadingRow): StoredReading {
    return this.#db.damaged.readable(toStoredReading(row, this.#streams));
  }

  /** The highest number of a stored reading: those that are stored later have higher ones. 0 while nothing is stored. */
  newestSeq(): number {
    const [row] = this.#db.readArrays<[number | null]>(HISTORY_SQL.newestSeq).all();
    return row?.[0] ?? 0;
  }

  /** The time span of all stored readings: no query need look outside it. Null while nothing is stored. */
  extent(): { readonly fromMs: number; readonly toMs: number } | null {
    const first = this.#nextHour(-1e12);
    const last = this.#previousHour(1e12);
    if (first === null || last === null) return null;
    // Hours are truncated towards zero, so the one around 1970 is twice as long.
    return { fromMs: (first - 1) * HOUR_MS, toMs: (last + 1) * HOUR_MS };
  }

  /** Readings of a range in order of time (within an hour: sensor and kind first if several are requested). */
  *range(query: HistoryQuery): Generator<StoredReading, void, void> {
    const isDescending = query.order === "desc";
    const streams = this.#find(query.sensor, query.kind);
    if (streams.length === 0 || query.toMs <= query.fromMs) return;
    const firstHour = hourOf(query.fromMs);
    const lastHour = this.#lastHour(streams, query.toMs);
    let hour = isDescending ? this.#previousHour(lastHour) : this.#nextHour(firstHour);
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    while (hour !== null && hour >= firstHour && hour <= lastHour) {
      for (const stream of streams) {
        for (const reading of this.#hourOf(stream, hour, query, left, isDescending)) {
          yield reading;
          left -= 1;
        }
      }
      hour = isDescending ? this.#previousHour(hour - 1) : this.#nextHour(hour + 1);
    }
  }

  /**
   * Readings of several sensors and kinds in order of time, those of one time in the order stored, page by page. A page
   * may be empty: enough was looked up for the caller to give others their turn.
   */
  *merged(range: MergedRange): Generator<readonly StoredReading[], void, void> {
    const known = this.#known(this.#streamsOf(range), range);
    if (known !== null) yield* mergedPages(this.#db, this.#streams, known);
  }

  /** How many these are, in pieces of a few milliseconds of work. */
  *counts(range: MergedRange, isEnough: () => boolean): Generator<CountedHours, void, void> {
    const known = this.#known(this.#streamsOf(range), range);
    if (known !== null) yield* mergedCounts(this.#db, known, isEnough);
  }

  #streamsOf({ streams }: MergedRange): number[] {
    return streams.flatMap(({ sensor, kind }) => this.#find(sensor, kind));
  }

  /** Null where no reading can be. */
  #known(
    streams: readonly number[],
    { fromMs, toMs, ...more }: Omit<StreamsRange, "streams" | "lastHour" | "nextHour">,
  ): StreamsRange | null {
    if (streams.length === 0 || toMs <= fromMs) return null;
    const nextHour = (hour: number) => this.#nextHour(hour);
    return { ...more, fromMs, toMs, streams, lastHour: this.#lastHour(streams, toMs), nextHour };
  }

  /** Number of readings in a range, from an index only. */
  count({ sensor, kind, ...range }: Omit<HistoryQuery, "order" | "limit">): number {
    const known = this.#known(this.#find(sensor, kind), range);
    let count = 0;
    if (known !== null)
      for (const part of mergedCounts(this.#db, known, () => false)) count += part.count ?? 0;
    return count;
  }

  /** Last hour of a range that can contain readings: a sensor that fell silent costs no seek for each hour since. */
  #lastHour(streams: readonly number[], toMs: number): number {
    const wanted = hourOf(toMs - 1);
    const newest = this.#newest;
    if (newest === null) return wanted;
    const hours = streams.map((stream) => newest.lastHour(stream) ?? Number.NEGATIVE_INFINITY);
    return Math.min(wanted, Math.max(...hours));
  }

  *#hourOf(
    stream: number,
    hour: number,
    { fromMs, toMs, untilSeq = END }: HistoryQuery,
    left: number,
    isDescending: boolean,
  ): Generator<StoredReading, void, void> {
    const sliceRows = Math.max(1, Math.min(left, SLICE_ROWS));
    const sql = isDescending ? HISTORY_SQL.streamDesc : MERGED_SQL.all.ofHourAfter;
    let last: readonly [number, number] = isDescending ? [END, END] : [-END, -1];
    for (;;) {
      const rows: StoredReadingRow[] = this.#db
        .readArrays<StoredReadingRow>(sql)
        .all(hour, stream, fromMs, toMs, last[0], last[1], sliceRows);
      for (const row of rows) if (row[0] <= untilSeq) yield toStoredReading(row, this.#streams);
      const tail = rows.at(-1);
      if (tail === undefined || rows.length < sliceRows) return;
      last = [tail[2], tail[0]];
    }
  }

  /** Sensors and kinds that were ever stored. */
  streams(): readonly { readonly sensor: string; readonly kind: Kind }[] {
    this.#streams.loadNewer();
    return this.#streams.all().filter((stream) => !isEvent(stream));
  }

  #find(sensor: string | undefined, kind: Kind | undefined): number[] {
    if (sensor === undefined) {
      this.#streams.loadNewer();
      return this.#streams
        .all()
        .filter((stream) => (kind === undefined ? !isEvent(stream) : stream.kind === kind))
        .map(({ stream }) => stream);
    }
    const find = () =>
      (kind === undefined ? KINDS : [kind]).flatMap(
        (k) => this.#streams.find(sensor, k)?.stream ?? [],
      );
    const found = find();
    if (found.length > 0) return found;
    this.#streams.loadNewer();
    return find();
  }

  #nextHour(hour: number): number | null {
    return this.#db.read<{ hour: number }>(HISTORY_SQL.nextHour).get(hour)?.hour ?? null;
  }

  #previousHour(hour: number): number | null {
    return this.#db.read<{ hour: number }>(HISTORY_SQL.previousHour).get(hour)?.hour ?? null;
  }
}
