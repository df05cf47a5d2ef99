/** Which alarms a page shows, in which order. */
import type { ShownAlarm } from "../core/alarm/shown.ts";
import { nameInSite } from "./machine-words.ts";
import type { Model } from "./model.ts";
import { areaName, machineName } from "./sensor-filter.ts";

export interface AlarmFilter {
  severity: string;
  machine: string;
  text: string;
}
export const ALARM_FILTERS = ["severity", "machine", "text"] as const;

export interface AlarmGroup {
  readonly key: string;
  /** Empty for the one list without groups. */
  readonly title: string;
  readonly area: string;
  readonly machineId: number | null;
  readonly alarms: readonly ShownAlarm[];
}

const rank = ({ severity }: ShownAlarm) =>
  severity === "alarm" ? 0 : severity === "warning" ? 1 : 2;
const sinceMs = ({ since, raised, time }: ShownAlarm) =>
  Date.parse(since ?? raised ?? time ?? "") || 0;

/** The worst severity, then the oldest. */
const worseFirst = (a: ShownAlarm, b: ShownAlarm) => rank(a) - rank(b) || sinceMs(a) - sinceMs(b);

/** Machines by their worst alarm, then their oldest; within one the same. */
export function alarmGroups(
  alarms: readonly ShownAlarm[],
  model: Model,
  isGrouped: boolean,
): readonly AlarmGroup[] {
  const sorted = [...alarms].sort(worseFirst);
  if (!isGrouped) return [{ key: "all", title: "", area: "", machineId: null, alarms: sorted }];
  const groups = new Map<string, AlarmGroup & { readonly alarms: ShownAlarm[] }>();
  for (const alarm of sorted) {
    const { title, area, machineId } = machineOf(model, alarm.sensor);
    const key = `${machineId ?? title}`;
    const group = groups.get(key) ?? { key, title, area, machineId, alarms: [] };
    groups.set(key, group);
    group.alarms.push(alarm);
  }
  // Each group begins with its worst: they are in order already.
  return [...groups.values()];
}

export function machineOf(
  model: Model,
  code: string,
): { readonly title: string; readonly area: string; readonly machineId: number | null } {
  const sensor = model.sensors.get(code);
  if (sensor === undefined || sensor.location === null)
    return { title: nameInSite(model, code), area: "", machineId: null };
  return {
    title: machineName(sensor),
    area: areaName(sensor),
    machineId: sensor.location.machine,
  };
}

export function isAsked(model: Model, alarm: ShownAlarm, filter: AlarmFilter): boolean {
  if (filter.severity !== "" && alarm.severity !== filter.severity) return false;
  const machine = machineOf(model, alarm.sensor);
  if (filter.machine !== "" && machine.title !== filter.machine) return false;
  if (filter.text === "") return true;
  const name = model.sensors.get(alarm.sensor)?.name ?? alarm.name ?? "";
  const all = [
    alarm.sensor,
    name,
    alarm.alarm,
    alarm.value,
    alarm.text ?? "",
    machine.title,
    machine.area,
  ];
  const text = all.join(" ").toLowerCase();
  return filter.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
