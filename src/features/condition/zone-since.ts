/** Since which day a machine is in its zone, gathered from what is stored. */
import { valueMount } from "../../core/hours/day-medians.ts";
import type { HourValues } from "../../core/query/ports.ts";
import type { Sensor } from "../../core/sensor.ts";
import { DAY_MS, HOUR_MS } from "../../core/time-units.ts";
import { wallClockMs } from "../../core/time-zone.ts";
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

/**
 * The hour of a change, ms; null where its hours are gone. A median takes half a UTC day to follow, so that the hour may
 * be one of the day before: the first in a worse zone, or the one after the last in it.
 */
function changedAtMs(
  { hours }: ZoneParts,
  sensors: readonly Sensor[],
  { day, before, zone }: ZoneChange,
): number | null {
  const range = { fromMs: (day - 1) * DAY_MS, toMs: (day + 1) * DAY_MS };
  const least = zone > before ? zone : before;
  const bad = sensors.flatMap((sensor) => {
    const limits = zoneLimits(sensor);
    if (limits === null) return [];
    const query = { sensor: sensor.code, kind: "accel", ...range, span: "hours" } as const;
    return [...hours.points({ ...query, values: null })].flatMap(({ startMs, series }) =>
      series.some(
        ({ value, count, max }) =>
          value.endsWith("_vel_rms") && count > 0 && zoneOf(max, limits) >= least,
      )
        ? [startMs]
        : [],
    );
  });
  if (bad.length === 0) return null;
  return zone > before ? Math.min(...bad) : Math.max(...bad) + HOUR_MS;
}
