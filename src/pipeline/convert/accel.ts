/** Acceleration records: every value of each axis, by signal-definitions (contract section 5, services section 3.4). */
import { bad, type Doubt, type Graded, isOfDamage, type Reason } from "../../core/quality.ts";
import type { Flag, Waveform, WaveformChannel } from "../../core/reading.ts";
import type { ChannelSamples, RawRecord } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import type { Axis } from "../../core/unit.ts";
import { type AxisAnalysis, analysisSteps } from "../signal/analyse.ts";
import { DftPlans } from "../signal/fft.ts";
import {
  DISPLACEMENT_LIMITS,
  worstZone,
  type Zone,
  zoneLimits,
  zoneOf,
} from "../signal/severity.ts";
import type { WantedTones } from "../signal/tones.ts";
import { accelChannels } from "./channels.ts";
import { decimal } from "./decimal.ts";
import { isCarried, numberField, type ValueSheet } from "./value-sheet.ts";

const DEFAULT_AXES: readonly [Axis, Axis, Axis] = ["H", "V", "A"];

export interface AccelChannel {
  readonly number: number;
  readonly axis: Axis;
  readonly isConfigured: boolean;
}

/**
 * Channels to publish: those the site file lists, otherwise 1 and 2, and 3 if the data have it (biaxial nodes do not).
 */
export function publishedChannels(sensor: Sensor, hasThird: boolean): AccelChannel[] {
  const configured = accelChannels(sensor);
  if (configured.length > 0) {
    return configured.map(({ number, config }) => ({
      number,
      axis: config.axis ?? axisOfChannel(number),
      isConfigured: true,
    }));
  }
  return (hasThird ? [1, 2, 3] : [1, 2]).map((number) => ({
    number,
    axis: axisOfChannel(number),
    isConfigured: false,
  }));
}

function axisOfChannel(number: number): Axis {
  return DEFAULT_AXES[number - 1] ?? "A";
}

/** Damage that makes a whole channel bad, in the contract's words. */
const DAMAGE_REASONS: Readonly<
  Record<Extract<ChannelSamples, { state: "damaged" }>["reason"], Reason>
> = {
  sample_out_of_range: "over_range",
  sample_not_integer: "not_a_number",
  not_an_array: "not_a_number",
};

/** Fills the sheet, one channel per step, and returns the samples worth keeping. */
export function* accelSteps(
  record: RawRecord,
  sensor: Sensor,
  context: { readonly plans?: DftPlans; readonly tones?: WantedTones },
  sheet: ValueSheet,
): Generator<void, Waveform | null> {
  const { plans = new DftPlans(), tones = false } = context;
  const sampleRateHz = rateOf(record, sensor) ?? Number.NaN;
  const calibration = numberField(record, "calibration").value ?? Number.NaN;
  const hasThird = channelOf(record, 3).state !== "absent";
  const channels = publishedChannels(sensor, hasThird);
  const kept: WaveformChannel[] = [];
  for (const [i, channel] of channels.entries()) {
    const data = channelOf(record, channel.number);
    // The caller may do other work between two channels.
    if (i > 0) yield;
    if (data.state !== "ok") {
      putNothing(sheet, channel.number, hasZone(sensor), bad(lossReason(data)).doubt);
      continue;
    }
    const analysis = yield* analysisSteps(data.samples, {
      sampleRateHz,
      calibration,
      fullScaleCounts: sensor.fullScaleCounts,
      speedRpm: sensor.speedRpm,
      plans,
      tones,
    });
    if (tones !== false) {
      sheet.tones ??= [];
      sheet.tones.push({
        channel: channel.number,
        axis: channel.axis,
        durationS: data.samples.length / sampleRateHz,
        isClipped: (analysis.clipCount ?? 0) > 0 || analysis.flags.includes("WRAPPED"),
        ...(isOfDamage(analysis.doubts.accel) ? { isDamaged: true } : {}),
        tones: analysis.tones,
      });
    }
    putAnalysis(sheet, channel.number, analysis, sensor);
    if (data.samples.length > 0) {
      kept.push({ channel: channel.number, axis: channel.axis, samples: data.samples });
    }
  }
  // This value is always listed, because the old one must not remain if a node stops reporting it.
  sheet.number("temperature", "degC", numberField(record, "temperature"));
  flagChannels(record, channels, hasThird, sheet);
  putAttributes(record, rateOf(record, sensor), sheet);
  const isConvertible = sampleRateHz > 0 && calibration > 0;
  if (!isConvertible || kept.length === 0) return null;
  const reason = record.fields.recording_reason;
  return {
    sampleRateHz,
    calibration,
    recordingReason: typeof reason === "number" && Number.isFinite(reason) ? reason : null,
    channels: kept,
  };
}

function channelOf(record: RawRecord, number: number): ChannelSamples {
  return record.channels[number - 1] ?? { state: "absent" };
}

function lossReason(data: Exclude<ChannelSamples, { state: "ok" }>): Reason {
  return data.state === "absent" ? "missing" : DAMAGE_REASONS[data.reason];
}

