/** Since which day a machine is in its zone, gathered from what is stored. */

import type { HourValues } from "../../core/query/ports.ts";
import type { Sensor } from "../../core/sensor.ts";
import { wallClockMs } from "../../core/time/time-zone.ts";
import { DAY_MS, HOUR_MS } from "../../core/time-units.ts";
import { valueMount } from "../../core/value-mount.ts";
import { worstZone, zoneLimits, zoneOf } from "../../pipeline/signal/severity.ts";
import type { ConditionParts } from "./condition-parts.ts";
import { type ZoneChange, type ZoneDay, zoneChange } from "./rules/change.ts";

interface ZoneParts extends Pick<ConditionParts, "dayMedians" | "timezone"> {
  readonly hours: Pick<HourValues, "points">;
}

/** A zone that began earlier is not looked for. */
const ZONE_DAYS = 90;

/** The day of the last change of its zone by the gateway's calendar, as ISO text of 00:00 UTC; null: it never changed. */
export function zoneSince(
  parts: ZoneParts,
  sensors: readonly Sensor[],
  nowMs: number,
): string | null {
  const change = zoneChange(zoneDays(parts, sensors, Math.floor(nowMs / DAY_MS)));
  if (change === null) return null;
  const changedMs = changedAtMs(parts, sensors, change);
  const day =
    changedMs === null
      ? change.day
      : // An hour that is not over yet says nothing of the next day.
        Math.floor(wallClockMs(Math.min(changedMs, nowMs), parts.timezone) / DAY_MS);
  return new Date(day * DAY_MS).toISOString();
}

/** Zones of days by the medians of the running machine's velocities. */
function zoneDays({ dayMedians }: ZoneParts, sensors: readonly Sensor[], today: number): ZoneDay[] {
  const zones = new Map<number, ReturnType<typeof zoneOf>>();
  for (const sensor of sensors) {
    const limits = zoneLimits(sensor);
    if (limits === null) continue;
    for (const { day, values } of dayMedians.of(sensor.code, "accel", today - ZONE_DAYS, today + 1))
      for (const [name, { median: number, mount }] of Object.entries(values)) {
        if (mount !== valueMount(sensor, name)) continue;
        const zone = worstZone([zones.get(day) ?? null, zoneOf(number, limits)]);
        if (zone !== null) zones.set(day, zone);
      }
  }
  return [...zones].sort(([a], [b]) => a - b).map(([day, zone]) => ({ day, zone }));
}

/** An hour in which the machine ran, so far as its velocities tell. */
interface RanHour {
  readonly startMs: number;
  /** In the worse of the two zones. */
  readonly isBad: boolean;
}

/**
 * The hour of a change, ms; null where its hours are gone. A median takes half a UTC day to follow, so that the hour may
 * be one of the day before: the one before and after which the fewest hours are of the other zone, as a peak makes one.
 */
function changedAtMs(
  parts: ZoneParts,
  sensors: readonly Sensor[],
  { day, before, zone }: ZoneChange,
): number | null {
  const isWorse = zone > before;
  const hours = ranHours(parts, sensors, day, isWorse ? zone : before);
  if (!hours.some(({ isBad }) => isBad)) return null;
  const isAfter = ({ isBad }: RanHour) => isBad === isWorse;
  let wrong = hours.filter((hour) => !isAfter(hour)).length;
  let [least, at] = [wrong, 0];
  for (const [index, hour] of hours.entries()) {
    wrong += isAfter(hour) ? 1 : -1;
    if (wrong < least) [least, at] = [wrong, index + 1];
  }
  const first = hours[at];
  return first?.startMs ?? (hours.at(-1)?.startMs ?? 0) + HOUR_MS;
}

/** Hours of the day and the one before. One with less than half of the running machine's velocity is of a standing one. */
function ranHours(
  { dayMedians, hours }: ZoneParts,
  sensors: readonly Sensor[],
  day: number,
  zone: string,
): RanHour[] {
  const found = new Map<number, boolean>();
  for (const sensor of sensors) {
    const limits = zoneLimits(sensor);
    if (limits === null) continue;
    const levels = new Map<string, number>();
    let firstDay = day;
    for (const row of dayMedians.of(sensor.code, "accel", day - 1, day + 1))
      for (const [name, { median, mount }] of Object.entries(row.values)) {
        if (!name.endsWith("_vel_rms") || mount !== valueMount(sensor, name)) continue;
        levels.set(name, Math.min(levels.get(name) ?? median, median));
        firstDay = Math.min(firstDay, row.day);
      }
    const range = { fromMs: firstDay * DAY_MS, toMs: (day + 1) * DAY_MS };
    const query = { sensor: sensor.code, kind: "accel", ...range, span: "hours" } as const;
    for (const { startMs, series } of hours.points({ ...query, values: [...levels.keys()] })) {
      for (const { value, count, min, mean, max } of series) {
        const least = (levels.get(value) ?? Number.POSITIVE_INFINITY) / 2;
        if (count === 0 || max < least) continue;
        // Where it stood for a part of the hour, only the maximum is of the running machine.
        const isBad = zoneOf(min < least ? max : mean, limits) >= zone;
        found.set(startMs, isBad || found.get(startMs) === true);
      }
    }
  }
  const ascending = [...found].sort(([a], [b]) => a - b);
  return ascending.map(([startMs, isBad]) => ({ startMs, isBad }));
}
