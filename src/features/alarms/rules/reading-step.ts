/** The effect of one reading on the alarms of its sensor. */

import {
  SHARED_VALUES,
  type Watch,
  watchKey,
  ZONE_HYSTERESIS,
} from "../../../core/alarm/compile.ts";
import type { AlarmEvent } from "../../../core/alarm/event.ts";
import type { FollowedReading } from "../../../core/followed-reading.ts";
import { isOfDamage } from "../../../core/quality.ts";
import type { Kind } from "../../../core/sensor.ts";
import { numberOf } from "../../../core/value-number.ts";
import { decimal } from "../../../pipeline/convert/decimal.ts";
import { baselineKey, learnedAt } from "./baseline.ts";
import { LearnedLevels, type Surroundings } from "./learned-levels.ts";
import {
  type AlarmState,
  asLearned,
  isNothing,
  normalAlarm,
  type SensorAlarms,
  waited,
} from "./sensor-alarms.ts";
import { otherRecordsSentence } from "./sentence.ts";
import { extended } from "./since.ts";
import {
  badReading,
  type Cause,
  goodReading,
  type Subject,
  type Transition,
  transit,
} from "./transitions.ts";
import { type Bounds, NORMAL, type Rank, step } from "./watch-state.ts";
import { zoneBasis } from "./zone-basis.ts";

/** What several kinds of a sensor may give, and this reading has. */
export function sharedValues({
  values,
  quality,
}: Pick<FollowedReading, "values" | "quality">): string[] {
  const isGood = (name: string) =>
    numberOf(values[name]) !== null && quality[name]?.quality !== "bad";
  return SHARED_VALUES.filter(isGood);
}

export class ReadingStep {
  readonly #state: SensorAlarms;
  readonly #around: Surroundings;
  readonly #kind: Kind;
  readonly #reading: FollowedReading;
  readonly events: AlarmEvent[] = [];
  readonly levels: LearnedLevels;

  constructor(state: SensorAlarms, around: Surroundings, kind: Kind, reading: FollowedReading) {
    this.#state = state;
    this.#around = around;
    this.#kind = kind;
    this.#reading = reading;
    this.levels = new LearnedLevels(state, around, reading);
  }

