import { type Kind, normalCode, readingKinds, type Sensor } from "../sensor.ts";

/** Which readings a rule evaluates. An omitted or empty member selects all. */
export interface AlarmSelect {
  readonly kinds?: readonly Kind[];
  /** Sensor codes; `*` stands for any characters. */
  readonly sensors?: readonly string[];
  /** Area ids. */
  readonly areas?: readonly number[];
  /** Machine ids. */
  readonly machines?: readonly number[];
  /** Value names; `*` stands for any characters. */
  readonly values?: readonly string[];
}

/** How long a limit must be exceeded before an alarm is raised: one of the two. */
export interface AlarmDelay {
  /** Consecutive readings. */
  readonly readings?: number;
  /** From the first reading beyond the limit to the newest, s. */
  readonly seconds?: number;
}

/** A delay in the form that a watch uses. */
export interface WatchDelay extends AlarmDelay {
  /** Consecutive readings that raise an alarm, if these differ from those of a warning. */
  readonly alarmReadings?: number;
}

interface BaselineRule {
  /** Readings to learn from. */
  readonly readings: number;
  /** Distance of the limit from the learned median, standard deviations. */
  readonly deviations: number;
}

/** A rule of the site file. Limits and hysteresis are in the value's own unit. */
export interface AlarmRule {
  readonly name: string;
  readonly select?: AlarmSelect;
  /** Above: alarm. */
  readonly highHigh?: number;
  /** Above: warning. */
  readonly high?: number;
  /** Below: warning. */
  readonly low?: number;
  /** Below: alarm. */
  readonly lowLow?: number;
  /** How far back from the limit a value must be to end the alarm. */
  readonly hysteresis?: number;
  readonly delay?: AlarmDelay;
  /** Readings taken while the machine is stopped, or may be, are skipped. */
  readonly onlyRunning?: boolean;
  readonly baseline?: BaselineRule;
}

/** Names of the alarms that need no configuration, and of the findings that share their topic. */
export const RESERVED_NAMES = ["zone", "battery_low", "silent", "bad_quality", "finding"] as const;

/** Whether a text matches a pattern in which `*` stands for any characters. */
export function matchesGlob(pattern: string, text: string): boolean {
  const parts = pattern.split("*");
  const first = parts[0] ?? "";
  if (parts.length === 1) return pattern === text;
  const last = parts.at(-1) ?? "";
  if (!text.startsWith(first) || text.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.endsWith(last) && text.length - last.length >= at;
}

/** Whether one of several patterns matches; no patterns match all. */
export function matchesAny(patterns: readonly string[] | undefined, text: string): boolean {
  if (patterns === undefined || patterns.length === 0) return true;
  return patterns.some((pattern) => matchesGlob(pattern, text));
}

/** Whether a pattern selects this sensor: leading zeros of a plain serial number do not count. */
export function matchesCode(pattern: string, code: string): boolean {
  return matchesGlob(normalCode(pattern), normalCode(code)) || matchesGlob(pattern, code);
}

/** Whether a rule applies to a sensor at all. @param codes that may be selected: its own, and those it replaces */
export function selectsSensor(
  select: AlarmSelect | undefined,
  sensor: Sensor,
  codes: readonly string[] = [sensor.code],
): boolean {
  if (select === undefined) return true;
  const { sensors = [], areas = [], machines = [] } = select;
  const isNamed = (pattern: string) => codes.some((code) => matchesCode(pattern, code));
  if (sensors.length > 0 && !sensors.some(isNamed)) return false;
  const { location } = sensor;
  if (areas.length > 0 && (location === undefined || !areas.includes(location.area))) return false;
  return machines.length === 0 || (location !== undefined && machines.includes(location.machine));
}

/** Kinds of a sensor that a rule evaluates. */
export function selectedKinds(select: AlarmSelect | undefined, sensor: Sensor): readonly Kind[] {
  const kinds = select?.kinds ?? [];
  const own = readingKinds(sensor);
  return kinds.length === 0 ? own : own.filter((kind) => kinds.includes(kind));
}
