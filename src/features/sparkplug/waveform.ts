import type { StoredWaveform } from "../../core/stored-reading.ts";
import type { MetricShape } from "./metric-shape.ts";
import type { Property } from "./payload.ts";

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
