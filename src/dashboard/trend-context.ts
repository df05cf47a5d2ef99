/** Context of a trend: limits, learned baselines, and when alarms were raised. */

import type { BaselineView, LimitView, ShownAlarm } from "../core/alarm/shown.ts";
import type { ShownSensor, Trend } from "../core/query/shown.ts";
import { VELOCITY_LIMITS } from "../pipeline/signal/severity.ts";
import { alarmName } from "./alarm-words.ts";
import type { Api } from "./api.ts";
import { limitsAsRead } from "./as-read.ts";
import type { ChartBand, ChartLevel, ChartMark } from "./chart-spec.ts";
import type { Asking } from "./refresh.ts";
import type { TrendGroup } from "./trend-groups.ts";
import { unitsKept } from "./units-kept.ts";

/** Number of events searched for those of the sensor. */
const EVENTS = 1000;

export interface TrendContext {
  readonly limits: readonly LimitView[];
  readonly baselines: readonly BaselineView[];
  /** Of this sensor, newest first. */
  readonly events: readonly ShownAlarm[];
}
export const NO_CONTEXT: TrendContext = { limits: [], baselines: [], events: [] };

/** Null if alarms are disabled or cannot be read: the trend is drawn without them. */
export async function trendContext(
  api: Api,
  sensor: string,
  asking: Asking,
): Promise<TrendContext | null> {
  try {
    const [limits, baselines, { history }] = await Promise.all([
      api.limits(sensor, asking),
      api.baselines(sensor, asking),
      api.alarms(EVENTS, null, asking),
    ]);
    return { limits, baselines, events: history.filter((event) => event.sensor === sensor) };
  } catch {
    return null;
  }
}

/** Lines of the zones, and of rules other than zones; lines that several channels share are drawn once. */
export function levelsOf(
  group: TrendGroup,
  sensor: ShownSensor | undefined,
  { limits }: TrendContext,
): ChartLevel[] {
  const levels = new Map<string, ChartLevel>();
  const add = (level: ChartLevel) => levels.set(`${level.y} ${level.label}`, level);
  if (group.quantity === "vel_rms" && sensor !== undefined) zoneLevels(sensor).forEach(add);
  for (const limit of limits) {
    if (limit.alarm === "zone" || !isOf(group, limit)) continue;
    const name = alarmName(limit.alarm);
    if (limit.highHigh !== null)
      add({ y: limit.highHigh, label: `${name} high high`, colour: "bad" });
    if (limit.high !== null) add({ y: limit.high, label: `${name} high`, colour: "warn" });
    if (limit.low !== null) add({ y: limit.low, label: `${name} low`, colour: "warn" });
    if (limit.lowLow !== null) add({ y: limit.lowLow, label: `${name} low low`, colour: "bad" });
  }
  return [...levels.values()];
}

function isOf(group: TrendGroup, { kind, value }: { kind: string; value: string }): boolean {
  return kind === group.kind && group.values.some(({ name }) => name === value);
}

/** Limits between the zones, in the reader's unit; null without a class. */
export function zoneBounds({
  machineClass,
  limits,
}: Pick<ShownSensor, "machineClass" | "limits">): readonly number[] | null {
  // Those of the sensor are converted already.
  const ofClass = machineClass === null ? null : VELOCITY_LIMITS[machineClass];
  return limits ?? limitsAsRead(ofClass, unitsKept());
}

function zoneLevels(sensor: ShownSensor): ChartLevel[] {
  return (zoneBounds(sensor) ?? []).map((y, i) => {
    const [better, worse] = ["AB", "BC", "CD"][i] ?? "AB";
    return { y, label: `${better} | ${worse}`, colour: `zone-${worse?.toLowerCase() ?? "d"}` };
  });
}

/** The usual range, by channel; a stopped machine has a different one, which is not drawn. */
export function bandsOf(group: TrendGroup, { baselines }: TrendContext): ChartBand[] {
  return group.values.flatMap(({ name, label }, i) =>
    baselines
      .filter(
        ({ value, machineState, high, low }) =>
          value === name && machineState !== "standing" && (high !== null || low !== null),
      )
      .map(({ low, high }) => ({
        low,
        high,
        label: `${label} normal range`,
        colour: `series-${(i % 4) + 1}`,
      })),
  );
}

/** The progress of learning, in a sentence per channel; empty without a baseline. */
export function baselineWords(group: TrendGroup, { baselines }: TrendContext): string {
  return group.values
    .flatMap(({ name, label }) =>
      baselines
        .filter(({ value, machineState }) => value === name && machineState !== "standing")
        .map(({ status, learned, wanted, alarm }) => {
          if (status === "learning")
            return `${label}: the baseline of ${alarm} is still learning: ${learned} of ${wanted} readings.`;
          if (status === "learned")
            return `${label}: the shaded range is the baseline of ${alarm}.`;
          const zone = status === "zone_c" ? "C" : "D";
          return `${label}: the baseline of ${alarm} was learned in zone ${zone} and is not used.`;
        }),
    )
    .join(" ");
}

/** When what these values are of was set otherwise. */
export function changesOf(group: TrendGroup, { changes = [] }: Trend) {
  const own = new Set(group.values.map(({ name }) => name));
  return changes.filter(({ values }) => values.some((value) => own.has(value)));
}

/** The same as marks; s. */
export function changeMarks(changes: ReturnType<typeof changesOf>): ChartMark[] {
  return changes.map(({ timeMs }) => ({ x: timeMs / 1000, label: "◆ changed", colour: "muted" }));
}

/** When alarms on these values were raised; s. */
export function alarmMarks(group: TrendGroup, { events }: TrendContext): ChartMark[] {
  const marks = new Map<string, ChartMark>();
  for (const event of events) {
    if (!isOf(group, event) || event.raised === undefined) continue;
    const x = Date.parse(event.raised) / 1000;
    const isAlarm = event.severity === "alarm";
    const key = `${event.alarm} ${event.value} ${x}`;
    // Events are newest first: the last severity stands.
    if (!marks.has(key))
      marks.set(key, { x, label: `▲ ${alarmName(event.alarm)}`, colour: isAlarm ? "bad" : "warn" });
  }
  return [...marks.values()].sort((a, b) => a.x - b.x);
}
