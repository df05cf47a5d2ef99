/** What a new site file means for memory, alarms and trends, beyond what it says: told before it is applied (plant section 23). */
import { compileAlarms } from "../alarm/compile.ts";
import type { Machine } from "../machine.ts";
import {
  changedScales,
  isChangeOf,
  isScaledBy,
  SHAFT_KEY,
  scalesOf,
  scaleWords,
} from "../scaling.ts";
import { type Sensor, sameCode } from "../sensor.ts";
import type { Site } from "../site.ts";

/** A line each, for people. */
export function consequencesOf(
  added: readonly Sensor[],
  changed: readonly { readonly before: Sensor; readonly after: Sensor }[],
  site: Site,
): string[] {
  return [
    ...added.flatMap((sensor) => replacedLines(sensor, [])),
    ...changed.flatMap(({ before, after }) => [
      ...replacedLines(after, before.replaces ?? []),
      ...rescaledLines(before, after, site),
    ]),
  ];
}

function replacedLines({ code, replaces = [] }: Sensor, before: readonly string[]): string[] {
  return replaces
    .filter((former) => !before.includes(former))
    .map(
      (former) =>
        `sensor ${code} replaces ${former}: with its first reading, trend, baselines, alarms, findings and Modbus addresses of ${former} go on with it; ${former} keeps its readings and topics`,
    );
}

function rescaledLines(before: Sensor, after: Sensor, site: Site): string[] {
  const [old, now] = [scalesOf(before), scalesOf(after)];
  const changed = changedScales(old, now);
  // Bands change with the records that they are of; ampere-hours that are not read change nothing.
  const isAccumulated = after.kinds.includes("accCurrent");
  const own = [...changed].filter(
    (key) => !key.startsWith("bands/") && (isAccumulated || !key.startsWith("accCurrent/")),
  );
  return own.flatMap((key) => {
    if (key === SHAFT_KEY) return shaftLines(after, site);
    const channel = key.slice(key.indexOf("/") + 1);
    const [[formerUnit, formerWords], [unit, words]] = [scaleWords(old, key), scaleWords(now, key)];
    const what = `sensor ${after.code}, ${channel}: ${formerWords} becomes ${words}`;
    const isOtherUnit = formerUnit !== unit;
    const trends = isOtherUnit
      ? "trends begin another series"
      : "trends show earlier values as they were";
    const line = `${what}; baselines begin anew, alarms on its values end (configuration_changed), and ${trends}${learnedAnew(after, key, site)}`;
    const rules = [...rulesOn(after, key, site), ...runningOn(after, key, site)];
    return [line, ...keptNumbers(`sensor ${after.code}, ${channel}`, rules)];
  });
}

const keptNumbers = (of: string, rules: readonly string[]): string[] =>
  rules.length === 0 ? [] : [`${of}: rules keep their numbers: ${rules.join("; ")}`];

function shaftLines(sensor: Sensor, site: Site): string[] {
  const line = `sensor ${sensor.code} is on another shaft, or its numbers differ: baselines and the normal state for findings are learned anew, bands are defined anew`;
  return [line, ...keptNumbers(`sensor ${sensor.code}, bands`, rulesOn(sensor, SHAFT_KEY, site))];
}

/** What findings begin anew: those of a sensor at another place, and of machines whose speed the changed value is. */
function learnedAnew({ code }: Sensor, key: string, { machines = [] }: Site): string {
  if (/^(?:place|axis)\//.test(key))
    return "; its findings end, their normal state is learned anew";
  const own = machines.filter(({ speed }) => speed !== undefined && sameCode(speed.sensor, code));
  if (key !== "rpm/rpm" || own.length === 0) return "";
  return `; ${own.map(machineName).join(", ")}: the normal state for findings is learned anew`;
}

const machineName = ({ id, name }: Machine) => name ?? `machine ${id}`;

/** Limits by which a machine runs that look at values of a channel. */
function runningOn({ code }: Sensor, key: string, { machines = [] }: Site): string[] {
  return machines.flatMap((machine) => {
    const { running } = machine;
    if (running === undefined || !sameCode(running.sensor, code)) return [];
    const { kind, value, above, below, is } = running;
    if (!isScaledBy(new Set([key]), kind, value)) return [];
    const numbers = [
      ...(above === undefined ? [] : [`above ${above}`]),
      ...(below === undefined ? [] : [`below ${below}`]),
      ...(is === undefined ? [] : [`is ${is}`]),
    ];
    return [`running of ${machineName(machine)} on ${value}: ${numbers.join(", ")}`];
  });
}

/** Rules with fixed limits for the values of a channel, with their numbers. */
function rulesOn(sensor: Sensor, key: string, site: Site): string[] {
  const [compiled] = compileAlarms({ ...site, sensors: [sensor] }).values();
  const found = new Map<string, string>();
  for (const { alarm, kind, value, unit, test } of compiled?.byKey.values() ?? []) {
    const isOf = isChangeOf({ key }, kind, value);
    if (test.type !== "limits" || !isOf) continue;
    const { limits, hysteresis } = test;
    const numbers = Object.entries({ ...limits, ...(hysteresis > 0 ? { hysteresis } : {}) });
    const text = numbers.map(([name, number]) => `${name} ${number}`).join(", ");
    found.set(`${alarm}/${value}`, `${alarm} on ${value}: ${text}${unit ? ` (${unit})` : ""}`);
  }
  return [...found.values()];
}
