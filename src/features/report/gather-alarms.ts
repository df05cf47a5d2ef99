/** The alarms of a machine's report: events of its period, what stood at its end, and notes. */
import type { ShownAlarm, ShownEvent } from "../../core/alarm/shown.ts";
import { formerCodes } from "../../core/replacement.ts";
import { normalCode, type Sensor } from "../../core/sensor.ts";
import { nameAtStart } from "../../core/sensor-names.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { Alarms } from "../alarms/api.ts";
import type { FeatureHost } from "../host.ts";
import type { ReportAlarm, ReportInput } from "./rules/input.ts";
import { stateThen } from "./rules/period-end.ts";

type AlarmSources = Pick<FeatureHost, "site"> & { readonly alarms: Alarms | null };

/** Events looked through and shown. */
const EVENTS_PAGE = 500;
const EVENT_PAGES_MAX = 10;
const ALARMS_MAX = 200;

/** Of the sensors, and of those that were in their places before. */
function namesByCode({ current }: SiteSource, sensors: readonly Sensor[]): Map<string, string> {
  const names = sensors.flatMap((sensor) =>
    [sensor.code, ...formerCodes(current.sensors, sensor)].map((code): [string, string] => [
      normalCode(code),
      code === sensor.code
        ? nameAtStart(sensor, current)
        : `${nameAtStart(sensor, current)}, former sensor ${code}`,
    ]),
  );
  return new Map(names);
}

/** What happened in the period, and what stood at its end. */
export function alarmsOf(
  { alarms, site }: AlarmSources,
  sensors: readonly Sensor[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
) {
  const names = namesByCode(site, sensors);
  const found: ReportAlarm[] = [];
  const own: ShownEvent[] = [];
  let before: number | null = null;
  let isOver = alarms === null;
  for (let page = 0; page < EVENT_PAGES_MAX && !isOver && alarms !== null; page++) {
    const lists = alarms.lists({ limit: EVENTS_PAGE, before });
    // Events are in order of arrival: a page that is wholly older ends the period.
    const isOlder = lists.history.every((event) => Date.parse(event.time) < fromMs);
    for (const event of lists.history) {
      const timeMs = Date.parse(event.time);
      const sensor = names.get(normalCode(event.sensor));
      if (sensor === undefined) continue;
      own.push(event);
      if (timeMs < fromMs || timeMs >= toMs) continue;
      found.push({
        timeMs,
        sensor,
        alarm: event.alarm,
        value: event.value,
        severity: event.severity,
        state: event.state,
        text: event.text,
        by: event.acknowledged?.by ?? null,
      });
    }
    before = lists.before;
    isOver = before === null || isOlder;
  }
  const sorted = found.toSorted((a, b) => b.timeMs - a.timeMs);
  const open = openOf(alarms).filter(({ sensor }) => names.has(normalCode(sensor)));
  return {
    alarms: sorted.slice(0, ALARMS_MAX),
    alarmsCut: !isOver || sorted.length > ALARMS_MAX,
    atEnd: stateThen(own, open, toMs),
  };
}

function openOf(alarms: AlarmSources["alarms"]): readonly ShownAlarm[] {
  if (alarms === null) return [];
  const { active, acknowledged, shelved } = alarms.lists({ limit: 0, before: null });
  return [...active, ...acknowledged, ...shelved];
}

/** What people noted on alarms that stand. */
export function notesOf(
  { alarms, site }: AlarmSources,
  sensors: readonly Sensor[],
): ReportInput["notes"] {
  if (alarms === null) return [];
  const names = namesByCode(site, sensors);
  return openOf(alarms).flatMap((alarm) => {
    const sensor = names.get(normalCode(alarm.sensor));
    if (sensor === undefined) return [];
    return (["acknowledged", "note", "shelved"] as const).flatMap((member) => {
      const action = alarm[member];
      if (!action?.note) return [];
      const { by, time, note } = action;
      return [{ subject: `${sensor}, ${alarm.alarm}`, by, timeMs: Date.parse(time), note }];
    });
  });
}
