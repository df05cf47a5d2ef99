/**
 * What a number is of: unit, range, shunt and clamp of its channel; of vibration also machine, point and axis, the lower end of
 * the velocity band, and the edges of a band. Where that changes, readings before and after cannot be compared.
 */

import { publishedChannels } from "../pipeline/convert/accel.ts";
import { loopChannels } from "../pipeline/convert/channels.ts";
import { ratioOf } from "../pipeline/convert/ratio.ts";
import { SLOW_SPEED_RPM } from "../pipeline/signal/bands.ts";
import { parsedJson } from "./parsed-json.ts";
import { isJsonObject } from "./record.ts";
import type { ChannelConfig, Kind, Sensor } from "./sensor.ts";

/** Of the shaft at the sensor: another one ends no alarm, and is learned anew. */
export const SHAFT_KEY = "shaft/turns";

/** By `kind/channel`: the unit, and the whole in words. */
export type Scales = Readonly<Record<string, readonly [unit: string, words: string]>>;

/** The scale of each channel that has one. */
export function scalesOf(sensor: Sensor): Scales {
  const scales: Record<string, readonly [string, string]> = {};
  for (const { name, config } of sensor.kinds.includes("loop") ? loopChannels(sensor) : []) {
    const { unit = "1", low, high, resistorOhm } = config;
    const shunt = resistorOhm === undefined ? "" : ` over ${resistorOhm} ohm`;
    scales[`loop/${name}`] = [unit, `${low} to ${high} ${unit}${shunt}${loopWords(config)}`];
  }
  for (const [name, config] of Object.entries(sensor.channels)) {
    const { clamp, invert = false } = config;
    // 80 and 400:5 are one ratio.
    const ratio = ratioOf(config);
    const times = ratio === 1 ? "" : ` with the ratio ${ratio}`;
    if (clamp !== undefined) scales[`current/${name}`] = ["A", `a clamp of ${clamp} A${times}`];
    if (ratio !== 1) scales[`accCurrent/accumulated_${name}`] = ["Ah", `the ratio ${ratio}`];
    if (name.startsWith("input"))
      scales[`dryContact/${name}`] = ["", invert ? "inverted" : "not inverted"];
  }
  const { pulsesPerRevolution: pulses = 1, sampleRateFactor: factor = 1 } = sensor;
  for (const kind of factor === 1 ? [] : ["accel", "bands"])
    for (const n of [1, 2, 3]) scales[`${kind}/channel${n}`] = ["", `the sample rate × ${factor}`];
  if (pulses !== 1) scales["rpm/rpm"] = ["rpm", `${pulses} pulses per revolution`];
  // By which shaft its records are judged: what was learned of another says nothing.
  const { speedRatio = 1, blades, teeth } = sensor.shaft ?? {};
  if (speedRatio !== 1 || blades !== undefined || teeth !== undefined)
    scales[SHAFT_KEY] = ["", JSON.stringify([speedRatio, blades ?? null, teeth ?? null])];
  for (const read of sensor.stateReads ?? []) {
    if (read.via !== "modbus") {
      for (const [value, { unit = "1" }] of Object.entries(read.fields))
        scales[`node/${value}`] = [unit, unit];
      continue;
    }
    for (const { value, type, unit = "1", scale = 1, offset = 0 } of read.registers)
      scales[`node/${value}`] = [unit, `${type} × ${scale} + ${offset} ${unit}`];
  }
  return sensor.kinds.includes("accel") ? { ...scales, ...vibrationScales(sensor) } : scales;
}

/** A sensor without a machine has no place yet: to give it one is no move. */
function vibrationScales(sensor: Sensor): Scales {
  const { location, speedRpm, bands } = sensor;
  const scales: Record<string, readonly [string, string]> = {};
  if (location !== undefined)
    scales["place/machine"] = ["", `machine ${location.machine}, point ${location.point}`];
  for (const { number, axis } of publishedChannels(sensor, true))
    scales[`axis/channel${number}`] = ["", `axis ${axis}`];
  const isSlow = speedRpm !== undefined && speedRpm < SLOW_SPEED_RPM;
  scales["velocity/band"] = ["", `velocity from ${isSlow ? 2 : 10} Hz`];
  for (const { name, ...definition } of bands?.bands ?? [])
    scales[`band/${name}`] = ["", JSON.stringify(definition)];
  return scales;
}

function loopWords({ signal = "4-20", extraction = "none", lowFlowCutoff = 0 }: ChannelConfig) {
  const current = signal === "4-20" ? "" : `, ${signal} mA`;
  if (extraction === "none") return current;
  return `${current}, by the square root${lowFlowCutoff > 0 ? ` from ${lowFlowCutoff} on` : ""}`;
}

