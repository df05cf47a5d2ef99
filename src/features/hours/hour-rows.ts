import { parsedObject } from "../../core/parsed-json.ts";
import type { ReadingTexts } from "../../core/stored-reading.ts";
import type { DamagedRows } from "../../pipeline/store/database/damaged-rows.ts";
import type { Database } from "../../pipeline/store/database/database.ts";
import type { Streams } from "../../pipeline/store/database/streams.ts";
import { HOURS_PER_DAY, HourSums } from "./rules/hour-sums.ts";
import { type CountedSums, decodeSums, type Series } from "./sums-body.ts";

/** Of a row's place, the lowest 20 bits are the stream. */
const STREAMS_MAX = 2 ** 20;

export const placeOf = (index: number, stream: number) => index * STREAMS_MAX + stream;
export const indexOf = (place: number) => Math.floor(place / STREAMS_MAX);
export const streamOf = (place: number) => place - indexOf(place) * STREAMS_MAX;

/** Cell and row number, bytes. */
const ROW_HEAD_BYTES = 14;
const PAGE_HEAD_BYTES = 8;

export const dayOf = (hour: number) => Math.floor(hour / HOURS_PER_DAY);

/** What a row takes, with what it leaves unused of a page of its own. */
export function rowBytes(bodyBytes: number, pageBytes: number): number {
  const room = pageBytes - PAGE_HEAD_BYTES;
  const bytes = bodyBytes + ROW_HEAD_BYTES;
  if (bytes > room) return Math.ceil(bytes / room) * pageBytes;
  return pageBytes / Math.floor(room / bytes);
}

export type Table = "hours" | "days";

export interface CountedRow extends CountedSums {
  /** Stored readings up to this number are counted. */
  upto: number;
}

export const emptyRow = (): CountedRow => ({ sums: new HourSums(), lost: 0, upto: -1 });

/** False if a text of it cannot be read. */
export function countReading(row: CountedRow, reading: ReadingTexts): boolean {
  if (row.lost === 0) return row.sums.add(reading);
  // It was counted before a damaged store lost it.
  row.lost -= 1;
  return true;
}

export interface HourState {
  /**
   * Before this hour, rows contain every reading, and every day that is over has its row. From it on, what is stored
   * beyond a row adds to it. -Infinity before anything was counted.
   */
  readonly mark: number;
  /** The newest hour that has a row: readings of later ones need no look-up. */
  readonly newest: number;
  /** Hours before this one were merged to days, or are gone. */
  readonly hoursFrom: number;
  /** Days before this one are gone. */
  readonly daysFrom: number;
  /** What the rows take, approximately. */
  readonly bytes: number;
}

export const STATE = "hours";
export const STATE_SQL = "SELECT value FROM meta WHERE name = 'hours'";
const SERIES_SQL = "SELECT series, value, unit FROM hour_series WHERE stream = ?";
const STORED_SQL = `SELECT seq, unit_set AS unitSet, "values", quality FROM readings
  WHERE hour = ? AND stream = ? AND is_future = 0 AND seq > ? ORDER BY time_ms, seq`;

function parseState(text: string): HourState {
  // Damaged, nothing counts as counted: what is stored beyond the rows is added to them again.
  const saved = parsedObject(text) ?? {};
  const numberOf = (name: keyof HourState, none: number) => {
    const value = saved[name];
    return typeof value === "number" ? value : none;
  };
  return {
    mark: numberOf("mark", Number.NEGATIVE_INFINITY),
    newest: numberOf("newest", Number.NEGATIVE_INFINITY),
    hoursFrom: numberOf("hoursFrom", Number.NEGATIVE_INFINITY),
    daysFrom: numberOf("daysFrom", Number.NEGATIVE_INFINITY),
    bytes: numberOf("bytes", 0),
  };
}

interface SeriesRow {
  readonly series: number;
  readonly value: string;
  /** Empty for none. */
  readonly unit: string;
}
interface SumsRow {
  readonly upto: number;
  readonly body: Buffer;
}
interface CountedReading extends Omit<ReadingTexts, "units"> {
  readonly seq: number;
  readonly unitSet: number;
}

