/**
 * Waveforms for platforms with small messages: 16-bit counts as recorded, half the size of floats, in as many parts as
 * needed. G = (count - offset) × scale, which is the mean-free acceleration of the contract's waveform.
 */
import type { Message } from "../../core/message.ts";
import type { WaveformReader } from "../../core/ports.ts";
import type { StoredWaveform } from "../../core/stored-reading.ts";
import type { Encode } from "../../pipeline/publish/formats/encoder.ts";
import { encodeNothing } from "../../pipeline/publish/formats/gateside.ts";
import type { ProfileOptions } from "../../pipeline/publish/formats/profile.ts";
import { createWaveformHead, eachWaveform } from "../../pipeline/publish/formats/waveform.ts";

interface WaveformPart {
  /** 0 for the first. */
  readonly index: number;
  readonly content: object;
}

export interface CompactOptions {
  /** Largest payload that the platform accepts. */
  readonly bytesMax: number;
  readonly message: (waveform: StoredWaveform, part: WaveformPart) => Message;
}

/** For everything in a part besides its samples, including names of 200 characters in UTF-8. */
const HEAD_BYTES_MAX = 4096;
const BYTES_PER_SAMPLE = 2;

export function compactWaveforms(
  waveforms: WaveformReader,
  options: ProfileOptions,
  compact: CompactOptions,
): Encode {
  const { waveforms: which } = options;
  if (which === "never") return encodeNothing;
  const headOf = createWaveformHead(options);
  // Base64 makes 4 characters of 3 bytes.
  const bytes = Math.floor(((compact.bytesMax - HEAD_BYTES_MAX) * 3) / 4);
  const samplesMax = Math.floor(bytes / BYTES_PER_SAMPLE);
  return eachWaveform(waveforms, which, (waveform) => {
    const { samples, calibration } = waveform;
    const offset = samples.reduce((sum, sample) => sum + sample, 0) / Math.max(1, samples.length);
    const parts = Math.max(1, Math.ceil(samples.length / samplesMax));
    return Array.from({ length: parts }, (_, index) => {
      const first = index * samplesMax;
      const some = samples.subarray(first, first + samplesMax);
      const content = {
        ...headOf(waveform),
        encoding: "int16",
        scale: calibration,
        offset,
        part: index + 1,
        parts,
        first,
        base64: packCounts(some),
      };
      return compact.message(waveform, { index, content });
    });
  });
}

/** Base64 of 16-bit little-endian integers. */
function packCounts(samples: Int16Array): string {
  const bytes = Buffer.alloc(samples.length * BYTES_PER_SAMPLE);
  let at = 0;
  for (const sample of samples) at = bytes.writeInt16LE(sample, at);
  return bytes.toString("base64");
}