/** What stands for a scale that was not set: of what is measured without one, as most are. */
const UNSET: Readonly<Record<string, readonly [unit: string, words: string]>> = {
  accel: ["", "the sample rate as sent"],
  bands: ["", "the sample rate as sent"],
  accCurrent: ["Ah", "no ratio"],
  rpm: ["rpm", "1 pulse per revolution"],
  shaft: ["", "[1,null,null]"],
};

const scaleIn = (scales: Scales, key: string) =>
  scales[key] ?? UNSET[key.slice(0, key.indexOf("/"))];

/** Of the text that alarms keep; null: of a sensor without scales. */
export function parseScales(text: string | null): Scales {
  return scalesIn(parsedJson(text ?? "{}")) ?? {};
}

/** Of what we kept, which damage may have changed: null where it is none, without the entries that are none. */
export function scalesIn(kept: unknown): Scales | null {
  if (!isJsonObject(kept)) return null;
  return Object.fromEntries(
    Object.entries(kept).flatMap(([key, scale]): [string, Scales[string]][] => {
      const [unit, words] = Array.isArray(scale) ? scale : [];
      return typeof unit === "string" && typeof words === "string" ? [[key, [unit, words]]] : [];
    }),
  );
}

/** The key in `Scales` of the channel that a value is measured by, whether its sensor has such a scale or not. */
export function scaleKey(kind: Kind, value: string): string {
  const channel = /^(?:channel|current|input)\d/.exec(value)?.[0] ?? value;
  return `${kind === "currentV2" ? "current" : kind}/${channel}`;
}

/** Whether any of the scales that differ is one of this value. */
export function isScaledBy(changed: ReadonlySet<string>, kind: Kind, value: string): boolean {
  if (changed.has(scaleKey(kind, value))) return true;
  if (kind !== "accel" && kind !== "bands") return false;
  const [, channel = "", name = ""] = /^(channel\d)_(.+)$/.exec(value) ?? [];
  if (channel === "") return false;
  const ofKind =
    kind === "bands" ? [`band/${name}`] : /^(vel|disp)_/.test(name) ? ["velocity/band"] : [];
  return ["place/machine", `axis/${channel}`, ...ofKind].some((key) => changed.has(key));
}

/** Keys of scales that differ; where a channel is added or removed, nothing has changed its meaning. */
export function changedScales(before: Scales, after: Scales): ReadonlySet<string> {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return new Set(
    [...keys].filter((key) => {
      const [old, now] = [scaleIn(before, key), scaleIn(after, key)];
      return old !== undefined && now !== undefined && (old[0] !== now[0] || old[1] !== now[1]);
    }),
  );
}

/** Something that a value is of was set otherwise. */
export interface ScaleChange {
  /** In `Scales`. */
  readonly key: string;
  /** When the site file that says so came into effect. */
  readonly timeMs: number;
  /** `a clamp of 50 A becomes a clamp of 100 A`. */
  readonly text: string;
}

export function scaleChanges(before: Scales, after: Scales, timeMs: number): ScaleChange[] {
  return [...changedScales(before, after)].map((key) => {
    const [[, former], [, words]] = [scaleWords(before, key), scaleWords(after, key)];
    const text =
      key === SHAFT_KEY ? "another shaft, or other numbers of it" : `${former} becomes ${words}`;
    return { key, timeMs, text };
  });
}

/** Whether values of a kind and name before and after a change cannot be compared. */
export function isChangeOf({ key }: Pick<ScaleChange, "key">, kind: Kind, value: string): boolean {
  if (key === SHAFT_KEY) return kind === "bands";
  return isScaledBy(new Set([key]), kind, value);
}

/** A scale in words. */
export function scaleWords(scales: Scales, key: string): readonly [unit: string, words: string] {
  const [unit, words] = scaleIn(scales, key) ?? ["", ""];
  return [unit, key.startsWith("band/") ? bandWords(words) : words];
}

/** Kept as the definition itself, which two bands share only if they are equal. */
function bandWords(definition: string): string {
  const band = parsedJson(definition);
  if (!isJsonObject(band)) return definition;
  const { from, to, unit, of, order, bearing, speedRatio } = band;
  const orders = (multiple: unknown) => `${shortNumber(multiple)} × the shaft's speed`;
  const edges = `${shortNumber(from)} to ${shortNumber(to)}`;
  const range = unit === "Hz" ? `${edges} Hz` : `${edges} × the shaft's speed`;
  const what =
    order !== undefined
      ? orders(order)
      : bearing !== undefined
        ? `${orders(bearing)} (bearing)`
        : `${range}, of ${of === "accel" ? "acceleration" : "velocity"}`;
  return speedRatio === undefined
    ? what
    : `${what}, which is ${shortNumber(speedRatio)} × that of the machine`;
}

/** Without what binary fractions add: 5.4 for 5.3999999999999995. */
const shortNumber = (value: unknown): string => String(Number(Number(value).toPrecision(12)));
