/**
 * Decides, whenever samples are about to be removed, whether their measurement is one that stays for years; thins out
 * what stays, and holds it to its share of the buffer. Nothing is in memory but decisions, which may be made again.
 */
import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { KeptState, KeptWhy } from "../../core/query/measurements.ts";
import { DAY_MS } from "../../core/time-units.ts";
import type {
  CreateKeeping,
  Keeping,
  KeepingParts,
  MeasuredMachines,
  MeasurementPlace,
  NotedChanges,
} from "../../pipeline/store/keeping.ts";
import { KeptMeasurements } from "./kept-measurements.ts";
import { ALARM_RANK, type Facts, idOf, KeptRows, MUST_STAY_RANK } from "./kept-rows.ts";
import {
  bestOf,
  DAY,
  isBetter,
  MONTH,
  periodOf,
  type Rated,
  type Rung,
  rungEndMs,
  WEEK,
} from "./rules/ladder.ts";

type KeptSize = Pick<KeptState, "measurements" | "pins" | "bytes">;
const NOTHING_KEPT: KeptSize = { measurements: 0, pins: 0, bytes: 0 };
const SIZE_SQL = `SELECT count(*) AS measurements, total(bytes) AS bytes,
  (SELECT count(*) FROM kept_marks WHERE why = 'pin') AS pins FROM kept_measurements`;

type Fate = ReturnType<Keeping["mayGo"]>;

/** Kept measurements own what they hold, up to this share of the buffer. */
const SHARE = 1 / 4;
const NOWHERE: Facts = { running: null, isRunning: true, speedRpm: null, usualRpm: null };
/** How far back the newest measurement before an alarm is searched, ms. */
const BEFORE_MS = 7 * DAY_MS;
/** Decisions remembered while space is freed. */
const DAYS_MAX = 5_000;
/** In a full file nothing is moved unless this many pages are free: the move itself needs a few. */
const MOVE_PAGES = 16;
/** Removed together with one that is taken, at most. */
const TRIMMED_MAX = 20;
/** Before every measurement, ms. */
const EVER_MS = -1e15;

export const createKeeper: CreateKeeping = (...of) => new Keeper(...of);

class Keeper implements Keeping {
  readonly #parts: KeepingParts;
  readonly #rows: KeptRows;
  readonly kept: KeptMeasurements;
  readonly #isOn: boolean;
  readonly #limitBytes: number;
  machines: MeasuredMachines | null = null;
  /** The best of a stream's day, by both. */
  readonly #best = new Map<string, string | null>();
  isWaiting = false;
  #isFull = false;
  #size: KeptSize = NOTHING_KEPT;

  constructor(parts: KeepingParts, wholeMs: number, bufferBytes: number) {
    this.#parts = parts;
    this.#rows = new KeptRows(parts.db);
    this.kept = new KeptMeasurements(parts);
    this.#isOn = wholeMs > 0;
    this.#limitBytes = bufferBytes * SHARE;
  }

