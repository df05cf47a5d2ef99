/** States, statistics and descriptions: the newest of each counts, so they are kept whole. */
import type { AboutItem, BoxStateItem, BoxStatsItem, SensorStateItem } from "./item.ts";
import {
  type Body,
  checkName,
  cutText,
  objectMember,
  optionalCount,
  optionalNumber,
  optionalText,
  optionalTime,
  requiredText,
  requiredTime,
  unitsMember,
} from "./members.ts";

/** What a table of all boxes shows of the statistics: one box's text there would fail it for all. */
const COUNTS = [
  ["buffer", "depth"],
  ["sensors", "online"],
  ["sensors", "silent"],
  ["sensors", "unknown"],
  ["alarms", "warning"],
  ["alarms", "alarm"],
] as const;

export function parseBoxState(site: string, body: Body): BoxStateItem {
  checkName(site, "site");
  requiredText(body, "state");
  optionalTime(body, "time");
  for (const name of ["version", "configuration"]) optionalText(body, name);
  return { type: "boxState", site, body: { ...body, reason: cutText(body, "reason") } };
}

export function parseBoxStats(site: string, body: Body): BoxStatsItem {
  checkName(site, "site");
  requiredTime(body, "time");
  for (const name of ["version", "configuration"]) optionalText(body, name);
  for (const [member, name] of COUNTS) optionalCount(objectMember(body, member), name);
  const buffer = objectMember(body, "buffer");
  for (const name of ["oldestAgeS", "hoursUntilFull"]) optionalNumber(buffer, name);
  return { type: "boxStats", site, body };
}

export function parseSensorState(site: string, sensor: string, body: Body): SensorStateItem {
  checkName(site, "site");
  checkName(sensor, "sensor");
  requiredText(body, "state");
  optionalTime(body, "lastReading");
  optionalNumber(body, "battery");
  return { type: "sensorState", site, sensor, body };
}

export function parseAbout(site: string, sensor: string, body: Body): AboutItem {
  checkName(site, "site");
  checkName(sensor, "sensor");
  objectMember(body, "location");
  objectMember(body, "channels");
  const units = objectMember(body, "units");
  for (const kind of Object.keys(units)) unitsMember({ units: objectMember(units, kind) });
  return { type: "about", site, sensor, body: { ...body, name: cutText(body, "name") } };
}
