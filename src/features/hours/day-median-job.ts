import type { Runtime } from "../../core/ports.ts";
import type { DayMedianStore, DayMedians, DayMediansOf } from "../../core/query/day-medians.ts";
import { type Kind, normalCode, type Sensor, streamKey } from "../../core/sensor.ts";
import type { SiteSource } from "../../core/site-source.ts";
import { isDatedAhead } from "../../core/stored-reading.ts";
import { DAY_MS, HOUR_MS } from "../../core/time-units.ts";
import type { History } from "../../pipeline/store/readings/history.ts";
import type { Wait } from "../machines/api.ts";
import { DayMedianMaker, OUTLOOK_KINDS } from "./rules/day-medians.ts";

interface DayMedianParts extends Runtime {
  readonly site: SiteSource;
  readonly wait: Pick<Wait, "runningOf" | "stateAt">;
  readonly history: Pick<History, "count" | "range" | "streams">;
  readonly rows: DayMedianStore;
  /** How long readings are stored, days. */
  readonly historyDays: number;
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** False while nobody has confirmed that clock: nothing is removed by it. */
  readonly isClockConfirmed: () => boolean;
  /** Other work gets its turn. */
  readonly rest: () => Promise<void>;
}

/** The first look after a start leaves the first reads of the gateway alone. */
const START_MS = 30_000;
/** After a look that changed something: days are being read for the first time, or again. */
const AGAIN_MS = 60_000;
/** Looks take at most this share of the time: those of thousands of sensors last seconds. */
const SHARE_MAX = 0.05;
/** Days that are made anew at every look: the machine's state may become known late. */
const RECENT_DAYS = 2;
/** Days older than any outlook looks back are dropped. */
const KEPT_DAYS = 400;
const READINGS_PER_TURN = 200;

/** Makes the day rows of outlooks once an hour, from readings that are still stored. */
export class DayMedianJob {
  readonly #parts: DayMedianParts;
  /** Days with readings of which nothing tells yet whether the machine ran: a late signal may. */
  readonly #open = new Set<string>();
  /** Days of which no value is known, as of a machine that stood: looked at once after a start. */
  readonly #seen = new Set<string>();
  /** Of this look: sensors of a machine share its signal. */
  readonly #signalCounts = new Map<string, number>();
  /** Readings that were looked at. */
  #walked = 0;

  constructor(parts: DayMedianParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    await clock.sleep(START_MS, signal);
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      let pauseMs = HOUR_MS;
      try {
        const hasChanged = await this.look(signal);
        const tookMs = clock.monotonic() - startedAt;
        if (hasChanged) pauseMs = Math.min(HOUR_MS, Math.max(AGAIN_MS, tookMs / SHARE_MAX));
      } catch (err) {
        logger.warn({ err }, "the medians of days could not be stored; tried again in an hour");
      }
      await clock.sleep(pauseMs, signal);
    }
  }

  /** Every day that is over, whose readings are stored, and that has no row or one made of fewer. True if a row changed. */
  async look(signal: AbortSignal): Promise<boolean> {
    const { gatewayNow, history, historyDays, isClockConfirmed, rest, rows, site } = this.#parts;
    const stored = new Set(history.streams().map(({ sensor, kind }) => nameOf(sensor, kind)));
    const today = Math.floor(gatewayNow() / DAY_MS);
    const changed: DayMediansOf[] = [];
    this.#signalCounts.clear();
    for (const sensor of site.current.sensors) {
      for (const kind of OUTLOOK_KINDS) {
        if (!stored.has(nameOf(sensor.code, kind))) continue;
        const made = new Map(
          rows.of(sensor.code, kind, today - historyDays, today).map((row) => [row.day, row]),
        );
        for (let day = today - historyDays; day < today; day += 1) {
          if (signal.aborted) return false;
          const count = this.#count(sensor, kind, day);
          const row = made.get(day);
          const known = row?.readings ?? 0;
          const isRecent = day >= today - RECENT_DAYS || this.#isOpen(sensor, kind, day, row);
          if (count === 0 || count < known || (count === known && !isRecent)) continue;
          changed.push(...(await this.#make(sensor, kind, day)));
        }
        await rest();
      }
    }
    await rows.put(changed);
    for (const days of [this.#open, this.#seen])
      for (const name of days)
        if (Number(name.slice(name.lastIndexOf(" "))) < today - historyDays) days.delete(name);
    if (isClockConfirmed()) await rows.dropBefore(today - KEPT_DAYS);
    return changed.length > 0;
  }

  /** Whether what is known of the machine's state may have changed since the day was made. */
  #isOpen(sensor: Sensor, kind: Kind, day: number, row: DayMedians | undefined): boolean {
    // A signal that came late may also say something else than the reading before it did.
    if (row !== undefined && (this.#signals(sensor, day) ?? -1) > (row.signals ?? -1)) return true;
    const name = `${nameOf(sensor.code, kind)} ${day}`;
    if (this.#open.has(name)) return true;
    if (row === undefined || Object.keys(row.values).length > 0 || this.#seen.has(name))
      return false;
    this.#seen.add(name);
    return true;
  }

  #count({ code }: Pick<Sensor, "code">, kind: Kind, day: number): number {
    const fromMs = day * DAY_MS;
    return this.#parts.history.count({ sensor: code, kind, fromMs, toMs: fromMs + DAY_MS });
  }

  /** How many readings of its running signal are stored of a day and the one before it; null without a signal. */
  #signals({ code }: Sensor, day: number): number | null {
    const signal = this.#parts.wait.runningOf(code);
    if (signal === null) return null;
    const { sensor, kind } = signal;
    const of = (one: number) => {
      const name = `${nameOf(sensor, kind)} ${one}`;
      const count = this.#signalCounts.get(name) ?? this.#count({ code: sensor }, kind, one);
      this.#signalCounts.set(name, count);
      return count;
    };
    return of(day) + of(day - 1);
  }

  /** None if it is stored already. */
  async #make(sensor: Sensor, kind: Kind, day: number): Promise<DayMediansOf[]> {
    const { history, rest, rows, wait } = this.#parts;
    const maker = new DayMedianMaker(sensor, kind);
    const hasSignal = wait.runningOf(sensor.code) !== null;
    // Before the readings: what comes meanwhile makes the day anew.
    const signals = this.#signals(sensor, day);
    const range = { sensor: sensor.code, kind, fromMs: day * DAY_MS, toMs: (day + 1) * DAY_MS };
    let isUnknown = false;
    for (const reading of history.range(range)) {
      const state = hasSignal ? wait.stateAt(sensor.code, reading.timeMs) : "running";
      isUnknown ||= state === null;
      maker.add(reading, state === "running" && !isDatedAhead(reading));
      this.#walked += 1;
      // Counted over days: a month of them may have fewer each.
      if (this.#walked % READINGS_PER_TURN === 0) await rest();
    }
    const name = `${nameOf(sensor.code, kind)} ${day}`;
    if (isUnknown) this.#open.add(name);
    else this.#open.delete(name);
    const [known] = rows.of(sensor.code, kind, day, day + 1);
    const row = maker.result(day, signals, known);
    if (JSON.stringify(known) === JSON.stringify(row)) return [];
    return [{ sensor: sensor.code, kind, ...row }];
  }
}

const nameOf = (sensor: string, kind: Kind) => streamKey(normalCode(sensor), kind);
