/**
 * Hourly values (plant section 19): sums of every reading ever taken, by sensor, kind and UTC hour, and by UTC day. One
 * row holds all values of a sensor and kind.
 *
 * - Every reading counts once. A row counts the stored readings up to its `upto`, and those that have left. What is
 *   stored beyond that adds to it, in an answer (hour-reader.ts) as well as when the row is written anew.
 * - An hour is written once, an hour after its end (`file`), and in any transaction in which a reading of it leaves, or
 *   comes after that. A reading of the current hour writes nothing here.
 * - A day has its row as soon as it is over. It is made of its hours while they exist; then the row is all there is.
 * - Nothing is held in memory: a transaction that is rolled back leaves nothing to undo.
 *
 * In one file: these rules hold only together.
 */

import { parsedObject } from "../../core/parsed-json.ts";
import type { ReadingTexts } from "../../core/stored-reading.ts";
import type {
  Arrival,
  Counting,
  CountingParts,
  LeavingReading,
} from "../../pipeline/store/counting.ts";
import { DayMedianTable } from "./day-median-table.ts";
import { HourReader } from "./hour-reader.ts";
import {
  type CountedRow,
  countReading,
  dayOf,
  emptyRow,
  HourRows,
  type HourState,
  placeOf,
  rowBytes,
  STATE,
  STATE_SQL,
  type Table,
} from "./hour-rows.ts";
import { mendHours } from "./mend-hours.ts";
import { HOURS_PER_DAY, HourSums, seriesKey } from "./rules/hour-sums.ts";
import { encodeSums, type Series } from "./sums-body.ts";

const NEXT_HOUR_SQL = "SELECT hour FROM readings WHERE hour >= ? ORDER BY hour LIMIT 1";
const HAS_SQL = "SELECT 1 FROM hours WHERE place = ?";
const STREAMS_SQL = "SELECT DISTINCT stream FROM readings WHERE hour = ?";
const NEW_NUMBER_SQL = "INSERT INTO hour_series (stream, value, unit) VALUES (?, ?, ?)";

/** No reading has an earlier hour. */
const FIRST_HOUR = -1e9;

/** The row that counts an hour's readings, and the hours whose readings it counts. */
interface Span {
  readonly table: Table;
  readonly index: number;
  readonly fromHour: number;
  readonly toHour: number;
}

/** Null for an hour of a day that is gone. */
function spanOf(hour: number, { hoursFrom, daysFrom }: HourState): Span | null {
  const day = dayOf(hour);
  if (day < daysFrom) return null;
  if (hour >= hoursFrom) return { table: "hours", index: hour, fromHour: hour, toHour: hour + 1 };
  const fromHour = day * HOURS_PER_DAY;
  return { table: "days", index: day, fromHour, toHour: fromHour + HOURS_PER_DAY };
}

export class HourlyValues implements Counting {
  readonly values: HourReader;
  readonly dayMedians: DayMedianTable;
  readonly #parts: CountingParts;
  readonly #keptDays: number;
  readonly #rows: HourRows;

  /** @param keptDays TREND_DAYS */
  constructor(parts: CountingParts, keptDays: number) {
    const { db, queue, streams } = parts;
    this.#parts = parts;
    this.#keptDays = keptDays;
    this.#rows = HourRows.written(db, streams);
    this.values = new HourReader(db, streams);
    this.dayMedians = new DayMedianTable(db, queue, streams);
  }

  load(): void {
    const { db } = this.#parts;
    const text = db.write<{ value: string }>(STATE_SQL).get()?.value ?? null;
    if (text !== null && parsedObject(text) === null) db.damaged.found("meta", STATE);
  }

