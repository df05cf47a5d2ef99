/** Series whose values arrive as base64. */

import type { SPECTRA, SPECTRUM, WAVEFORM } from "../core/query/shown.ts";
import type { Of } from "../core/schema.ts";

interface Base64Series {
  readonly base64: string;
}

type Unpacked<T> = Omit<T, "base64"> & { readonly values: Float32Array };

export type SpectrumSeries = Unpacked<Of<typeof SPECTRUM>>;

export type WaveformSeries = Unpacked<Of<typeof WAVEFORM>>;

export type PackedSpectra = Of<typeof SPECTRA>;

/** A spectrum of a waterfall. */
export type FallSpectrum = Unpacked<PackedSpectra["spectra"][number]>;

export type WaterfallData = Omit<PackedSpectra, "spectra"> & {
  readonly spectra: readonly FallSpectrum[];
};

export function unpacked<T extends Base64Series>({ base64, ...rest }: T): Unpacked<T> {
  return { ...rest, values: floats(base64) };
}

/** Little-endian 32-bit floats in base64. */
function floats(base64: string): Float32Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  const values = new Float32Array(bytes.length >> 2);
  for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(4 * i, true);
  return values;
}
