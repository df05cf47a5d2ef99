/** Names and severities of alarms, as a sign and a word. */
import type { ShownAlarm } from "../core/alarm/shown.ts";
import type { ShownSensor } from "../core/query/shown.ts";
import { badge } from "./marks.ts";
import { linkTo } from "./place-link.ts";
import { valueWords } from "./words.ts";

const BUILT_IN: Readonly<Record<string, string>> = {
  zone: "Zone",
  battery_low: "Low battery",
  silent: "Silent",
  bad_quality: "No usable value",
  finding: "Finding",
};

export function alarmName(name: string): string {
  return BUILT_IN[name] ?? name;
}

export function severityBadge({ severity, state }: ShownAlarm): HTMLElement {
  if (state !== "active") return badge("off", state === "cleared" ? "Ended" : "Normal");
  return severity === "alarm" ? badge("bad", "Alarm") : badge("warn", "Warning");
}

/** The channel and quantity concerned; empty for the whole sensor. */
export function alarmValue(
  { kind, value, alarm }: ShownAlarm,
  sensor: ShownSensor | undefined,
): string {
  // The name of the alarm says it.
  if (alarm === "silent" || alarm === "battery_low") return "";
  const { channelLabel, quantityLabel } = valueWords(sensor ?? { channels: {} }, kind, value);
  return [channelLabel, quantityLabel].filter((part) => part !== "").join(" ");
}

/** The sensor's page with the trend of the value; findings are shown above it. */
export function alarmLink({ sensor, kind, value, alarm }: ShownAlarm): string {
  if (alarm === "silent" || alarm === "finding") return linkTo("sensor", sensor);
  return linkTo("sensor", sensor, { value: `${kind}.${value}` });
}