  came(stream: number, stored: readonly Arrival[], refused: readonly Arrival[]): void {
    const { mark, newest } = this.#rows.state();
    const hours = new Map<number, Arrival[]>();
    let seen: number | null = null;
    for (const { hour, isFuture } of stored) {
      if (isFuture || hour === seen) continue;
      seen = hour;
      if (hour < mark || (hour <= newest && this.#hasRow(hour, stream))) hours.set(hour, []);
    }
    for (const reading of refused) {
      const others = hours.get(reading.hour);
      if (others === undefined) hours.set(reading.hour, [reading]);
      else others.push(reading);
    }
    if (hours.size === 0) return;
    const work = new Work(this.#parts, this.#rows);
    for (const [hour, more] of hours) work.settle(hour, stream, more);
    work.end();
  }

  #hasRow(hour: number, stream: number): boolean {
    return this.#parts.db.write(HAS_SQL).get(placeOf(hour, stream)) !== undefined;
  }

  leave(): { before(reading: LeavingReading): void; write(): void } {
    const rows = new Map<
      number,
      { readonly span: Span; readonly stream: number; row: CountedRow }
    >();
    let state: HourState | null = null;
    return {
      before: ({ seq, stream, hour, isFuture }) => {
        state ??= this.#rows.state();
        if (isFuture === 1 || hour < state.mark) return;
        const span = spanOf(hour, state);
        if (span === null || rows.has(placeOf(hour, stream))) return;
        const { table, index, fromHour, toHour } = span;
        const before = this.#rows.row(table, index, stream, this.#rows.series(stream));
        if (before !== null && before.upto >= seq) return;
        const row = this.#rows.withStored(before, fromHour, toHour, stream);
        if (row === null) return;
        for (let at = fromHour; at < toHour; at += 1)
          rows.set(placeOf(at, stream), { span, stream, row });
      },
      write: () => {
        if (rows.size === 0) return;
        const work = new Work(this.#parts, this.#rows);
        for (const { span, stream, row } of new Set(rows.values()))
          work.put(span.table, span.index, stream, row);
        work.end();
      },
    };
  }

  /** A clock that was set back leaves hours open again. */
  file(untilHour: number): Promise<boolean> {
    if (this.#rows.state().mark === untilHour) return Promise.resolve(false);
    const run = () => this.#file(untilHour);
    return this.#parts.queue.enqueue({ what: "file hourly values", rows: 1, run }, 0);
  }

  *#file(untilHour: number): Generator<void, boolean, void> {
    const work = new Work(this.#parts, this.#rows);
    const { db } = this.#parts;
    const { mark } = work.state;
    const from = Math.max(mark, FIRST_HOUR);
    const next = db.write<{ hour: number }>(NEXT_HOUR_SQL).get(from)?.hour ?? untilHour;
    const hasMore = next < untilHour;
    if (hasMore) {
      for (const { stream } of db.write<{ stream: number }>(STREAMS_SQL).all(next)) {
        work.settle(next, stream);
        yield;
      }
    }
    yield* work.moveMark(hasMore ? next + 1 : untilHour);
    work.end();
    return hasMore;
  }

  thin(): boolean {
    const work = new Work(this.#parts, this.#rows);
    const hour = this.#rows.oldest("hours");
    if (hour !== null && dayOf(hour) < dayOf(work.state.mark)) work.dropHours(dayOf(hour) + 1);
    else {
      const day = this.#rows.oldest("days");
      if (day === null || day >= dayOf(work.state.mark)) return false;
      work.dropDays(day + 1);
    }
    work.end();
    return true;
  }

  dropOld(today: number): boolean {
    const untilDay = today - this.#keptDays;
    const day = this.#rows.oldest("days");
    const hour = this.#rows.oldest("hours");
    const oldest = Math.min(day ?? untilDay, hour === null ? untilDay : dayOf(hour));
    if (oldest >= untilDay) return false;
    const work = new Work(this.#parts, this.#rows);
    work.dropDays(oldest + 1);
    work.end();
    return true;
  }

  get bytes(): number {
    return this.#rows.state().bytes;
  }

  state(): ReturnType<HourReader["state"]> {
    return this.values.state();
  }

  mend(copied: { readonly identities: boolean }): void {
    mendHours(this.#parts.db, this.#rows, copied);
  }
}

/** The changes of one transaction. */
class Work {
  readonly #parts: CountingParts;
  readonly #rows: HourRows;
  /** Days whose hours have changed, by stream. */
  readonly #days = new Map<number, { readonly day: number; readonly stream: number }>();
  readonly #series = new Map<number, Map<number, Series>>();
  /** The same by `seriesKey`: a look-up of each would be half of the statements of a row. */
  readonly #numbers = new Map<number, Map<string, number>>();
  readonly #before: HourState;
  state: HourState;

  constructor(parts: CountingParts, rows: HourRows) {
    this.#parts = parts;
    this.#rows = rows;
    this.#before = rows.state();
    this.state = this.#before;
  }

  /** Counts everything that is stored in this hour, and `more`, which is not. */
  settle(hour: number, stream: number, more: readonly ReadingTexts[] = []): void {
    const span = spanOf(hour, this.state);
    if (span === null) return;
    const { table, index, fromHour, toHour } = span;
    const before = this.#rows.row(table, index, stream, this.#seriesOf(stream));
    const upto = before?.upto ?? -1;
    const row = this.#rows.withStored(before, fromHour, toHour, stream) ?? emptyRow();
    for (const reading of more) countReading(row, reading);
    if (row.upto === upto && more.length === 0) return;
    this.put(table, index, stream, row);
    const day = dayOf(hour);
    const isDayWritten = table === "hours" && day < dayOf(this.state.mark);
    if (isDayWritten) this.#days.set(placeOf(day, stream), { day, stream });
  }

  put(table: Table, index: number, stream: number, row: CountedRow): void {
    const { db } = this.#parts;
    const place = placeOf(index, stream);
    const body = encodeSums(row, (series) => this.#numberOf(stream, series));
    const old = db
      .write<{ bytes: number }>(`SELECT length(body) AS bytes FROM ${table} WHERE place = ?`)
      .get(place);
    db.write(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)`).run(place, row.upto, body);
    if (table === "hours" && index > this.state.newest)
      this.state = { ...this.state, newest: index };
    this.#grow(this.#bytesOf(body.length) - (old === undefined ? 0 : this.#bytesOf(old.bytes)));
  }

  /** Days that this makes complete get their rows. */
  *moveMark(mark: number): Generator<void, void, void> {
    // The day of the old mark was not over.
    const first = Math.max(FIRST_HOUR, dayOf(this.state.mark) * HOURS_PER_DAY);
    this.state = { ...this.state, mark };
    let hour = this.#rows.oldest("hours", first);
    while (hour !== null && dayOf(hour) < dayOf(mark)) {
      yield* this.#fileDay(dayOf(hour));
      hour = this.#rows.oldest("hours", (dayOf(hour) + 1) * HOURS_PER_DAY);
    }
  }

  *#fileDay(day: number): Generator<void, void, void> {
    const first = day * HOURS_PER_DAY;
    for (const stream of this.#rows.streams("hours", first, first + HOURS_PER_DAY)) {
      this.#sumDay(day, stream);
      yield;
    }
  }

  /** From its hours. One that counts more was made of hours that a damaged store lost. */
  #sumDay(day: number, stream: number): void {
    const series = this.#seriesOf(stream);
    const sums = new HourSums();
    let [lost, upto] = [0, -1];
    for (let hour = day * HOURS_PER_DAY; hour < (day + 1) * HOURS_PER_DAY; hour += 1) {
      const row = this.#rows.row("hours", hour, stream, series);
      if (row === null) continue;
      sums.merge(row.sums);
      lost += row.lost;
      upto = Math.max(upto, row.upto);
    }
    const known = this.#rows.row("days", day, stream, series);
    if (sums.readings > 0 && sums.readings >= (known?.sums.readings ?? 0))
      this.put("days", day, stream, { sums, lost, upto });
  }

  /** Hours before this day; what they count is in the rows of their days. */
  dropHours(untilDay: number): void {
    const untilHour = untilDay * HOURS_PER_DAY;
    this.#drop("hours", untilHour);
    this.state = { ...this.state, hoursFrom: Math.max(this.state.hoursFrom, untilHour) };
  }

  dropDays(untilDay: number): void {
    this.dropHours(untilDay);
    this.#drop("days", untilDay);
    this.state = { ...this.state, daysFrom: Math.max(this.state.daysFrom, untilDay) };
  }

  #drop(table: Table, untilIndex: number): void {
    const { db } = this.#parts;
    const until = placeOf(untilIndex, 0);
    const sizes = db
      .write<{ bytes: number }>(`SELECT length(body) AS bytes FROM ${table} WHERE place < ?`)
      .all(until);
    for (const { bytes } of sizes) this.#grow(-this.#bytesOf(bytes));
    db.write(`DELETE FROM ${table} WHERE place < ?`).run(until);
  }

  /** At the end of what changes rows: days follow their hours. */
  end(): void {
    for (const { day, stream } of this.#days.values()) this.#sumDay(day, stream);
    if (this.state === this.#before) return;
    // JSON writes what is not finite as null.
    const text = JSON.stringify({ ...this.state, bytes: Math.max(0, this.state.bytes) });
    this.#parts.db.write("INSERT OR REPLACE INTO meta VALUES (?, ?)").run(STATE, text);
  }

  #grow(bytes: number): void {
    this.state = { ...this.state, bytes: this.state.bytes + bytes };
  }

  #bytesOf(bodyBytes: number): number {
    return rowBytes(bodyBytes, this.#parts.db.pageBytes);
  }

  #seriesOf(stream: number): Map<number, Series> {
    let series = this.#series.get(stream);
    if (series === undefined) {
      series = this.#rows.series(stream);
      this.#series.set(stream, series);
    }
    return series;
  }

  #numbersOf(stream: number): Map<string, number> {
    let numbers = this.#numbers.get(stream);
    if (numbers === undefined) {
      const series = [...this.#seriesOf(stream)];
      numbers = new Map(
        series.map(([number, { value, unit }]) => [seriesKey(value, unit), number]),
      );
      this.#numbers.set(stream, numbers);
    }
    return numbers;
  }

  #numberOf(stream: number, { value, unit }: Series): number {
    const numbers = this.#numbersOf(stream);
    const key = seriesKey(value, unit);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    const added = this.#parts.db.write(NEW_NUMBER_SQL).run(stream, value, unit ?? "");
    const number = Number(added.lastInsertRowid);
    numbers.set(key, number);
    this.#seriesOf(stream).set(number, { value, unit });
    return number;
  }
}
