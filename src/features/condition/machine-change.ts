/** What changed on machines, gathered from what is stored. */

import type { Change } from "../../core/condition/words.ts";
import { median } from "../../core/lists/median.ts";
import { undamagedValues } from "../../core/record/damaged-record.ts";
import { isChangeOf } from "../../core/scaling.ts";
import { type Kind, readingKinds, type Sensor, sameCode } from "../../core/sensor.ts";
import {
  isDatedAhead,
  type StoredReading,
  storedAttributes,
  storedUnits,
  storedValues,
} from "../../core/stored-reading.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { valueMount } from "../../core/value-mount.ts";
import { zoneLimits } from "../../pipeline/signal/severity.ts";
import type { ConditionParts } from "./condition-parts.ts";
import { changeOf, MONTH_BACK, MONTH_REACH } from "./rules/change.ts";
import type { OpenAlarm } from "./rules/condition.ts";
import { zoneSince } from "./zone-since.ts";

type ChangeParts = Pick<
  ConditionParts,
  "history" | "hours" | "dayMedians" | "measurements" | "alarms" | "scaleChanges" | "timezone"
>;

/** Readings of a day that are looked at, at most: more often than this, the newest say enough. */
const READINGS_MAX = 200;

/** The value that says most about a machine. */
interface WorstValue {
  readonly sensor: Sensor;
  readonly kind: Kind;
  readonly value: string;
}

export interface MachineChange {
  readonly changed: Change | null;
  /** Day of the last change of its zone, as ISO text of 00:00 UTC. */
  readonly zoneSince: string | null;
}

/** @param alarms those that make the condition, the worst first */
export function machineChange(
  parts: ChangeParts,
  sensors: readonly Sensor[],
  alarms: readonly OpenAlarm[],
  nowMs: number,
): MachineChange {
  const worst = worstValue(parts, sensors, alarms);
  return {
    changed: worst === null ? null : compared(parts, worst, nowMs),
    zoneSince: zoneSince(parts, sensors, nowMs),
  };
}

/**
 * That of the worst alarm, where it is about a number; else the velocity, or without any the value of a rule, that is
 * nearest to, or furthest beyond, its limit.
 */
function worstValue(
  parts: ChangeParts,
  sensors: readonly Sensor[],
  alarms: readonly OpenAlarm[],
): WorstValue | null {
  const { history } = parts;
  for (const alarm of alarms) {
    const sensor = sensors.find(({ code }) => sameCode(code, alarm.sensor));
    for (const kind of sensor === undefined ? [] : readingKinds(sensor)) {
      const values = valuesOf(history.latest(alarm.sensor, kind));
      if (sensor !== undefined && typeof values[alarm.value] === "number")
        return { sensor, kind, value: alarm.value };
    }
  }
  let worst: (WorstValue & { readonly share: number }) | null = null;
  for (const sensor of sensors.filter(({ kinds }) => kinds.includes("accel"))) {
    const limit = zoneLimits(sensor)?.[1] ?? null;
    for (const [value, number] of Object.entries(valuesOf(history.latest(sensor.code, "accel")))) {
      if (typeof number !== "number" || !value.endsWith("_vel_rms")) continue;
      // Without limits, after all that have some.
      const share = limit === null ? -1 / (1 + number) : number / limit;
      if (worst === null || share > worst.share) worst = { sensor, kind: "accel", value, share };
    }
  }
  return worst ?? worstOfRules(parts, sensors);
}

function worstOfRules(
  { alarms, history }: ChangeParts,
  sensors: readonly Sensor[],
): WorstValue | null {
  let worst: (WorstValue & { readonly share: number }) | null = null;
  for (const sensor of sensors) {
    for (const { kind, value, high, highHigh } of alarms?.limits(sensor.code) ?? []) {
      const number = valuesOf(history.latest(sensor.code, kind))[value];
      const limit = high ?? highHigh;
      if (typeof number !== "number" || value === "battery") continue;
      // One that has only a low limit, or a limit of 0, comes last.
      const share = limit === null || limit <= 0 ? Number.NEGATIVE_INFINITY : number / limit;
      if (worst === null || share > worst.share) worst = { sensor, kind, value, share };
    }
  }
  return worst;
}

