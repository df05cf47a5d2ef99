/** Compiles the site file's rules and the built-in ones into watches: one per (rule, sensor, value). */
import { hasZone } from "../../pipeline/convert/accel.ts";
import { decimal } from "../../pipeline/convert/decimal.ts";
import { DISPLACEMENT_LIMITS, zoneLimits } from "../../pipeline/signal/severity.ts";
import { formerCodes } from "../replacement.ts";
import { scalesOf } from "../scaling.ts";
import { type Kind, normalCode, readingKinds, type Sensor } from "../sensor.ts";
import type { KindValue } from "../sensors/kind-values.ts";
import { type Site } from "../site.ts";
import {
  type AlarmDelay,
  type AlarmRule,
  matchesAny,
  selectedKinds,
  selectsSensor,
  type WatchDelay,
} from "./rule.ts";
import { alarmValues } from "./values.ts";

export type Limits = Pick<AlarmRule, "highHigh" | "high" | "low" | "lowLow">;

export type WatchTest =
  | { readonly type: "limits"; readonly limits: Limits; readonly hysteresis: number }
  /**
   * `zone` is the name of the zone value; the limits are those of the machine class, mm/s. `displacement`: where that makes the
   * zone too, by its value of a reading (peak to peak, um) and the limits of the class (RMS, um).
   */
  | {
      readonly type: "zone";
      readonly zone: string;
      readonly limits: Limits;
      readonly displacement: { readonly value: string; readonly limits: Limits } | null;
    }
  | BaselineTest;

export interface BaselineTest {
  readonly type: "baseline";
  readonly readings: number;
  readonly deviations: number;
  /** Null: back to the median. */
  readonly hysteresis: number | null;
  /** A fall is watched as well: for everything except vibration. */
  readonly isTwoSided: boolean;
  /** The upper limit is at least this multiple of the median; 0: any. */
  readonly leastRatio: number;
  /** Never looser than this, in the value's unit: zone B/C of the class; null without one. */
  readonly cap: number | null;
  /** The zone of the same channel, if it has one. */
  readonly zone: string | null;
}

export interface Watch {
  readonly alarm: string;
  readonly sensor: string;
  readonly kind: Kind;
  readonly value: string;
  /** `alarm/value`: unique among the alarms of one sensor. */
  readonly key: string;
  readonly unit: string | null;
  readonly test: WatchTest;
  readonly delay: WatchDelay;
  readonly onlyRunning: boolean;
  /** Ignored while the machine is stopped. */
  readonly isVibration: boolean;
}

/** A value is watched in the order of its own kind's readings or, if any kind may carry it, of all the sensor's. */
export const SHARED_VALUES: readonly string[] = ["battery", "module_temperature"];

/** A vibration alarm by a baseline needs at least this multiple of what was learned. */
const VIBRATION_RISE = 1.2;
/** How far below a zone's boundary a value must fall to leave it, as a share of the boundary: prevents chatter. */
export const ZONE_HYSTERESIS = 0.1;
/** Readings in a row in zone C or worse that raise the warning: one start or surge does not. */
const ZONE_READINGS = 2;
/** The same for a battery, which recovers a little when it is warm, as a share of its limit. */
const BATTERY_HYSTERESIS = 0.02;
const ONE_READING: AlarmDelay = { readings: 1 };
/** One outlier in thousands of readings is not a change of the machine. */
const BASELINE_DELAY: AlarmDelay = { readings: 3 };

export interface CompiledSensor {
  readonly sensor: Sensor;
  readonly watches: ReadonlyMap<Kind, readonly Watch[]>;
  readonly byKey: ReadonlyMap<string, Watch>;
  /** JSON of its `Scales`. */
  readonly scales: string;
  /** Codes of the sensors that were in its place before it. */
  readonly formers: readonly string[];
}

export type CompiledSensors = ReadonlyMap<string, CompiledSensor>;

/** What is watched, by normalised sensor code. @param before the site file until now: what it has alike is taken from it */
export function compileAlarms(
  site: Site,
  before?: { readonly site: Site; readonly sensors: CompiledSensors },
): CompiledSensors {
  const rules = site.alarms ?? [];
  const isAlike =
    before?.site.alarms === site.alarms && before?.site.zoneReadings === site.zoneReadings;
  const known = isAlike ? before?.sensors : undefined;
  const compiledRules = rules.map((rule) => ({ rule, selected: new Map<string, boolean>() }));
  return new Map(
    site.sensors.map((sensor) => {
      const same = known?.get(normalCode(sensor.code));
      // Its formers follow from other sensors too.
      if (same?.sensor === sensor && sensor.replaces === undefined)
        return [normalCode(sensor.code), same];
      const byKey = new Map<string, Watch>();
      const watches = new Map<Kind, readonly Watch[]>();
      const formers = formerCodes(site.sensors, sensor);
      for (const kind of readingKinds(sensor)) {
        const values = alarmValues(sensor, kind);
        const own = [
          ...builtIn(sensor, kind, values, site.zoneReadings ?? ZONE_READINGS),
          ...compiledRules.flatMap((rule) => ruleWatches(rule, sensor, formers, kind, values)),
        ];
        watches.set(kind, own);
        for (const watch of own) if (!byKey.has(watch.key)) byKey.set(watch.key, watch);
      }
      const scales = JSON.stringify(scalesOf(sensor));
      return [normalCode(sensor.code), { sensor, watches, byKey, scales, formers }];
    }),
  );
}

