/** The outlooks of a machine as the API answers them: `GET /api/v1/machines/{id}/outlook` (plant section 19). */

import type { AlarmAction, BaselineView, LimitView } from "../../../core/alarm/shown.ts";
import type { DayMedianStore, DayMedians } from "../../../core/query/day-medians.ts";
import type { PlaceSpan } from "../../../core/query/place.ts";
import { type Kind, normalCode, type Sensor, sameCode } from "../../../core/sensor.ts";
import { type StoredReading, storedUnits, storedValues } from "../../../core/stored-reading.ts";
import { DAY_MS } from "../../../core/time-units.ts";
import { valueMount } from "../../../core/value-mount.ts";
import { zoneLimits } from "../../../pipeline/signal/severity.ts";
import { hasOutlook, OUTLOOK_KINDS } from "../../hours/api.ts";
import { type DayRow, type Outlook, outlookOf } from "./outlook.ts";
import type { MachineOutlook, OutlookReason, ValueOutlook } from "./words.ts";

export interface OutlookParts {
  readonly rows: Pick<DayMedianStore, "of">;
  /** Its values have an entry before they have a day. */
  readonly newest: (sensor: string, kind: Kind) => Pick<StoredReading, "values" | "units"> | null;
  /** The sensors of its place in order of time, itself the last. */
  readonly spans: (sensor: string) => readonly PlaceSpan[];
  readonly limits: (sensor: string) => readonly LimitView[];
  readonly baselines: (sensor: string) => readonly BaselineView[];
  /** Newest first. */
  readonly actions: () => readonly AlarmAction[];
}

/** An outlook looks back half a year. */
const DAYS_BACK = 26 * 7;

/** @param sensors those of the machine */
export function machineOutlook(
  machine: number,
  sensors: readonly Sensor[],
  parts: OutlookParts,
  nowMs: number,
  isStanding: boolean,
): MachineOutlook {
  const today = Math.floor(nowMs / DAY_MS);
  const relearned = relearnedDays(parts.actions());
  const places = sensors.map((sensor) => ({ sensor, spans: parts.spans(sensor.code) }));
  const formers = places.flatMap(({ spans }) => spans.slice(0, -1));
  const replaced = new Set(formers.map((span) => normalCode(span.sensor)));
  const present = places.filter(({ sensor }) => !replaced.has(normalCode(sensor.code)));
  const values = present.flatMap(({ sensor, spans }) =>
    OUTLOOK_KINDS.flatMap((kind) => {
      const days = daysOf(parts.rows, spans, kind, today);
      const newest = newestOf(parts, sensor.code, kind);
      return namesOf(days, newest).map((value) => {
        const since = Math.max(
          ...spans.map((span) => relearned.get(`${normalCode(span.sensor)}/${value}`) ?? -Infinity),
        );
        const { rows, unit } = rowsOf(days, sensor, value, since);
        const level = outlookOf(rows, null, today).level;
        const limit = nextLimit(limitsOf(parts, sensor, kind, value), level);
        const found = outlookOf(rows, limit, today, isStanding);
        return answer(sensor.code, value, unit ?? newest.get(value) ?? null, limit, found);
      });
    }),
  );
  return { machine, values };
}

/** The day on which a sensor was replaced is of the new one. */
function daysOf(
  rows: OutlookParts["rows"],
  spans: readonly PlaceSpan[],
  kind: Kind,
  today: number,
): readonly DayMedians[] {
  return spans.flatMap(({ sensor, fromMs, toMs }) => {
    const fromDay = Math.max(today - DAYS_BACK, Math.floor(fromMs / DAY_MS));
    return rows.of(sensor, kind, fromDay, Math.min(today, Math.floor(toMs / DAY_MS)));
  });
}

const namesOf = (
  days: readonly DayMedians[],
  newest: ReadonlyMap<string, string | null>,
): readonly string[] =>
  [...new Set([...days.flatMap(({ values }) => Object.keys(values)), ...newest.keys()])].sort();

/** Units of the newest reading's values that have an outlook. */
function newestOf(
  { newest }: OutlookParts,
  code: string,
  kind: Kind,
): ReadonlyMap<string, string | null> {
  const reading = newest(code, kind);
  if (reading === null) return new Map();
  const units = storedUnits(reading);
  const names = Object.keys(storedValues(reading));
  return new Map(
    names.filter((name) => hasOutlook(kind, name)).map((name) => [name, units[name] ?? null]),
  );
}

