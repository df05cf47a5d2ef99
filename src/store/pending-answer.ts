import type { WaveformRef } from "../core/ports.ts";
import { isFlagged, type Reading } from "../core/reading.ts";
import { encodeSamples } from "../lib/waveform-codec.ts";
import { hashOf, hourOf } from "./stored-reading.ts";

/** Samples of one axis, packed and waiting to be written. */
export interface PendingWaveform {
  readonly channel: number;
  readonly axis: WaveformRef["axis"];
  readonly sampleRateHz: number;
  readonly calibration: number;
  readonly recordingReason: number | null;
  readonly sampleCount: number;
  readonly encoding: number;
  readonly byteCount: number;
  /** Null once spilled. */
  samples: Buffer | null;
  /** Given when written. */
  fileId: number | null;
}

/** A reading on its way to disk: texts and packed samples, no objects of the record. */
export interface PendingReading {
  readonly id: string;
  readonly hash: number;
  readonly timeMs: number;
  readonly hour: number;
  readonly isFuture: boolean;
  readonly offsetMinutes: number | null;
  readonly units: string;
  readonly values: string;
  readonly quality: string;
  readonly attributes: string;
  readonly raw: string;
  readonly waveforms: readonly PendingWaveform[];
  /** The waveform lanes want it. */
  readonly isWaveformOwed: boolean;
}

export function toPending(reading: Reading, isWaveformWanted: boolean): PendingReading {
  const waveforms = packWaveforms(reading);
  return {
    id: reading.id,
    hash: hashOf(reading.id),
    timeMs: reading.timeMs,
    hour: hourOf(reading.timeMs),
    isFuture: isFlagged(reading, "time_in_future"),
    offsetMinutes: reading.offsetMinutes,
    units: JSON.stringify(reading.units),
    values: JSON.stringify(reading.values),
    quality: JSON.stringify(reading.quality),
    attributes: JSON.stringify(reading.attributes),
    raw: JSON.stringify(reading.raw),
    waveforms,
    isWaveformOwed: isWaveformWanted && waveforms.length > 0,
  };
}

function packWaveforms(reading: Reading): PendingWaveform[] {
  const { waveform } = reading;
  if (waveform === null) return [];
  return waveform.channels
    .filter(({ samples }) => samples.length > 0)
    .map(({ channel, axis, samples }) => {
      const { encoding, bytes } = encodeSamples(samples);
      return {
        channel,
        axis,
        sampleRateHz: waveform.sampleRateHz,
        calibration: waveform.calibration,
        recordingReason: waveform.recordingReason,
        sampleCount: samples.length,
        encoding,
        samples: bytes,
        byteCount: bytes.length,
        fileId: null,
      };
    });
}

export function sampleBytes(reading: PendingReading): number {
  return reading.waveforms.reduce((sum, { samples }) => sum + (samples?.length ?? 0), 0);
}

/** Keys, indexes and outbox rows of a reading, bytes. */
const OVERHEAD_BYTES = 150;

/** What a reading takes on disk, about. */
export function storedBytes(reading: PendingReading): number {
  const { values, quality, attributes, raw, waveforms } = reading;
  const texts = values.length + quality.length + attributes.length + raw.length;
  return waveforms.reduce((sum, { byteCount }) => sum + byteCount, texts + OVERHEAD_BYTES);
}
