/** Plain-language names of values, kinds, reasons and flags. */

import type { Doubt } from "../core/quality.ts";
import type { ShownSensor } from "../core/query/shown.ts";
import type { Kind } from "../core/sensor.ts";

export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  accel: "Vibration",
  current: "Current",
  currentV2: "Current (min, max, average)",
  accCurrent: "Accumulated current",
  loop: "4–20 mA loop",
  dryContact: "Contacts",
  rpm: "Speed",
  node: "Node",
  bands: "Bands",
};

const QUANTITIES: Readonly<Record<string, string>> = {
  accel_rms: "Acceleration RMS",
  accel_peak: "Acceleration peak",
  accel_pp: "Acceleration peak to peak",
  crest_factor: "Crest factor",
  kurtosis: "Kurtosis",
  vel_rms: "Velocity RMS",
  disp_pp: "Displacement peak to peak",
  env_rms: "Envelope RMS",
  zone: "Zone",
  min: "Lowest",
  max: "Highest",
  avg: "Average",
  current: "Current",
  accumulated: "Accumulated",
  value: "Value",
  ma: "Loop current",
  state: "State",
  battery: "Battery",
  module_temperature: "Module temperature",
  temperature: "Temperature",
  rpm: "Speed",
};

/** Order on the page, most important first. */
export const QUANTITY_ORDER = [
  "zone",
  "vel_rms",
  "accel_rms",
  "accel_peak",
  "accel_pp",
  "env_rms",
  "disp_pp",
  "crest_factor",
  "kurtosis",
  "avg",
  "min",
  "max",
  "current",
  "accumulated",
  "value",
  "ma",
  "state",
  "rpm",
  "temperature",
  "battery",
  "module_temperature",
];

export interface ValueWords {
  /** Key in `channels`; null for a value of the whole sensor. */
  readonly channel: string | null;
  /** Short: H, L1, Tank level. */
  readonly channelLabel: string;
  readonly quantity: string;
  readonly quantityLabel: string;
}

/** The channel and quantity that a value name stands for. */
export function valueWords(
  sensor: Pick<ShownSensor, "channels">,
  kind: Kind,
  name: string,
): ValueWords {
  const [channel, quantity] = split(kind, name);
  return {
    channel,
    channelLabel: channel === null ? "" : channelLabel(sensor, kind, channel),
    quantity,
    quantityLabel: QUANTITIES[quantity] ?? quantity.replaceAll("_", " "),
  };
}

function split(kind: Kind, name: string): readonly [string | null, string] {
  const accumulated = /^accumulated_current(\d)$/.exec(name);
  if (accumulated) return [`current${accumulated[1]}`, "accumulated"];
  const numbered = /^(channel|current|input)(\d)(?:_(.+))?$/.exec(name);
  if (!numbered) return [null, name];
  const plain = kind === "dryContact" ? "state" : kind === "loop" ? "value" : "current";
  return [`${numbered[1]}${numbered[2]}`, numbered[3] ?? plain];
}

const DEFAULT_AXES: Readonly<Record<string, string>> = {
  channel1: "H",
  channel2: "V",
  channel3: "A",
};

function channelLabel(sensor: Pick<ShownSensor, "channels">, kind: Kind, channel: string): string {
  const config = sensor.channels[channel];
  if (kind === "accel") return config?.axis ?? DEFAULT_AXES[channel] ?? channel;
  const number = channel.slice(-1);
  return config?.name ?? (channel.startsWith("input") ? `Input ${number}` : `Ch ${number}`);
}

export const AXIS_WORDS: Readonly<Record<string, string>> = {
  H: "horizontal",
  V: "vertical",
  A: "axial",
};

const REASONS: Readonly<Record<Doubt["reason"], string>> = {
  wire_break: "the loop is open or its transmitter has no power. Check terminals and power supply.",
  under_range: "below the range of the transmitter. Check the transmitter and its range.",
  over_range:
    "the loop current is above its range: either the process value is too high or the transmitter signals a failure. Check both.",
  samples_lost:
    "samples of the record were lost and filled; do not trust its values. Check the radio link of the node.",
  jump: "the record jumps to another level; do not trust its values. Check mount and cable of the sensor.",
  wrapped:
    "the signal ran beyond full scale and came back with the other sign; the real vibration is higher. Set a larger range.",
  clipped:
    "the signal was clipped at full scale; the real vibration is higher. Set a larger range.",
  flatline:
    "the signal does not change at all: the sensing element or its cable has probably failed.",
  too_short: "too few samples for this quantity.",
  sample_rate_low: "the sample rate is too low for this quantity.",
  missing: "the record does not contain it.",
  not_a_number: "the record contains something that is not a number.",
  no_calibration: "the record has no calibration, so counts cannot be converted to g.",
  inconsistent: "it contradicts other values in the record.",
};