  /** A reading that arrives. @param waits keys of what it waits for. Returns whether it is late */
  take(waits: ReadonlySet<string>): boolean {
    const { timeMs, id } = this.#reading;
    const kindMs = this.#state.newest.get(this.#kind)?.timeMs ?? Number.NEGATIVE_INFINITY;
    const isLate = timeMs <= kindMs;
    const isDirect = (alarm: AlarmState, key: string) =>
      alarm.kind === this.#kind && !waits.has(key);
    if (isLate) this.#enterPast(this.#kind, isDirect);
    for (const watch of this.#around.watches)
      this.#watch(watch, isLate || timeMs < this.#sharedMs(watch.value));
    this.#quality(isLate);
    const shared = sharedValues(this.#reading);
    if (!isLate) this.#state.newest.set(this.#kind, { timeMs, id, shared });
    return isLate;
  }

  /** Until when an alarm on this value has followed other kinds, too. */
  #sharedMs(value: string): number {
    let lastMs = Number.NEGATIVE_INFINITY;
    for (const { timeMs, shared } of this.#state.newest.values())
      if (shared?.includes(value) === true) lastMs = Math.max(lastMs, timeMs);
    return lastMs;
  }

  /** By what depends on the machine's state, once that is known. */
  takeWaited(isLate: boolean): void {
    const { watches } = this.#around;
    const keys = new Set(watches.map(({ key }) => key));
    if (isLate) this.#enterPast(waited(this.#kind), (_alarm, key) => keys.has(key));
    for (const watch of watches) this.#watch(watch, isLate);
  }

  /** Late readings of a day arrive in order; one that goes back starts another run. */
  #enterPast(run: string, isOfRun: (alarm: AlarmState, key: string) => boolean): void {
    const { past, pastMs } = this.#state;
    const before = pastMs.get(run);
    if (before !== undefined && this.#reading.timeMs <= before) {
      for (const [key, alarm] of past) if (isOfRun(alarm, key)) past.delete(key);
    }
    pastMs.set(run, this.#reading.timeMs);
  }

  #watch(watch: Watch, isLate: boolean): void {
    const { machine } = this.#around;
    if (watch.isVibration && machine === "standing") return;
    if (watch.onlyRunning && machine !== "running") return;
    const { values, quality, timeMs, id } = this.#reading;
    const value = numberOf(values[watch.value]);
    // A value of bad quality neither raises nor clears.
    // Nor does one of a damaged record: it is as if there were none.
    if (value === null || quality[watch.value]?.quality === "bad") return;
    if (isOfDamage(quality[watch.value])) return;
    const rank = watch.test.type === "zone" ? zoneRank(values[watch.test.zone]) : undefined;
    if (rank === null) return;
    const known = this.#alarm(watch, isLate);
    const judged = this.#judged(watch, value, known, isLate);
    if (judged === null) {
      if (!isLate) this.#elsewhere(watch, known);
      return;
    }
    const { before, bounds, measured } = judged;
    const seen = { timeMs, value: measured, ...(rank === undefined ? {} : { rank }) };
    const next = step(before.watch, bounds, watch.delay, seen);
    const normalKey = baselineKey(watch.key, before.learnedAt ?? "any");
    const normalMs = isLate ? null : this.#normalMs(normalKey);
    const cause = { readingId: id, timeMs, measured, normalMs };
    const { passing, active } = next.state;
    if (!isLate && passing === null && active === null) this.#state.normalMs.set(normalKey, timeMs);
    this.#keep(
      watch.key,
      transit(before, next.state, next.change, cause, this.#subject(watch.test.type, isLate)),
      isLate,
    );
  }

  /** When it was normal last; after a restart, as far as stored readings say. */
  #normalMs(key: string): number | null {
    const { normalMs } = this.#state;
    const known = normalMs.get(key);
    if (known !== undefined) return known;
    const primedMs = normalMs.get(this.#kind);
    if (primedMs === undefined) return null;
    // The newest stored one may be this, which has waited for its machine's state.
    return primedMs < this.#reading.timeMs ? primedMs : (normalMs.get(waited(this.#kind)) ?? null);
  }

  /**
   * An alarm by a learned level of records of one rate and length, while others come: it ends where these have replaced
   * those, or nothing would ever end it.
   */
  #elsewhere(watch: Watch, known: AlarmState): void {
    const { id, timeMs, record } = this.#reading;
    const { learnedAt: at, elsewhere = 0 } = known;
    if (watch.test.type !== "baseline" || record === undefined || at === undefined) return;
    if (known.watch.active === null || at.endsWith(`#${record.shape}`)) return;
    if (elsewhere + 1 < ELSEWHERE_MAX) {
      this.#state.live.set(watch.key, { ...known, elsewhere: elsewhere + 1 });
      return;
    }
    const { sensor, site } = this.#around;
    const cause: Cause = { readingId: id, timeMs, measured: null };
    const told = { ...known, reason: "configuration_changed" };
    const text = otherRecordsSentence({ site, code: sensor.code, ...watch });
    this.#keep(
      watch.key,
      transit(told, NORMAL, "cleared", cause, this.#subject("baseline", false), text),
      false,
    );
  }