  async refresh(nowMs: number): Promise<void> {
    this.#best.clear();
    this.isWaiting = false;
    if (this.#isOn) await this.machines?.refresh(nowMs);
  }

  /* ---------- samples that are due ---------- */

  mayGo(place: MeasurementPlace, untilMs: number | null): Fate {
    if (!this.#isOn || !this.#rows.hasSamples(place)) return "goes";
    const fate = this.#fateOf(place, untilMs);
    if (fate === "goes") this.#rows.unmark(place);
    return fate;
  }

  #fateOf(place: MeasurementPlace, untilMs: number | null): Fate {
    const isAwaited = untilMs !== null && this.#isAwaited(place);
    this.isWaiting ||= isAwaited;
    if (isAwaited) return "waits";
    const isBest = this.#isBest(place, untilMs);
    const markRank = this.#rows.markRank(place);
    if (markRank === 0 && !isBest) return "goes";
    if (untilMs === null && !this.#canMove()) return markRank === 0 ? "goes" : "waits";
    const isOver = untilMs === null || periodOf(DAY, place.timeMs).toMs <= untilMs;
    if (markRank === 0 && !isOver) return "waits";
    return this.#take(place, isBest ? DAY : 0, markRank) ? "stays" : "goes";
  }

  #isAwaited({ stream, timeMs }: MeasurementPlace): boolean {
    return this.machines?.isAwaited(this.#parts.streams.get(stream).sensor, timeMs) ?? false;
  }

  #canMove(): boolean {
    const pages = (name: string) => Number(this.#parts.db.writer.pragma(name, { simple: true }));
    const free = pages("freelist_count") + pages("max_page_count") - pages("page_count");
    return free >= MOVE_PAGES;
  }

  #isBest({ stream, timeMs, id }: MeasurementPlace, untilMs: number | null): boolean {
    const day = periodOf(DAY, timeMs);
    const key = `${stream}/${day.fromMs}/${untilMs === null}`;
    let best = this.#best.get(key);
    if (best === undefined) {
      best = this.#bestOf(stream, day.fromMs, day.toMs, untilMs);
      if (this.#best.size >= DAYS_MAX) this.#best.clear();
      this.#best.set(key, best);
    }
    return best === id;
  }

  #bestOf(stream: number, fromMs: number, toMs: number, untilMs: number | null): string | null {
    const kept = this.#rows.onRung(stream, DAY, fromMs, toMs);
    // One of a day is enough where space is short: no other takes its place.
    if (untilMs === null && kept.length > 0) return null;
    const due = this.#rows
      .candidates(stream, fromMs, Math.min(toMs, untilMs ?? toMs))
      .filter((place) => !this.#rows.isDamaged(place));
    const best = bestOf([...kept, ...due.map((place) => ({ ...place, ...this.#factsOf(place) }))]);
    return best?.id ?? null;
  }

  #factsOf({ stream, timeMs }: MeasurementPlace): Facts {
    if (this.machines === null) return NOWHERE;
    const { sensor } = this.#parts.streams.get(stream);
    return {
      ...this.machines.at(sensor, timeMs),
      usualRpm: this.machines.usualRpm(sensor),
    };
  }

  #take(place: MeasurementPlace, rung: Rung | 0, markRank: number): boolean {
    const rank = Math.max(rung, markRank);
    const held = this.#isPinned(place) ? 0 : this.#rows.bytesHeld;
    const taken = this.#rows.bytesAbove(rank, rank === MUST_STAY_RANK ? EVER_MS : place.timeMs);
    this.#isFull = taken + held + this.#rows.bytesOf(place) > this.#limitBytes;
    if (this.#isFull || !this.#rows.take(place, this.#factsOf(place), rung)) return false;
    if (rung !== 0) this.#compete({ ...place, ...this.#factsOf(place) }, rung);
    this.trim(TRIMMED_MAX);
    return true;
  }

  #isPinned({ stream, timeMs, id }: MeasurementPlace): boolean {
    const sql =
      "SELECT 1 FROM kept_marks WHERE stream = ? AND time_ms = ? AND reading_id = ? AND why = 'pin'";
    return this.#parts.db.write(sql).get(stream, timeMs, idOf(id)) !== undefined;
  }

  /* ---------- thinning ---------- */

  /** The best of a period stays on its rung, the others leave the ladder. */
  #compete(one: MeasurementPlace & Rated, rung: Rung): void {
    const { fromMs, toMs } = periodOf(rung, one.timeMs);
    for (const other of this.#rows.onRung(one.stream, rung, fromMs, toMs)) {
      if (other.id === one.id && other.timeMs === one.timeMs) continue;
      this.#leave(isBetter(one, other) ? other : one);
    }
  }

  #leave(place: MeasurementPlace): void {
    this.#rows.setRung(place, 0);
    if (this.#rows.kept(place)?.rank === 0) this.#rows.remove(place);
  }

  /** Thins out what has become older than its rung; returns the number of rows examined. */
  thin(wholeUntilMs: number, rowsMax: number): number {
    let rows = 0;
    for (const [rung, next] of [
      [DAY, WEEK],
      [WEEK, MONTH],
    ] as const) {
      for (const row of this.#rows.leaving(rung, rungEndMs(rung, wholeUntilMs), rowsMax)) {
        this.#rows.setRung(row, next);
        this.#compete(row, next);
        rows += 1;
      }
    }
    return rows;
  }

  /** Down to the share of the buffer, and to what has a reason to stay; returns the number of measurements removed. */
  trim(rowsMax: number): number {
    for (let removed = 0; removed < rowsMax; removed++) {
      const isOver = this.#rows.bytesAbove(0, EVER_MS) > this.#limitBytes;
      const place = this.#rows.lowest(isOver ? MUST_STAY_RANK : DAY);
      if (place === null) return removed;
      this.#rows.remove(place);
    }
    return rowsMax;
  }

  /* ---------- what always stays ---------- */

  /** Marks the measurements at which alarms and findings rose, and those that completed a baseline. */
  note({ events, completed = [] }: NotedChanges): void {
    if (!this.#isOn) return;
    for (const event of events) this.#noteEvent(event);
    for (const { sensor, kind, baseline, ...reading } of completed) {
      // A reading of bands has no samples of its own: its record's are kept.
      const isDerived = kind === "bands";
      const place = isDerived
        ? this.#newestBefore(sensor, reading.timeMs)
        : this.#measurementOf(sensor, reading);
      if (place !== null) this.#mark(place, "baseline", `${sensor}/${baseline}`);
    }
  }

  #noteEvent(event: AlarmEvent): void {
    const { sensor, alarm, value, kind, timeMs, readingId, severity } = event;
    if (event.state !== "active" || event.historical) return;
    const isRise = timeMs === event.raisedMs;
    const stream = this.#parts.streams.find(sensor, kind)?.stream;
    const isReading =
      stream !== undefined && this.#rows.hasReading({ stream, timeMs, id: readingId });
    // What people do with an alarm is reported too; so is one that gets worse.
    if (!isRise && !(isReading && severity === "alarm")) return;
    const own = kind === "accel" ? { timeMs, id: readingId } : null;
    const place = (own && this.#measurementOf(sensor, own)) ?? this.#newestBefore(sensor, timeMs);
    if (place === null) return;
    this.#mark(place, alarm === "finding" ? "finding" : "alarm", `${sensor}/${alarm}/${value}`);
  }

  #measurementOf(
    sensor: string,
    at: Pick<MeasurementPlace, "timeMs" | "id">,
  ): MeasurementPlace | null {
    const stream = this.#parts.streams.find(sensor, "accel")?.stream;
    if (stream === undefined) return null;
    const place = { stream, timeMs: at.timeMs, id: at.id };
    return this.#rows.hasSamples(place) ? place : null;
  }

  /** The machine's newest; of the same time rather that of the sensor itself, which stands first. */
  #newestBefore(sensor: string, timeMs: number): MeasurementPlace | null {
    let newest: MeasurementPlace | null = null;
    for (const code of this.machines?.together(sensor) ?? [sensor]) {
      const stream = this.#parts.streams.find(code, "accel")?.stream;
      const found =
        stream === undefined ? null : this.#rows.newestBefore(stream, timeMs, BEFORE_MS);
      if (found !== null && (newest === null || found.timeMs > newest.timeMs)) newest = found;
    }
    return newest;
  }

  #mark({ stream, timeMs, id }: MeasurementPlace, why: KeptWhy, subject: string): void {
    const { db } = this.#parts;
    const isFirst =
      db.write("SELECT 1 FROM kept_marks WHERE why = ? AND subject = ?").get(why, subject) ===
      undefined;
    const rank = isFirst || why === "baseline" ? MUST_STAY_RANK : ALARM_RANK;
    db.write("INSERT OR IGNORE INTO kept_marks VALUES (?, ?, ?, ?, ?, NULL, ?, 0)").run(
      stream,
      timeMs,
      idOf(id),
      why,
      subject,
      rank,
    );
    this.#rows.rerank({ stream, timeMs, id });
  }

  /* ---------- for status ---------- */

  get state(): KeptState {
    return { ...this.#size, limitBytes: this.#limitBytes, isFull: this.#isFull };
  }

  measure(): void {
    this.#size = this.#parts.db.read<KeptSize>(SIZE_SQL).get() ?? NOTHING_KEPT;
  }
}