export const watchKey = (alarm: string, value: string) => `${alarm}/${value}`;

function builtIn(
  sensor: Sensor,
  kind: Kind,
  values: readonly KindValue[],
  zoneReadings: number,
): Watch[] {
  const watches: Watch[] = [];
  const zones = kind === "accel" && hasZone(sensor) ? zoneLimits(sensor) : null;
  const { checkDisplacement = false, machineClass } = sensor;
  const um =
    checkDisplacement && machineClass !== undefined ? DISPLACEMENT_LIMITS[machineClass] : undefined;
  if (zones !== null) {
    for (const { name } of values) {
      if (!name.endsWith("_zone")) continue;
      watches.push({
        ...named("zone", sensor, kind, name.replace(/_zone$/, "_vel_rms"), "mm/s"),
        test: {
          type: "zone",
          zone: name,
          limits: { high: zones[1], highHigh: zones[2] },
          displacement:
            um === undefined
              ? null
              : {
                  value: name.replace(/_zone$/, "_disp_pp"),
                  limits: { high: um[1], highHigh: um[2] },
                },
        },
        delay: { readings: zoneReadings, alarmReadings: 1 },
        onlyRunning: false,
        isVibration: true,
      });
    }
  }
  const { batteryLowV } = sensor;
  if (batteryLowV !== undefined) {
    watches.push({
      ...named("battery_low", sensor, kind, "battery", "V"),
      test: {
        type: "limits",
        limits: { low: batteryLowV },
        hysteresis: decimal(batteryLowV * BATTERY_HYSTERESIS),
      },
      delay: ONE_READING,
      onlyRunning: false,
      isVibration: false,
    });
  }
  return watches;
}

function named(alarm: string, sensor: Sensor, kind: Kind, value: string, unit: string | null) {
  return { alarm, sensor: sensor.code, kind, value, unit, key: watchKey(alarm, value) };
}

/** With what it selects of the names that many sensors have, found out once. */
interface CompiledRule {
  readonly rule: AlarmRule;
  readonly selected: Map<string, boolean>;
}

/** A rule that names a sensor goes on with the one that replaces it. */
function ruleWatches(
  { rule, selected }: CompiledRule,
  sensor: Sensor,
  formers: readonly string[],
  kind: Kind,
  values: readonly KindValue[],
): Watch[] {
  if (!selectsSensor(rule.select, sensor, [sensor.code, ...formers])) return [];
  if (!selectedKinds(rule.select, sensor).includes(kind)) return [];
  const { name: alarm, onlyRunning = false } = rule;
  const delay = rule.delay ?? (rule.baseline === undefined ? ONE_READING : BASELINE_DELAY);
  const isRecord = kind === "accel" || kind === "bands";
  const watches: Watch[] = [];
  for (const { name, type, unit } of values) {
    const isSelected = selected.get(name) ?? matchesAny(rule.select?.values, name);
    selected.set(name, isSelected);
    if (type === "string" || !isSelected) continue;
    const isVibration = isRecord && /^channel\d_/.test(name);
    const test = testOf(rule, sensor, kind, name, isVibration);
    const key = watchKey(alarm, name);
    // Written out: of hundreds of sensors there are ten thousands.
    watches.push({
      alarm,
      sensor: sensor.code,
      kind,
      value: name,
      unit,
      key,
      test,
      delay,
      onlyRunning,
      isVibration,
    });
  }
  return watches;
}

function testOf(
  rule: AlarmRule,
  sensor: Sensor,
  kind: Kind,
  value: string,
  isVibration: boolean,
): WatchTest {
  const { baseline, highHigh, high, low, lowLow } = rule;
  if (baseline !== undefined) {
    // A band of one's own may be called vel_rms, and has no class.
    const limits = kind === "accel" && value.endsWith("_vel_rms") ? zoneLimits(sensor) : null;
    const hasLeast = kind === "bands" || /_(vel|env)_rms$/.test(value);
    return {
      type: "baseline",
      readings: baseline.readings,
      deviations: baseline.deviations,
      hysteresis: rule.hysteresis ?? null,
      isTwoSided: !isVibration,
      leastRatio: isVibration && hasLeast ? VIBRATION_RISE : 0,
      cap: limits?.[1] ?? null,
      zone: isVibration && hasZone(sensor) ? `${value.slice(0, "channel1".length)}_zone` : null,
    };
  }
  return {
    type: "limits",
    limits: {
      ...(highHigh === undefined ? {} : { highHigh }),
      ...(high === undefined ? {} : { high }),
      ...(low === undefined ? {} : { low }),
      ...(lowLow === undefined ? {} : { lowLow }),
    },
    hysteresis: rule.hysteresis ?? 0,
  };
}