/** Rows of hours and days as one of the two connections sees them. */
export class HourRows {
  readonly #select: Database["read"];
  readonly #damaged: DamagedRows;
  readonly #streams: Streams;
  /** It is read in every transaction and changes once an hour. */
  #parsed = { text: "{}", state: parseState("{}") };

  private constructor(select: Database["read"], { damaged }: Database, streams: Streams) {
    this.#select = select;
    this.#damaged = damaged;
    this.#streams = streams;
  }

  static committed(db: Database, streams: Streams): HourRows {
    return new HourRows(<T>(sql: string) => db.read<T>(sql), db, streams);
  }

  /** Including what the running transaction has written. */
  static written(db: Database, streams: Streams): HourRows {
    return new HourRows(<T>(sql: string) => db.write<T>(sql), db, streams);
  }

  state(): HourState {
    const text = this.#select<{ value: string }>(STATE_SQL).get()?.value ?? "{}";
    if (text !== this.#parsed.text) this.#parsed = { text, state: parseState(text) };
    return this.#parsed.state;
  }

  series(stream: number): Map<number, Series> {
    const rows = this.#select<SeriesRow>(SERIES_SQL).all(stream);
    return new Map(
      rows.map(({ series, value, unit }) => [series, { value, unit: unit === "" ? null : unit }]),
    );
  }

  /** Null if nothing is counted there; a damaged row counts nothing. */
  row(
    table: Table,
    index: number,
    stream: number,
    series: ReadonlyMap<number, Series>,
  ): CountedRow | null {
    const sql = `SELECT upto, body FROM ${table} WHERE place = ?`;
    const found = this.#select<SumsRow>(sql).get(placeOf(index, stream));
    if (found === undefined) return null;
    const decoded = decodeSums(found.body, series);
    if (decoded === null) this.#damaged.found(table, placeOf(index, stream));
    return decoded === null ? null : { ...decoded, upto: found.upto };
  }

  /** Index of the oldest row from this index on. */
  oldest(table: Table, from = Number.NEGATIVE_INFINITY): number | null {
    const first = Math.max(placeOf(from, 0), Number.MIN_SAFE_INTEGER);
    const sql = `SELECT place FROM ${table} WHERE place >= ? ORDER BY place LIMIT 1`;
    return this.#firstIndex(sql, first);
  }

  newest(table: Table): number | null {
    return this.#firstIndex(`SELECT place FROM ${table} ORDER BY place DESC LIMIT 1`);
  }

  #firstIndex(sql: string, ...values: number[]): number | null {
    const row = this.#select<{ place: number }>(sql).get(...values);
    return row === undefined ? null : indexOf(row.place);
  }

  /** Streams with rows in this range. */
  streams(table: Table, from: number, to: number): Set<number> {
    const sql = `SELECT place FROM ${table} WHERE place >= ? AND place < ?`;
    const rows = this.#select<{ place: number }>(sql).all(placeOf(from, 0), placeOf(to, 0));
    return new Set(rows.map(({ place }) => streamOf(place)));
  }

  /** Adds what is stored in these hours beyond the row; null if nothing is counted at all. */
  withStored(
    row: CountedRow | null,
    fromHour: number,
    toHour: number,
    stream: number,
  ): CountedRow | null {
    const whole = row ?? emptyRow();
    const before = whole.upto;
    for (let hour = fromHour; hour < toHour; hour += 1) {
      const stored = this.#select<CountedReading>(STORED_SQL);
      for (const { seq, unitSet, values, quality } of stored.all(hour, stream, before)) {
        whole.upto = Math.max(whole.upto, seq);
        const texts = { values, quality, units: this.#streams.units(unitSet) };
        if (!countReading(whole, texts)) this.#damaged.found("readings", seq);
      }
    }
    return row === null && whole.upto < 0 ? null : whole;
  }
}