  /** The level that counts, its bounds, and the alarm that follows it; null: this reading says nothing of that. */
  #judged(
    watch: Watch,
    value: number,
    known: AlarmState,
    isLate: boolean,
  ): { readonly before: AlarmState; readonly bounds: Bounds; readonly measured: number } | null {
    const { test } = watch;
    if (test.type === "limits") {
      const bounds = { limits: test.limits, hysteresis: () => test.hysteresis };
      return { before: known, bounds, measured: value };
    }
    if (test.type === "zone") {
      const { values, quality } = this.#reading;
      const name = test.displacement?.value ?? "";
      const peakToPeak = quality[name]?.quality === "bad" ? null : numberOf(values[name]);
      const { level, limits, unit } = zoneBasis(test, value, peakToPeak, known.unit);
      const bounds = { limits, hysteresis: (limit: number) => decimal(limit * ZONE_HYSTERESIS) };
      // The worst of another unit is no worst of this one.
      const before =
        unit === known.unit ? known : { ...known, unit, watch: { ...known.watch, worst: null } };
      return { before, bounds, measured: level };
    }
    const bounds = this.levels.bounds(watch, test, value, { known, isLate });
    if (bounds === null) return null;
    const before = asLearned(known, learnedAt(this.#around.machine, this.#reading.record?.shape));
    return before === null ? null : { before, bounds, measured: value };
  }

  /** `bad_quality`: values that are bad in this reading, and those that were bad and are not any more. */
  #quality(isLate: boolean): void {
    // What a record cannot show is no fault of the sensor.
    if (this.#kind === "bands") return;
    const { quality, values, id, timeMs } = this.#reading;
    const normalMs = isLate ? null : (this.#state.newest.get(this.#kind)?.timeMs ?? null);
    const cause: Cause = { readingId: id, timeMs, measured: null, normalMs };
    const subject = this.#subject(null, isLate);
    // Damage of a record is told once per axis.
    const isDamaged = (value: string) => value.endsWith("_vel_rms") && isOfDamage(quality[value]);
    const isBad = (value: string) => quality[value]?.quality === "bad" || isDamaged(value);
    for (const [value, { reason }] of Object.entries(quality)) {
      if (!isBad(value)) continue;
      const measured = numberOf(values[value]);
      const unit = measured === null ? null : "mm/s";
      const alarm = this.#alarm({ alarm: BAD_QUALITY, kind: this.#kind, value, unit }, isLate);
      const key = watchKey(BAD_QUALITY, value);
      this.#keep(key, badReading(alarm, reason, { ...cause, measured }, subject), isLate);
    }
    for (const [key, { alarm, kind, value }] of isLate ? this.#state.live : []) {
      if (alarm !== BAD_QUALITY || kind !== this.#kind) continue;
      if (Object.hasOwn(values, value) && !isBad(value)) this.#extend(key, false);
    }
    for (const [key, alarm] of isLate ? this.#state.past : this.#state.live) {
      if (alarm.alarm !== BAD_QUALITY || alarm.kind !== this.#kind) continue;
      if (!Object.hasOwn(values, alarm.value) || isBad(alarm.value)) continue;
      const measured = numberOf(values[alarm.value]);
      this.#keep(key, goodReading(alarm, { ...cause, measured }, subject), isLate);
    }
  }

  /** A late reading may say that the machine has shown a live condition for longer than was known. */
  #extend(key: string, isShown: boolean): void {
    const alarm = this.#state.live.get(key);
    if (!alarm?.since) return;
    const since = extended(alarm.since, this.#reading.timeMs, isShown);
    this.#state.live.set(key, { ...alarm, since });
  }

  #subject(type: Subject["type"], isHistorical: boolean): Subject {
    const { site, sensor } = this.#around;
    return { site, sensor, type, isHistorical };
  }

  #alarm(of: Pick<AlarmState, "alarm" | "kind" | "value" | "unit">, isLate: boolean): AlarmState {
    const alarms = isLate ? this.#state.past : this.#state.live;
    return alarms.get(watchKey(of.alarm, of.value)) ?? normalAlarm(of);
  }

  #keep(key: string, { state, event }: Transition, isLate: boolean): void {
    const alarms = isLate ? this.#state.past : this.#state.live;
    const isOver = isNothing(state);
    if (isLate) this.#extend(key, state.watch.passing !== null || state.watch.active !== null);
    if (isOver) alarms.delete(key);
    else alarms.set(key, state);
    if (event !== null) this.events.push(event);
  }
}

const BAD_QUALITY = "bad_quality";
/** Records in a row of another rate or length that show that they have replaced the former ones. */
const ELSEWHERE_MAX = 20;

/** Null if the reading has no zone. */
function zoneRank(zone: unknown): Rank | null {
  switch (zone) {
    case "A":
    case "B":
      return 0;
    case "C":
      return 1;
    case "D":
      return 2;
    default:
      return null;
  }
}
