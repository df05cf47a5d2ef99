import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../core/record.ts";
import { POLLED_KINDS, type PolledKind } from "../core/sensor.ts";
import { CHANNEL_MEMBERS } from "../core/sensors/channel-members.ts";
import { parseRatio, QUOTIENT, RATIO_MAX, RATIO_MIN } from "../pipeline/convert/ratio.ts";
import { shown } from "./fault.ts";
import { dict } from "./written-parts.ts";

const AXES = ["H", "V", "A"];

/** Kinds that publish nothing without channels, and channel lists that leave a kind without any. */
export function checkPresence(
  kinds: readonly PolledKind[],
  channels: JsonObject | null,
  place: string,
  faults: ConfigurationFault[],
): void {
  for (const kind of kinds) {
    const needs = NEEDS[kind];
    if (needs === undefined) continue;
    const { word, count } = CHANNEL_MEMBERS[kind];
    // If accel shares a loop channel, only loop members make it one.
    const isShared = kind === "loop" && kinds.includes("accel");
    const hasOne = Object.entries(channels ?? {}).some(
      ([name, value]) =>
        fits(name, kind) && !(isShared && fits(name, "accel") && !hasLoopFields(dict(value))),
    );
    if (!hasOne) {
      faults.push({
        place: `${place}.channels`,
        problem: `lists no channel for ${kind}, so nothing would be published for it`,
        remedy: `add ${word}1${count > 1 ? ` to ${word}${count}` : ""}, each with ${needs}`,
      });
    }
  }
}

const NEEDS: Readonly<Partial<Record<PolledKind, string>>> = {
  current: "a clamp",
  currentV2: "a clamp",
  loop: "unit, low and high",
};

export function fits(name: string, kind: PolledKind): boolean {
  const { word, count } = CHANNEL_MEMBERS[kind];
  const n = Number(name.slice(-1));
  return word !== "" && name.slice(0, -1) === word && n <= count;
}

export function checkChannel(
  name: string,
  channel: JsonObject,
  kinds: readonly PolledKind[],
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  const users = kinds.filter((kind) => fits(name, kind));
  if (users.length === 0) {
    const usable = kinds
      .filter((kind) => CHANNEL_MEMBERS[kind].count > 0)
      .map((kind) => `${CHANNEL_MEMBERS[kind].word}1…${CHANNEL_MEMBERS[kind].count} (${kind})`);
    faults.push({
      place,
      problem: `fits none of the sensor's kinds (${kinds.join(", ")})`,
      remedy: usable.length > 0 ? `use ${usable.join(", ")}, or remove it` : "remove it",
    });
    return;
  }
  const members = new Set(["name", ...users.flatMap((kind) => CHANNEL_MEMBERS[kind].members)]);
  const all = new Set(POLLED_KINDS.flatMap((kind) => CHANNEL_MEMBERS[kind].members));
  for (const member of Object.keys(channel)) {
    if (all.has(member) && !members.has(member)) {
      faults.push({
        place: `${place}.${member}`,
        problem: `has no effect for ${users.join(" and ")}`,
        remedy: "remove it",
      });
    }
  }
  if (users.some((kind) => kind === "current" || kind === "currentV2") && !("clamp" in channel)) {
    faults.push({
      place: `${place}.clamp`,
      problem: "is missing, so the values cannot be converted to amperes",
      remedy: "enter the rating of the fitted clamp: 50, 100, 250 or 500",
    });
  }
  checkRatio(channel["ratio"], place, faults);
  // With accel on the same channel, its loop half is optional as a whole.
  const isLoop = users.includes("loop") && (!users.includes("accel") || hasLoopFields(channel));
  if (isLoop) {
    checkRange(channel, place, faults, warnings);
    checkExtraction(channel, place, faults, warnings);
  }
}

function hasLoopFields(channel: JsonObject | null): boolean {
  return (
    channel !== null &&
    ["unit", "low", "high", "signal", "extraction", "lowFlowCutoff"].some(
      (member) => member in channel,
    )
  );
}

/** A quotient out of bounds; its form, and the bounds of a number, are the schema's. */
function checkRatio(ratio: unknown, place: string, faults: ConfigurationFault[]): void {
  if (typeof ratio !== "string" || !QUOTIENT.test(ratio)) return;
  const quotient = parseRatio(ratio);
  if (quotient >= RATIO_MIN && quotient <= RATIO_MAX) return;
  faults.push({
    place: `${place}.ratio`,
    problem: `${shown(ratio)} is ${Number.isNaN(quotient) ? "no quotient" : Number(quotient.toPrecision(6))}`,
    remedy: `use a ratio from ${RATIO_MIN} to ${RATIO_MAX}, such as 400:5`,
  });
}

function checkExtraction(
  channel: JsonObject,
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  const { signal, extraction, lowFlowCutoff: cutoff } = channel;
  const isRoot = extraction === "squareRoot";
  if (typeof cutoff === "number" && cutoff > 0 && !isRoot) {
    faults.push({
      place: `${place}.lowFlowCutoff`,
      problem: "has no effect without the extraction squareRoot",
      remedy: `add "extraction": "squareRoot", or remove it`,
    });
  }
  if (isRoot && !(typeof cutoff === "number" && cutoff > 0)) {
    warnings.push({
      place: `${place}.extraction`,
      problem: "near zero, the root makes a flow of noise, and there is no lowFlowCutoff",
      remedy: "add lowFlowCutoff, usually 0.05; take the root once, in the transmitter or here",
    });
  }
  if (signal === "0-20") {
    warnings.push({
      place: `${place}.signal`,
      problem: "a broken wire reads as the lowest value, and cannot be told from it",
      remedy: "use a 4-20 mA transmitter where that matters",
    });
  }
}

function checkRange(
  channel: JsonObject,
  place: string,
  faults: ConfigurationFault[],
  warnings: ConfigurationFault[],
): void {
  const lowest = channel["signal"] === "0-20" ? 0 : 4;
  const remedies = {
    unit: "enter the engineering unit, e.g. bar",
    low: `enter the value at ${lowest} mA`,
    high: "enter the value at 20 mA",
  };
  for (const [member, remedy] of Object.entries(remedies)) {
    if (!(member in channel))
      faults.push({ place: `${place}.${member}`, problem: "is missing", remedy });
  }
  // The readings say so too, channel by channel (signal-definitions section 9), and the current in mA is right.
  if (typeof channel["low"] === "number" && channel["low"] === channel["high"]) {
    warnings.push({
      place: `${place}.high`,
      problem: `${shown(channel["high"])} is also the value of low, so every value is bad (no_calibration)`,
      remedy: `enter different values for ${lowest} mA and 20 mA`,
    });
  }
}

export function checkAxes(
  channels: JsonObject,
  place: string,
  warnings: ConfigurationFault[],
): void {
  const taken = new Map<string, string>();
  for (const [i, standard] of AXES.entries()) {
    const name = `channel${i + 1}`;
    const channel = dict(channels[name]);
    if (!channel) continue;
    const axis = typeof channel["axis"] === "string" ? channel["axis"] : standard;
    const other = taken.get(axis);
    if (other !== undefined) {
      warnings.push({
        place: `${place}.channels.${name}.axis`,
        problem: `${axis} is also the axis of ${other}`,
        remedy: "use a different axis for each channel",
      });
    }
    taken.set(axis, name);
  }
}