/** The newest days of one unit and mount, since its baseline was last learned anew. */
function rowsOf(
  days: readonly DayMedians[],
  sensor: Sensor,
  value: string,
  sinceDay: number,
): { readonly rows: readonly DayRow[]; readonly unit: string | null } {
  const known = days.flatMap(({ day, values }) => {
    const one = values[value];
    return one === undefined ? [] : [{ day, ...one }];
  });
  const unit = known.at(-1)?.unit ?? null;
  const mount = valueMount(sensor, value);
  const lastOther = known.findLastIndex((one) => one.unit !== unit || one.mount !== mount);
  const rows = known.slice(lastOther + 1).filter(({ day }) => day >= sinceDay);
  return { rows, unit };
}

/** Day on which a baseline of a value was last learned anew, by `sensor/value`. */
function relearnedDays(actions: readonly AlarmAction[]): ReadonlyMap<string, number> {
  const days = new Map<string, number>();
  for (const { what, subject, outcome, timeMs } of actions) {
    if (what !== "relearn" || outcome !== "done") continue;
    const [sensor = "", , value] = subject.split("/");
    const key = `${normalCode(sensor)}/${value}`;
    days.set(key, Math.max(days.get(key) ?? 0, Math.floor(timeMs / DAY_MS)));
  }
  return days;
}

/** Rising: the boundaries of the zones C and D; of bands the high limits of rules and baselines. */
function limitsOf(
  { limits, baselines }: OutlookParts,
  sensor: Sensor,
  kind: string,
  value: string,
): readonly number[] {
  if (kind === "accel") {
    return zoneLimits(sensor)?.slice(1) ?? [];
  }
  const rules = limits(sensor.code).filter((one) => one.kind === kind && one.value === value);
  const learned = baselines(sensor.code).filter(
    (one) =>
      one.value === value && sameCode(one.sensor, sensor.code) && one.machineState !== "standing",
  );
  return [
    ...rules.flatMap(({ high, highHigh }) => [high, highHigh]),
    ...learned.map(({ high }) => high),
  ]
    .filter((limit) => limit !== null)
    .sort((a, b) => a - b);
}

/** The next one above the level; the last where it is beyond all of them. */
function nextLimit(limits: readonly number[], level: number | null): number | null {
  return limits.find((limit) => level === null || limit > level) ?? limits.at(-1) ?? null;
}

const isoDay = (day: number) => new Date(day * DAY_MS).toISOString();
const dateText = (day: number) => isoDay(day).slice(0, 10);
const numberText = (number: number) => String(Number(number.toPrecision(3)));

function answer(
  sensor: string,
  value: string,
  unit: string | null,
  limit: number | null,
  { level, slopePerDay, days, outlook, reason }: Outlook,
): ValueOutlook {
  const range =
    outlook === null
      ? null
      : { from: isoDay(outlook.from), to: outlook.to === null ? null : isoDay(outlook.to) };
  const of = (number: number) => `${numberText(number)}${unit === null ? "" : ` ${unit}`}`;
  const ground =
    level === null || slopePerDay === null
      ? `${days} days`
      : `${of(level)} in the newest week, changing by ${of(slopePerDay)} a day over ${days} days`;
  const text =
    outlook === null || limit === null
      ? REASONS[reason ?? "too_few_days"](ground, limit === null ? "" : of(limit))
      : `Reaches ${of(limit)} between ${dateText(outlook.from)} and ${outlook.to === null ? "an unknown day" : dateText(outlook.to)}: ${ground}.`;
  return { sensor, value, unit, level, limit, slopePerDay, days, outlook: range, reason, text };
}

const REASONS: Readonly<Record<OutlookReason, (ground: string, limit: string) => string>> = {
  no_limit: (ground) => `No limit applies: ${ground}.`,
  too_few_days: (ground) =>
    `Not known yet: it takes six weeks with readings on four days each (so far ${ground}).`,
  not_rising: (ground) => `Not rising: ${ground}.`,
  within_noise: (ground) => `No clear rise beside the usual scatter: ${ground}.`,
  step: (ground) => `It changed in a step rather than steadily: ${ground}.`,
  too_far: (ground, limit) => `Rising, but more than half a year below ${limit}: ${ground}.`,
  standing: (ground) => `Not known while the machine stands: ${ground}.`,
  beyond_limit: (ground, limit) => `Already at or above ${limit}: ${ground}.`,
};
