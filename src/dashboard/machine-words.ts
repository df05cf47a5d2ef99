/** What a machine's entry says: its title, what to do, its velocity and its change. */

import type { RankedMachine } from "../core/condition/shown.ts";
import { UNEXPLAINED } from "../core/diagnosis/finding.ts";
import {
  findingAction,
  findingTitle,
  UNEXPLAINED_WORDS,
  ZONE_ACTIONS,
} from "../core/diagnosis/titles.ts";
import type { ShownSensor } from "../core/query/shown.ts";
import { alarmName } from "./alarm-words.ts";
import { isLive } from "./machine-now.ts";
import type { Model } from "./model.ts";
import { pointName, sensorName } from "./sensor-filter.ts";
import { valueWords } from "./words.ts";

type ShownAlarm = RankedMachine["alarms"][number];
/** Whose words tell which it is; those of the past may have none. */
type Told = Pick<ShownAlarm, "sensor" | "alarm" | "value"> & { readonly text?: string | undefined };

/** The name of a sensor in a sentence for people; the code where it has none, both where two share it. */
export function nameInSite(model: Model, code: string): string {
  const sensor = model.sensors.get(code);
  if (sensor === undefined) return `Sensor ${code}`;
  const name = sensorName(sensor);
  if (name === `Sensor ${code}`) return name;
  let alike = 0;
  for (const other of model.sensors.values()) if (sensorName(other) === name) alike += 1;
  return alike > 1 ? `${name} (${code})` : name;
}

/** An alarm in a few words: a finding, a zone, or a rule with its value. */
export function alarmTitle(model: Model, machine: RankedMachine | null, alarm: Told): string {
  const sensor = model.sensors.get(alarm.sensor);
  const point =
    sensor === undefined ? null : (pointName(sensor) ?? nameInSite(model, alarm.sensor));
  if (alarm.alarm === "finding" && machine !== null) {
    const found = findingOf(machine, alarm);
    if (found !== undefined) return findingTitle(found.finding, found.bearing, point, found.stage);
    if (alarm.value === UNEXPLAINED) return listed([UNEXPLAINED_WORDS.title, point ?? ""]);
  }
  const kind = sensor?.kinds.includes("accel") === true ? "accel" : (sensor?.kinds[0] ?? "accel");
  const { channelLabel, quantityLabel } = valueWords(sensor ?? { channels: {} }, kind, alarm.value);
  const where = [point ?? nameInSite(model, alarm.sensor), channelLabel];
  if (alarm.alarm === "zone") {
    const zone = /zone ([A-D])/i.exec(alarm.text ?? "")?.[1] ?? machine?.zone;
    return listed([`Velocity in zone ${zone?.toUpperCase() ?? "?"}`, ...where]);
  }
  // The name of a low battery says it.
  const isSaid = quantityLabel === "Value" || alarm.alarm === "battery_low";
  const what = isSaid ? "" : quantityLabel;
  return listed([alarmName(alarm.alarm), ...where, what]);
}

const listed = (parts: readonly string[]) => parts.filter((part) => part !== "").join(", ");

/** The finding of which it is the alarm. */
export function findingOf({ activeFindings }: RankedMachine, { sensor, value, text }: Told) {
  const own = activeFindings.filter((one) => one.sensor === sensor);
  return (
    own.find((one) => one.text === text) ?? own.find(({ finding }) => value.startsWith(finding))
  );
}

export interface EntryWords {
  readonly title: string;
  readonly todo: string;
}

export function entryWords(
  model: Model,
  machine: RankedMachine,
  condition: RankedMachine["condition"],
): EntryWords {
  const [worst] = machine.alarms;
  if (worst !== undefined) {
    const finding = worst.alarm === "finding" ? findingOf(machine, worst) : undefined;
    const more = machine.alarms.length - 1;
    const title = alarmTitle(model, machine, worst) + (more > 0 ? `, and ${more} more` : "");
    if (finding !== undefined)
      return { title, todo: findingAction(finding.finding, finding.stage) };
    if (worst.alarm === "finding" && worst.value === UNEXPLAINED)
      return { title, todo: UNEXPLAINED_WORDS.action };
    const zone = worst.alarm === "zone" ? (machine.zone ?? "") : "";
    return { title, todo: ZONE_ACTIONS[zone] ?? "Check the value and its cause on site." };
  }
  switch (condition) {
    case "alarm":
    case "warning":
      return { title: machine.reason, todo: ZONE_ACTIONS[machine.zone ?? ""] ?? "" };
    case "watch":
      return { title: machine.reason, todo: "Plan ahead; see the forecast on its page." };
    case "unknown":
      return {
        title:
          machine.unknown === null ? "Not known: the gateway does not respond." : machine.reason,
        todo: "",
      };
    case "standing":
    case "ok":
      return { title: machine.reason, todo: "" };
  }
}

export interface Velocity {
  readonly sensor: ShownSensor;
  readonly kind: "accel";
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** Where: point and axis. */
  readonly where: string;
  readonly zone: string | null;
}

/** The highest newest velocity of the sensors that were heard of within three intervals; else that of its worst alarm. */
export function velocityOf(model: Model, machine: RankedMachine): Velocity | null {
  const sensors = machine.sensors.flatMap((code) => model.sensors.get(code) ?? []);
  const fresh = sensors.filter((sensor) => isLive(model, sensor));
  const all = fresh.flatMap(velocitiesOf).sort((a, b) => b.value - a.value);
  if (all[0] !== undefined) return all[0];
  const [worst] = machine.alarms;
  const own = sensors.find(({ code }) => code === worst?.sensor);
  return own === undefined
    ? null
    : (velocitiesOf(own).find(({ name }) => name === worst?.value) ?? null);
}

function velocitiesOf(sensor: ShownSensor): Velocity[] {
  const reading = sensor.latest.accel;
  if (reading === undefined) return [];
  return Object.entries(reading.values).flatMap(([name, value]) => {
    if (typeof value !== "number" || !name.endsWith("_vel_rms")) return [];
    const { channelLabel, channel } = valueWords(sensor, "accel", name);
    const zone = reading.values[`${channel}_zone`];
    const where = listed([pointName(sensor) ?? sensorName(sensor), channelLabel]);
    return [
      {
        sensor,
        kind: "accel" as const,
        name,
        value,
        unit: reading.units[name] ?? "mm/s",
        where,
        zone: typeof zone === "string" ? zone : null,
      },
    ];
  });
}