/** Some reasons mean something else for a clamp. */
const CLAMP_REASONS: Readonly<Partial<Record<Doubt["reason"], string>>> = {
  under_range: "below zero, which a clamp cannot measure. Check the clamp and its module.",
  over_range:
    "above the rating of the clamp. Check the machine's load, and that this clamp is the one fitted.",
};

/** For example: Uncertain: the signal was cut off … */
export function doubtWords({ quality, reason }: Doubt, kind: Kind): string {
  const isClamp = kind === "current" || kind === "currentV2";
  const words = (isClamp ? CLAMP_REASONS[reason] : undefined) ?? REASONS[reason] ?? reason;
  return `${quality === "bad" ? "No value" : "Uncertain"}: ${words}`;
}

const FLAGS: Readonly<Record<string, string>> = {
  time_in_future: "The reading is dated in the future: the sensor's clock is wrong.",
  channel_length_mismatch: "The channels have different lengths.",
  partial_answer:
    "The gateway's response was truncated; this reading is from the part that arrived.",
  channel_count_mismatch: "The number of channels in the record differs from the site file.",
  sample_out_of_range: "Some samples were outside the 16-bit range.",
  sample_not_integer: "Some samples were not whole numbers.",
  not_an_array: "A channel was not a list of samples.",
  time_from_time_data: "The sensor's own time was not usable; the gateway's time is shown.",
  recording_reason_unknown: "The record has an undocumented recording reason.",
};
export function flagWords(flag: string): string {
  return FLAGS[flag] ?? flag.replaceAll("_", " ");
}

/** Zone letters of signal-definitions 8. */
export const ZONE_WORDS: Readonly<Record<string, string>> = {
  A: "like new",
  B: "fit for long-term operation",
  C: "not fit for long-term operation: plan a repair",
  D: "vibration can cause damage: act now",
};

export const STATE_WORDS = {
  online: "Online",
  silent: "Silent",
  unknown: "No reading yet",
  removed: "Removed",
} as const;

/** For example `Group 2, rigid`: the class as ISO 20816-3 and ISO 10816-1 write it. */
export function machineClassWords(name: string | null): string | null {
  const match = /^(group|class)(\d)(?:-(.+))?$/.exec(name ?? "");
  if (match === null) return name;
  const base = match[1] === "group" ? `Group ${match[2]}` : `Class ${"I".repeat(Number(match[2]))}`;
  const roman = base === "Class IIII" ? "Class IV" : base;
  return match[3] === undefined ? roman : `${roman}, ${match[3]}`;
}

/** What a choice of the site or uplinks file is called. */
const CHOICES: Readonly<Record<string, string>> = {
  ...KIND_WORDS,
  service: "the gateway's service",
  modbus: "Modbus",
  date: "with the day",
  none: "without anything",
  big: "big-endian",
  little: "little-endian",
  order: "multiples of the speed",
  velocity: "Velocity",
  always: "all of them",
  alarm: "those recorded on alarm",
  never: "none",
  stored: "with what is stored",
  now: "with what comes from now on",
  gateside: "as documented (gateside)",
  homeassistant: "Home Assistant",
  thingsboard: "ThingsBoard",
  "aws-iot": "AWS IoT",
  "azure-iot": "Azure IoT",
};
export function choiceWords(choice: string): string {
  return CHOICES[choice] ?? machineClassWords(choice) ?? choice;
}

const GAP_REASONS: Readonly<Record<string, string>> = {
  buffer_full:
    "the buffer was full before the broker accepted them. Raise BUFFER_MAX_MB or shorten outages.",
  disk_full: "the disk was full. Free space on the disk of DATA_DIR.",
  format_off: "the format they were waiting for is no longer in PUBLISH_FORMATS.",
};
export function gapReason(reason: string): string {
  return GAP_REASONS[reason] ?? `${reason.replaceAll("_", " ")}.`;
}
