import type { HoursState } from "../../core/agent-status.ts";
import type { HourPoint, HourQuery, HourValues } from "../../core/query/ports.ts";
import type { Kind } from "../../core/sensor.ts";
import { DAY_MS, HOUR_MS } from "../../core/time-units.ts";
import type { Database } from "../../pipeline/store/database/database.ts";
import type { Streams } from "../../pipeline/store/database/streams.ts";
import { dayOf, HourRows, type HourState } from "./hour-rows.ts";
import { HOURS_PER_DAY, HourSums } from "./rules/hour-sums.ts";
import type { Series } from "./sums-body.ts";

const FIRST_SQL = "SELECT hour FROM readings ORDER BY hour LIMIT 1";
const LAST_SQL = "SELECT hour FROM readings ORDER BY hour DESC LIMIT 1";
const STORED_COUNT_SQL =
  "SELECT count(*) AS count FROM readings WHERE hour = ? AND stream = ? AND is_future = 0";

/** Beyond every reading, ms. */
const EVER_MS = 1e15;

/** Points of one read: a few milliseconds of work, then the caller gets its turn. */
const SLICE_POINTS = 200;

/** Hours and days as answers show them: the rows, and what is stored beyond them. */
export class HourReader implements HourValues {
  readonly #db: Database;
  readonly #streams: Streams;
  readonly #rows: HourRows;

  constructor(db: Database, streams: Streams) {
    this.#db = db;
    this.#streams = streams;
    this.#rows = HourRows.committed(db, streams);
  }

