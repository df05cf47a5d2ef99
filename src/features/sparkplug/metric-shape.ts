/** What a device's birth declares: values, writable settings, waveforms. */
import type { Kind } from "../../core/sensor.ts";
import type { StoredWaveform } from "../../core/stored-reading.ts";
import type { CommandMetric, Datatype, Property } from "./payload.ts";

/** One metric a device can carry. */
export interface MetricShape {
  readonly name: string;
  readonly type: Datatype;
  readonly unit: string | null;
  /** Source of its value; null for metrics that no reading fills (settings, waveforms, alarms). */
  readonly source: { readonly kind: Kind; readonly value: string } | null;
  /** A text that only the site file changes. */
  readonly constant?: string | null;
  /** Further properties its birth declares, e.g. the axis of a waveform. */
  readonly properties?: readonly Property[];
  /** The site file no longer names it; it is announced only because readings of it are still pending. */
  readonly isFormer?: boolean;
}

/** Sensor settings that a DCMD may contain (contract section 8), as metrics that are written and never read back. */
const SETTINGS = [
  ["IntervalSendData", "Int32"],
  ["Range", "Int32"],
  ["IntervalRMS", "Int32"],
  ["alarm1", "Double"],
  ["alarm2", "Double"],
  ["alarm3", "Double"],
] as const;

/** The outcome of the last command, as text. */
export const SETTINGS_OUTCOME = "settings/outcome";

/** Births contain these only if commands are enabled. */
export function settingShapes(): MetricShape[] {
  const writable = SETTINGS.map(([field, type]) => ({ name: `settings/${field}`, type }));
  return [...writable, { name: SETTINGS_OUTCOME, type: "String" as const }].map((shape) => ({
    ...shape,
    unit: null,
    source: null,
  }));
}

/** Settings named in a DCMD; null if it names none. The command room decides whether they are valid. */
export function settingsOf(metrics: readonly CommandMetric[]): Record<string, number> | null {
  const settings: Record<string, number> = {};
  for (const [field] of SETTINGS) {
    const value = metrics.find((m) => m.name === `settings/${field}`)?.value;
    if (typeof value === "number") settings[field] = value;
    // A 64-bit number beyond 2^53 is not a setting; it becomes a number that the check rejects.
    else if (typeof value === "bigint") settings[field] = Number(value);
  }
  return Object.keys(settings).length === 0 ? null : settings;
}

export const waveformMetricName = (channel: number): string => `accel/waveform/channel${channel}`;

/** `name` is the channel's name in the site file, if it has one. */
export function waveformShape(channel: number, axis: string, name?: string): MetricShape {
  return {
    name: waveformMetricName(channel),
    type: "Bytes",
    unit: "G",
    source: null,
    properties: [
      ...(name === undefined ? [] : [{ key: "name", type: "String", value: name } as const]),
      { key: "axis", type: "String", value: axis },
      { key: "sampleRate", type: "Double", value: null },
    ],
  };
}

export function waveformProperties(waveform: StoredWaveform): Property[] {
  return [
    { key: "axis", type: "String", value: waveform.axis },
    { key: "sampleRate", type: "Double", value: waveform.sampleRateHz },
  ];
}

/** The mean-free acceleration in G as 32-bit little-endian floats, as in the JSON waveform payload. */
export function waveformBytes(waveform: StoredWaveform): Uint8Array {
  const { samples, calibration } = waveform;
  let sum = 0;
  for (const sample of samples) sum += sample;
  const mean = sum / samples.length;
  const bytes = new Uint8Array(samples.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [index, sample] of samples.entries()) {
    view.setFloat32(index * 4, (sample - mean) * calibration, true);
  }
  return bytes;
}
