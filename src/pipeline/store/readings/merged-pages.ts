/** Readings of some sensors and kinds in order of time, page by page: few short queries each, and no read stays open between them. */
import type { CountedHours, MergedRange } from "../../../core/query/ports.ts";
import type { StoredReading } from "../../../core/stored-reading.ts";
import type { Database } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";
import {
  hourOf,
  READING_COLUMNS,
  type StoredReadingRow,
  toStoredReading,
} from "./stored-reading.ts";

/** Rows of a page, and readings of several sensors for which an order is found at a time. */
const PAGE_ROWS = 200;
const ORDER_ROWS = 5_000;
/** Look-ups of a sensor and kind in an hour that take no longer than a page; the statements of an hour cost as much as some. */
const LOOKUPS_MAX = 2_000;
const LOOKUPS_EACH_HOUR = 4;

/** What is damaged is an empty object. SQLite tells in a quarter of the time that parsing takes. */
const intact = (column: string) =>
  `CASE WHEN typeof(r.${column}) = 'text' AND json_valid(r.${column}) THEN r.${column} ELSE '{}' END`;
/** The raw record, the longest text of a row, is left where it is. */
const briefColumns = (attributes: string) =>
  `r.seq, r.stream, r.time_ms, r.unit_set, ${intact('"values"')}, ${attributes}`;
type BriefRow = readonly [
  seq: number,
  stream: number,
  timeMs: number,
  unitSet: number,
  values: string,
  attributes: string,
];
type Row = BriefRow | StoredReadingRow;
const isWhole = (row: Row): row is StoredReadingRow => row.length > 6;

const statements = (columns: string) => ({
  bySeq: `SELECT ${columns} FROM json_each(?) CROSS JOIN readings r WHERE r.seq = value`,
  ofHour: `SELECT ${columns} FROM readings r WHERE r.hour = ? AND r.stream = ? AND r.time_ms >= ? AND r.time_ms < ?
    ORDER BY r.time_ms, r.seq LIMIT ?`,
  /** On from a reading: comparing places takes as long as reading some columns. */
  ofHourAfter: `SELECT ${columns} FROM readings r WHERE r.hour = ? AND r.stream = ? AND r.time_ms >= ? AND r.time_ms < ?
    AND (r.time_ms, r.seq) > (?, ?) ORDER BY r.time_ms, r.seq LIMIT ?`,
});
/** Of many streams of one hour, from the index alone. */
export const ORDER_SQL = `SELECT r.time_ms, r.seq FROM json_each(?) CROSS JOIN readings r INDEXED BY readings_by_hour
  WHERE r.hour = ? AND r.stream = value AND r.time_ms >= ? AND r.time_ms < ? AND (r.time_ms, r.seq) > (?, ?)
  ORDER BY r.time_ms, r.seq LIMIT ?`;
/** How many these are, hour by hour. */
export const COUNT_SQL = `SELECT count(*) FROM json_each(?) CROSS JOIN readings r INDEXED BY readings_by_hour
  WHERE r.hour = ? AND r.stream = value AND r.time_ms >= ? AND r.time_ms < ? AND +r.seq <= ?`;
/** Statements of the queries by what they need, so that their query plans can be asserted. */
export const MERGED_SQL = {
  all: statements(READING_COLUMNS),
  attributes: statements(briefColumns(intact("attributes"))),
  values: statements(briefColumns("'{}'")),
} as const;

/** Beyond every time and number. */
const END = Number.MAX_SAFE_INTEGER;
/** Before every reading. */
const BEGINNING = [-END, -1] as const;

type Position = readonly [timeMs: number, seq: number];
export interface StreamsRange extends Omit<MergedRange, "streams"> {
  /** At least one. */
  readonly streams: readonly number[];
  /** Those that were stored later do not count. */
  readonly untilSeq?: number | undefined;
  /** Later ones have none of these. */
  readonly lastHour: number;
  /** The first stored hour from this one on. */
  readonly nextHour: (hour: number) => number | null;
}
type Pages = Generator<readonly StoredReading[], void, void>;

/** A page may be empty: enough was looked up for the caller to give others their turn. */
export function mergedPages(db: Database, streams: Streams, range: StreamsRange): Pages {
  const [stream] = range.streams;
  const isSingle = range.streams.length === 1 && stream !== undefined;
  return isSingle ? ofOne(db, streams, range, stream) : ofMany(db, streams, range);
}