  state(): Omit<HoursState, "limitBytes"> {
    const hour = this.#rows.oldest("hours");
    const day = this.#rows.oldest("days");
    return {
      bytes: Math.round(this.#rows.state().bytes),
      oldestHourMs: hour === null ? null : hour * HOUR_MS,
      oldestDayMs: day === null ? null : day * DAY_MS,
    };
  }

  *points(query: HourQuery): Generator<HourPoint, void, void> {
    const stream = this.#find(query.sensor, query.kind);
    if (stream === null) return;
    if (query.takesDays === true) return yield* this.#byDays(query);
    const spanMs = query.span === "days" ? DAY_MS : HOUR_MS;
    let next = Math.ceil(Math.max(query.fromMs, this.#extent().fromMs) / spanMs);
    const until = Math.ceil(Math.min(query.toMs, this.#extent().toMs) / spanMs);
    // Who wants the first point alone waits for no further ones.
    for (let size = 1; next < until; size = Math.min(2 * size, SLICE_POINTS)) {
      const end = Math.min(until, next + size);
      // Of one commit, whoever writes meanwhile.
      yield* this.#db.reader.transaction(() => this.#slice(stream, next, end, query))();
      next = end;
    }
  }

  /** Hours at the edges, days between them. */
  *#byDays({ fromMs, toMs, ...rest }: HourQuery): Generator<HourPoint, void, void> {
    const firstMs = Math.ceil(fromMs / DAY_MS) * DAY_MS;
    const endMs = Math.max(firstMs, Math.floor(toMs / DAY_MS) * DAY_MS);
    const query = { ...rest, takesDays: false };
    yield* this.points({ ...query, fromMs, toMs: Math.min(firstMs, toMs) });
    yield* this.points({ ...query, span: "days", fromMs: firstMs, toMs: endMs });
    if (endMs < toMs) yield* this.points({ ...query, fromMs: endMs, toMs });
  }

  /** Nothing is counted outside of it. */
  #extent(): { readonly fromMs: number; readonly toMs: number } {
    const first = (hour: number | null) => hour ?? Number.POSITIVE_INFINITY;
    const last = (hour: number | null) => hour ?? Number.NEGATIVE_INFINITY;
    const rows = this.#rows;
    const fromHour = Math.min(first(rows.oldest("hours")), first(this.#storedHour(FIRST_SQL)));
    const toHour = Math.max(last(rows.newest("hours")), last(this.#storedHour(LAST_SQL)));
    // From midnight: the days of these hours are points, too.
    return {
      fromMs: Math.min(first(rows.oldest("days")), dayOf(fromHour)) * DAY_MS,
      toMs: Math.max((last(rows.newest("days")) + 1) * DAY_MS, (toHour + 1) * HOUR_MS),
    };
  }

  #slice(stream: number, from: number, until: number, query: HourQuery): HourPoint[] {
    const state = this.#rows.state();
    const series = this.#rows.series(stream);
    if (query.values !== null) {
      for (const [number, { value }] of series)
        if (!query.values.includes(value)) series.delete(number);
    }
    const points: HourPoint[] = [];
    for (let index = from; index < until; index += 1) {
      const sums =
        query.span === "days"
          ? this.#day(index, stream, series, state)
          : this.#hour(index, stream, series, state);
      if (sums === null) continue;
      points.push({
        startMs: index * (query.span === "days" ? DAY_MS : HOUR_MS),
        readings: sums.readings,
        // What is stored beyond a row was added whole.
        series: [...sums.series].filter(({ value }) => query.values?.includes(value) ?? true),
      });
    }
    return points;
  }

  #hour(
    hour: number,
    stream: number,
    series: ReadonlyMap<number, Series>,
    { mark, hoursFrom }: HourState,
  ): HourSums | null {
    if (hour < hoursFrom) return null;
    const row = this.#rows.row("hours", hour, stream, series);
    const whole = hour < mark ? row : this.#rows.withStored(row, hour, hour + 1, stream);
    return whole?.sums ?? null;
  }

  #day(
    day: number,
    stream: number,
    series: ReadonlyMap<number, Series>,
    state: HourState,
  ): HourSums | null {
    const [first, end] = [day * HOURS_PER_DAY, (day + 1) * HOURS_PER_DAY];
    if (day < dayOf(state.mark)) return this.#rows.row("days", day, stream, series)?.sums ?? null;
    if (first < state.hoursFrom) {
      const row = this.#rows.row("days", day, stream, series);
      return this.#rows.withStored(row, first, end, stream)?.sums ?? null;
    }
    const sums = new HourSums();
    for (let hour = first; hour < end; hour += 1) {
      const more = this.#hour(hour, stream, series, state);
      if (more !== null) sums.merge(more);
    }
    return sums.readings === 0 ? null : sums;
  }

  isGone(finer: "readings" | "hours", range: Omit<HourQuery, "span" | "values">): boolean {
    const stream = this.#find(range.sensor, range.kind);
    if (stream === null) return false;
    return finer === "hours" ? this.#hasMerged(range) : this.#hasLeft(stream, range);
  }

  #hasMerged(range: Omit<HourQuery, "span" | "values">): boolean {
    const mergedMs = this.#rows.state().hoursFrom * HOUR_MS;
    if (range.fromMs >= mergedMs) return false;
    const toMs = Math.min(range.toMs, mergedMs);
    // The day in which the range begins counts, too.
    const fromMs = Math.floor(range.fromMs / DAY_MS) * DAY_MS;
    return !this.points({ ...range, fromMs, toMs, span: "days", values: [] }).next().done;
  }

  #hasLeft(stream: number, range: Omit<HourQuery, "span" | "values">): boolean {
    if (this.#hasMerged(range)) return true;
    const fromMs = Math.floor(range.fromMs / HOUR_MS) * HOUR_MS;
    for (const point of this.points({ ...range, fromMs, span: "hours", values: [] })) {
      const stored = this.#db.read<{ count: number }>(STORED_COUNT_SQL);
      const count = stored.get(point.startMs / HOUR_MS, stream)?.count ?? 0;
      if (point.readings > count) return true;
    }
    return false;
  }

  firstMs(sensor: string, kind: Kind): number | null {
    const all = { sensor, kind, fromMs: -EVER_MS, toMs: EVER_MS, values: [] };
    const { value: day } = this.points({ ...all, span: "days" }).next();
    if (day === undefined) return null;
    const range = { fromMs: day.startMs, toMs: day.startMs + DAY_MS };
    const { value: hour } = this.points({ ...all, ...range, span: "hours" }).next();
    return (hour ?? day).startMs;
  }

  sinceMs(): number | null {
    const { fromMs } = this.#extent();
    return Number.isFinite(fromMs) ? fromMs : null;
  }

  #storedHour(sql: string): number | null {
    return this.#db.read<{ hour: number }>(sql).get()?.hour ?? null;
  }

  #find(sensor: string, kind: Kind): number | null {
    const known = this.#streams.find(sensor, kind);
    if (known === null) this.#streams.loadNewer();
    return (known ?? this.#streams.find(sensor, kind))?.stream ?? null;
  }
}
