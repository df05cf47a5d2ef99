/** The effect of one reading on the alarms of its sensor. */
import { decimal } from "../../pipeline/convert/decimal.ts";
import { isOfDamage } from "../quality.ts";
import type { Kind, Sensor } from "../sensor.ts";
import type { Site } from "../site.ts";
import { numberOf } from "../value-number.ts";
import {
  type BaselineState,
  baselineBounds,
  firstAt,
  follow as followBaseline,
  learn,
  UNLEARNED,
} from "./baseline.ts";
import {
  type BaselineTest,
  SHARED_VALUES,
  type Watch,
  watchKey,
  ZONE_HYSTERESIS,
} from "./compile.ts";
import type { AlarmEvent } from "./event.ts";
import type { FollowedReading, MachineState } from "./follow-up.ts";
import {
  type AlarmState,
  inState,
  isNothing,
  normalAlarm,
  type SensorAlarms,
} from "./sensor-alarms.ts";
import { extended } from "./since.ts";
import {
  badReading,
  type Cause,
  goodReading,
  type Subject,
  type Transition,
  transit,
} from "./transitions.ts";
import { type Bounds, type Rank, step } from "./watch-state.ts";
import { zoneBasis } from "./zone-basis.ts";

export interface Surroundings {
  readonly site: Site;
  readonly sensor: Sensor;
  readonly watches: readonly Watch[];
  /** Whether some signal shows when the sensor's machine runs. */
  readonly hasRunning: boolean;
  readonly machine: MachineState | null;
  /** Learning samples of this sensor so far, by baseline. */
  readonly samples: (baseline: string) => number[];
}

/** What a reading adds to the samples of the sensor: by baseline, value and zone. */
export type Learned = Record<string, readonly [value: number, zone: string | null]>;

/** What several kinds of a sensor may give, and this reading has. */
export function sharedValues({
  values,
  quality,
}: Pick<FollowedReading, "values" | "quality">): string[] {
  const isGood = (name: string) =>
    numberOf(values[name]) !== null && quality[name]?.quality !== "bad";
  return SHARED_VALUES.filter(isGood);
}

/** One reading in this many moves the slow baseline, selected by its id, so that it rarely causes a write. */
const SLOW_EVERY = 16;

export class ReadingStep {
  readonly #state: SensorAlarms;
  readonly #around: Surroundings;
  readonly #kind: Kind;
  readonly #reading: FollowedReading;
  readonly events: AlarmEvent[] = [];
  learned: Learned | null = null;
  /** Baselines that this reading completed. */
  readonly completed: string[] = [];

  constructor(state: SensorAlarms, around: Surroundings, kind: Kind, reading: FollowedReading) {
    this.#state = state;
    this.#around = around;
    this.#kind = kind;
    this.#reading = reading;
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
    if (isLate) this.#enterPast(`${this.#kind} waited`, (_alarm, key) => keys.has(key));
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
    if (judged === null) return;
    const { before, bounds, measured } = judged;
    const seen = { timeMs, value: measured, ...(rank === undefined ? {} : { rank }) };
    const next = step(before.watch, bounds, watch.delay, seen);
    const normalKey = baselineKey(watch.key, before.learnedAt ?? null);
    const normalMs = isLate ? null : (this.#state.normalMs.get(normalKey) ?? null);
    const cause = { readingId: id, timeMs, measured, normalMs };
    const { passing, active } = next.state;
    if (!isLate && passing === null && active === null) this.#state.normalMs.set(normalKey, timeMs);
    this.#keep(
      watch.key,
      transit(before, next.state, next.change, cause, this.#subject(watch.test.type, isLate)),
      isLate,
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
    const { machine } = this.#around;
    const bounds = this.#baselineBounds(watch, test, value, isLate);
    if (bounds === null) return null;
    const before = machine === null ? known : inState(known, machine);
    return before === null ? null : { before, bounds, measured: value };
  }

  #baselineBounds(watch: Watch, test: BaselineTest, value: number, isLate: boolean): Bounds | null {
    const { hasRunning, machine } = this.#around;
    // Running and stopped have separate baselines; while the state is unknown, neither applies.
    if (hasRunning && machine === null) return null;
    const key = baselineKey(watch.key, machine);
    const { baselines, live } = this.#state;
    const before = this.#baseline(key);
    if (before.first === null) {
      if (!isLate) this.#learn(key, test, value);
      return null;
    }
    // How far the slow one has followed when a late reading comes depends on when it comes.
    if (isLate) return baselineBounds(firstAt(before, this.#reading.timeMs), test);
    const bounds = baselineBounds(before, test);
    if (bounds === null || live.get(watch.key) !== undefined) return bounds;
    const { high, low } = bounds.limits;
    const isNormal = value <= (high ?? value) && value >= (low ?? value);
    if (isNormal && Number.parseInt(this.#reading.id.slice(0, 2), 16) % SLOW_EVERY === 0)
      baselines.set(key, followBaseline(before, test, value, SLOW_EVERY));
    return bounds;
  }

  /** One that was learned from records of another shape does not count. */
  #baseline(key: string): BaselineState {
    const known = this.#state.baselines.get(key) ?? UNLEARNED;
    const shape = this.#reading.record?.shape;
    const isOther = known.shape !== undefined && shape !== undefined && known.shape !== shape;
    return isOther ? { ...UNLEARNED, from: this.#state.nextSample } : known;
  }

  #learn(key: string, test: BaselineTest, value: number): void {
    const { timeMs, values, record } = this.#reading;
    // Bands of a machine in zone C or D are not its normal state.
    if (record?.zone === "C" || record?.zone === "D") return;
    const before = {
      ...this.#baseline(key),
      ...(record === undefined ? {} : { shape: record.shape }),
    };
    const text = test.zone === null ? null : values[test.zone];
    const zone = typeof text === "string" ? text : null;
    const next = learn(before, this.#around.samples(key), test, { value, timeMs, zone });
    this.#state.baselines.set(key, next);
    if (next.first !== null) this.completed.push(key);
    this.learned ??= {};
    this.learned[key] = [value, zone];
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

/** The baseline of a watch in one running state; if nothing shows whether the machine runs, there is one for all. */
function baselineKey(watch: string, machine: MachineState | null): string {
  return `${watch}@${machine ?? "any"}`;
}

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