function compared(parts: ChangeParts, { sensor, kind, value }: WorstValue, nowMs: number): Change {
  const today = Math.floor(nowMs / DAY_MS);
  const latest = parts.history.latest(sensor.code, kind);
  const unit = latest === null ? null : (storedUnits(latest)[value] ?? null);
  const sinceMs = comparableSinceMs(parts, { sensor, kind, value });
  const from = Math.max(today - MONTH_BACK - MONTH_REACH, Math.ceil(sinceMs / DAY_MS));
  const to = today - MONTH_BACK + MONTH_REACH + 1;
  const days = from < to ? daysOf(parts, { sensor, kind, value }, unit, from, to) : [];
  const firstMs = parts.hours.firstMs(sensor.code, kind);
  return changeOf({
    sensor,
    value,
    unit,
    now: medianOf(numbersSince(parts, { sensor, kind, value }, nowMs, sinceMs)),
    month: medianOf(days),
    pin: pinned(parts, { sensor, kind, value }, sinceMs),
    baseline:
      (parts.alarms?.baselines(sensor.code) ?? []).find(
        (one) => one.value === value && one.machineState !== "standing" && one.status === "learned",
      )?.median ?? null,
    firstDay: firstMs === null ? null : Math.floor(Math.max(firstMs, sinceMs) / DAY_MS),
  });
}

/** When the value was last made one of something else, ms, as where its sensor was moved; 0: never. */
function comparableSinceMs({ scaleChanges }: ChangeParts, { sensor, kind, value }: WorstValue) {
  const changes = scaleChanges?.(sensor.code) ?? [];
  const ofValue = changes.filter((change) => isChangeOf(change, kind, value));
  return Math.max(0, ...ofValue.map(({ timeMs }) => timeMs));
}

/** Of the last day, of the running machine. */
function numbersSince(
  { history }: ChangeParts,
  { sensor, kind, value }: WorstValue,
  nowMs: number,
  sinceMs: number,
): number[] {
  const page = history.page({
    sensor: sensor.code,
    kind,
    fromMs: Math.max(nowMs - DAY_MS, sinceMs),
    toMs: nowMs + 1,
    order: "descending",
    after: null,
    limit: READINGS_MAX,
  });
  return page
    .filter((one) => isOfRunning(one) && !isDatedAhead(one))
    .flatMap((reading) => {
      const number = undamagedValues(reading)[value];
      return typeof number === "number" ? [number] : [];
    });
}

/** A number a day: of values that have no medians of days, the means of hours. */
function daysOf(
  { dayMedians, hours }: ChangeParts,
  { sensor, kind, value }: WorstValue,
  unit: string | null,
  fromDay: number,
  toDay: number,
): number[] {
  const rows = dayMedians.of(sensor.code, kind, fromDay, toDay).flatMap(({ values }) => {
    const row = values[value];
    return row?.unit === unit ? [row] : [];
  });
  const mount = valueMount(sensor, value);
  const days = rows.flatMap((row) => (row.mount === mount ? [row.median] : []));
  // Where it was somewhere else by then, its hours are those of the other machine too.
  if (rows.length > 0) return days;
  const query = { sensor: sensor.code, kind, fromMs: fromDay * DAY_MS, toMs: toDay * DAY_MS };
  return [...hours.points({ ...query, span: "hours", takesDays: true, values: [value] })].flatMap(
    ({ series }) => series.flatMap((one) => (one.unit === unit && one.count > 0 ? [one.mean] : [])),
  );
}

function pinned(
  { measurements, history }: ChangeParts,
  { sensor: { code }, kind, value }: WorstValue,
  sinceMs: number,
): { readonly timeMs: number; readonly number: number } | null {
  if (kind !== "accel") return null;
  const range = { sensor: code, fromMs: sinceMs, toMs: Number.MAX_SAFE_INTEGER };
  const pin = measurements
    .list({ ...range, onlyKept: true, limit: READINGS_MAX })
    .find(({ kept }) => kept.some(({ why }) => why === "pin"));
  if (pin === undefined) return null;
  const { timeMs, reading } = pin;
  const at = { sensor: code, kind, fromMs: timeMs, toMs: timeMs + 1 } as const;
  const stored =
    measurements.readingOf(code, reading) ??
    history
      .page({ ...at, order: "ascending", after: null, limit: READINGS_MAX })
      .find(({ id }) => id === reading);
  const number = stored === undefined ? null : valuesOf(stored)[value];
  return typeof number === "number" ? { timeMs, number } : null;
}

const medianOf = (numbers: readonly number[]) => (numbers.length === 0 ? null : median(numbers));

const valuesOf = (reading: StoredReading | null) => (reading === null ? {} : storedValues(reading));

/** A record of a machine whose state was unknown counts as running, as for zones. */
export const isOfRunning = (reading: StoredReading) =>
  storedAttributes(reading)["machine_state"] !== "standing";