/** One sensor and kind is read as it stands in the index: looking up an order first would cost a third more. */
function* ofOne(db: Database, streams: Streams, range: StreamsRange, stream: number): Pages {
  const { fromMs, toMs, needs = "all", lastHour, nextHour } = range;
  const sql = MERGED_SQL[needs];
  let page: StoredReading[] = [];
  let lookups = 0;
  let after: Position | null = null;
  let hour = nextHour(hourOf(fromMs));
  while (hour !== null && hour <= lastHour) {
    const limit = PAGE_ROWS - page.length;
    const rows: Row[] =
      after === null
        ? db.readArrays<Row>(sql.ofHour).all(hour, stream, fromMs, toMs, limit)
        : db.readArrays<Row>(sql.ofHourAfter).all(hour, stream, fromMs, toMs, ...after, limit);
    for (const row of rows) page.push(toReading(row, streams));
    lookups += LOOKUPS_EACH_HOUR;
    const last = rows.at(-1);
    const isOver = rows.length < limit;
    after = isOver || last === undefined ? null : [last[2], last[0]];
    // After an hour with readings mostly comes another.
    if (isOver) hour = last === undefined ? nextHour(hour + 1) : hour + 1;
    if (page.length < PAGE_ROWS && lookups < LOOKUPS_MAX) continue;
    yield page;
    page = [];
    lookups = 0;
  }
  yield page;
}

function* ofMany(db: Database, streams: Streams, range: StreamsRange): Pages {
  const { fromMs, toMs, lastHour, nextHour } = range;
  const numbers = JSON.stringify(range.streams);
  const seqs: number[] = [];
  let lookups = 0;
  let hour = nextHour(hourOf(fromMs));
  while (hour !== null && hour <= lastHour) {
    let last: Position | undefined = BEGINNING;
    while (last !== undefined) {
      const order: Position[] = db
        .readArrays<Position>(ORDER_SQL)
        .all(numbers, hour, fromMs, toMs, ...last, ORDER_ROWS);
      for (const [, seq] of order) seqs.push(seq);
      lookups += range.streams.length + LOOKUPS_EACH_HOUR;
      last = order.length < ORDER_ROWS ? undefined : order.at(-1);
      if (seqs.length < PAGE_ROWS && lookups < LOOKUPS_MAX) continue;
      yield* pages(db, streams, seqs.splice(0), range);
      lookups = 0;
    }
    hour = nextHour(hour + 1);
  }
  yield* pages(db, streams, seqs, range);
}

/** Readings of some hours, again and again, so that the caller can give others their turn; of the later ones no more than how many there are. */
export function* mergedCounts(
  db: Database,
  range: StreamsRange,
  isEnough: () => boolean,
): Generator<CountedHours, void, void> {
  const { streams, fromMs, toMs, untilSeq = END, lastHour, nextHour } = range;
  const numbers = JSON.stringify(streams);
  let count: number | null = 0;
  let [hours, lookups] = [0, 0];
  let hour = nextHour(hourOf(fromMs));
  while (hour !== null && hour <= lastHour) {
    if (count !== null) {
      const [row] = db.readArrays<[number]>(COUNT_SQL).all(numbers, hour, fromMs, toMs, untilSeq);
      count += row?.[0] ?? 0;
      lookups += streams.length;
    }
    hours += 1;
    lookups += LOOKUPS_EACH_HOUR;
    if (lookups >= LOOKUPS_MAX) {
      yield { hours, count };
      count = count === null || isEnough() ? null : 0;
      [hours, lookups] = [0, 0];
    }
    hour = nextHour(hour + 1);
  }
  yield { hours, count };
}

/** At least one page. Readings that were removed meanwhile are left out. */
function* pages(
  db: Database,
  streams: Streams,
  seqs: readonly number[],
  { needs = "all" }: StreamsRange,
): Pages {
  const sql = MERGED_SQL[needs].bySeq;
  let from = 0;
  do {
    const page = seqs.slice(from, from + PAGE_ROWS);
    // SQLite promises no order without ORDER BY; the rows come as looked up, so this only compares neighbours.
    const found: Row[] = db.readArrays<Row>(sql).all(JSON.stringify(page));
    yield found.sort((a, b) => a[2] - b[2] || a[0] - b[0]).map((row) => toReading(row, streams));
    from += PAGE_ROWS;
  } while (from < seqs.length);
}

function toReading(row: Row, streams: Streams): StoredReading {
  if (isWhole(row)) return toStoredReading(row, streams);
  const [seq, stream, timeMs, unitSet, values, attributes] = row;
  const { sensor, kind } = streams.get(stream);
  return {
    seq,
    id: "",
    sensor,
    kind,
    timeMs,
    offsetMinutes: null,
    storedAtMs: 0,
    units: streams.units(unitSet),
    values,
    quality: "{}",
    attributes,
    raw: "{}",
    waveforms: [],
  };
}