/** The numbers of one channel: suffix, unit, and their place in the analysis. */
export const ACCEL_VALUES = [
  ["accel_rms", "G", "accelRms"],
  ["accel_peak", "G", "accelPeak"],
  ["accel_pp", "G", "accelPeakToPeak"],
  ["crest_factor", "1", "crestFactor"],
  ["kurtosis", "1", "kurtosis"],
  ["vel_rms", "mm/s", "velocityRms"],
  ["disp_pp", "um", "displacementPeakToPeak"],
  ["env_rms", "GE", "envelopeRms"],
] as const satisfies readonly (readonly [string, string, keyof AxisAnalysis])[];

function putAnalysis(
  sheet: ValueSheet,
  number: number,
  analysis: AxisAnalysis,
  sensor: Sensor,
): void {
  for (const [suffix, unit, member] of ACCEL_VALUES) {
    sheet.number(`channel${number}_${suffix}`, unit, analysis[member]);
  }
  if (hasZone(sensor)) sheet.text(`channel${number}_zone`, axisZone(analysis, sensor));
  if (analysis.clipCount !== null && analysis.clipCount > 0) {
    sheet.attributes[`channel${number}_clip_count`] = analysis.clipCount;
  }
}

function putNothing(sheet: ValueSheet, number: number, withZone: boolean, doubt: Doubt | null) {
  const nothing = { value: null, doubt };
  for (const [suffix, unit] of ACCEL_VALUES) {
    sheet.number(`channel${number}_${suffix}`, unit, nothing);
  }
  if (withZone) sheet.text(`channel${number}_zone`, nothing);
}

/** A zone needs a machine class or configured limits; it is never guessed. */
export function hasZone(sensor: Sensor): boolean {
  return sensor.limits !== undefined || sensor.machineClass !== undefined;
}

/** Zone of one axis, with the quality of its velocity; the displacement check can only make it worse. */
function axisZone(
  analysis: Pick<AxisAnalysis, "velocityRms" | "displacementRms">,
  sensor: Sensor,
): Graded<Zone> {
  const { machineClass } = sensor;
  const velocityLimits = zoneLimits(sensor);
  const { value, doubt } = analysis.velocityRms;
  if (velocityLimits === null || value === null) return { value: null, doubt };
  // A velocity beyond the largest number is published as bad, so its zone is too.
  if (!Number.isFinite(value)) return bad("not_a_number");
  const displacementLimits =
    sensor.checkDisplacement === true && machineClass !== undefined
      ? DISPLACEMENT_LIMITS[machineClass]
      : undefined;
  const displacement = analysis.displacementRms.value;
  const second =
    displacementLimits !== undefined && displacement !== null
      ? zoneOf(displacement, displacementLimits)
      : null;
  return { value: worstZone([zoneOf(value, velocityLimits), second]), doubt };
}

function flagChannels(
  record: RawRecord,
  channels: readonly AccelChannel[],
  hasThird: boolean,
  sheet: ValueSheet,
): void {
  const lengths = new Set<number>();
  for (const data of record.channels) {
    if (data.state === "ok") lengths.add(data.samples.length);
    else if (data.state === "damaged") sheet.flags.add(data.reason satisfies Flag);
  }
  if (lengths.size > 1) sheet.flags.add("channel_length_mismatch");
  // Listing 1 and 2 means biaxial, listing 3 means triaxial. One listed channel says nothing about the node.
  const listed = channels.filter(({ isConfigured }) => isConfigured).map(({ number }) => number);
  const saysTriaxial = listed.includes(3);
  const saysBiaxial = listed.length === 2 && !saysTriaxial;
  if ((saysTriaxial && !hasThird) || (saysBiaxial && hasThird)) {
    sheet.flags.add("channel_count_mismatch");
  }
}

/** Sample rate of the record by the sensor's true clock, Hz; null without one. */
function rateOf(record: RawRecord, { sampleRateFactor = 1 }: Sensor): number | null {
  const { value } = numberField(record, "sample_rate");
  return value === null || sampleRateFactor === 1 ? value : decimal(value * sampleRateFactor);
}

function putAttributes(record: RawRecord, rate: number | null, sheet: ValueSheet): void {
  const { attributes, flags } = sheet;
  if (rate !== null) attributes.sample_rate = rate;
  attributes.samples = Math.max(
    0,
    ...record.channels.map((data) => (data.state === "ok" ? data.samples.length : 0)),
  );
  const reason = numberField(record, "recording_reason").value;
  if (reason !== null) attributes.recording_reason = reason;
  if (isCarried(record, "recording_reason") && ![1, 2, 3].includes(reason ?? 0)) {
    flags.add("recording_reason_unknown");
  }
  const device = record.fields.device;
  if (typeof device === "string") attributes.device = device;
  for (const field of ["time_data", "realnodetime"] as const) {
    const time = record.times[field];
    if (time !== undefined) attributes[field] = new Date(time.ms).toISOString();
  }
}
