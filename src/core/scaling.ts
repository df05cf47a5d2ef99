/**
 * What turns a channel's signal into its numbers: unit, range, shunt, clamp. Where that changes, readings before and after
 * cannot be compared.
 */
import { loopChannels } from "../pipeline/convert/channels.ts";
import type { Kind, Sensor } from "./sensor.ts";

/** By `kind/channel`: the unit, and the whole in words. */
export type Scales = Readonly<Record<string, readonly [unit: string, words: string]>>;

/** The scale of each channel that has one. */
export function scalesOf(sensor: Sensor): Scales {
  const scales: Record<string, readonly [string, string]> = {};
  for (const { name, config } of sensor.kinds.includes("loop") ? loopChannels(sensor) : []) {
    const { unit = "1", low, high, resistorOhm } = config;
    const shunt = resistorOhm === undefined ? "" : ` over ${resistorOhm} ohm`;
    scales[`loop/${name}`] = [unit, `${low} to ${high} ${unit}${shunt}`];
  }
  for (const [name, { clamp, invert = false }] of Object.entries(sensor.channels)) {
    if (clamp !== undefined) scales[`current/${name}`] = ["A", `a clamp of ${clamp} A`];
    if (name.startsWith("input"))
      scales[`dryContact/${name}`] = ["", invert ? "inverted" : "not inverted"];
  }
  for (const read of sensor.stateReads ?? []) {
    if (read.via !== "modbus") {
      for (const [value, { unit = "1" }] of Object.entries(read.fields))
        scales[`node/${value}`] = [unit, unit];
      continue;
    }
    for (const { value, type, unit = "1", scale = 1, offset = 0 } of read.registers)
      scales[`node/${value}`] = [unit, `${type} × ${scale} + ${offset} ${unit}`];
  }
  return scales;
}

/** Of the text that alarms keep; null: of a sensor without scales. */
export function parseScales(text: string | null): Scales {
  return JSON.parse(text ?? "{}");
}

/** The key in `Scales` of what a value is measured by, whether its sensor has such a scale or not. */
export function scaleKey(kind: Kind, value: string): string {
  const channel = /^(?:channel|current|input)\d/.exec(value)?.[0] ?? value;
  return `${kind === "currentV2" ? "current" : kind}/${channel}`;
}

/** Keys of scales that differ; where a channel is added or removed, nothing has changed its meaning. */
export function changedScales(before: Scales, after: Scales): ReadonlySet<string> {
  const changed = Object.entries(before).filter(
    ([key, [unit, words]]) =>
      after[key] !== undefined && (after[key][0] !== unit || after[key][1] !== words),
  );
  return new Set(changed.map(([key]) => key));
}
