import {
  type ChannelTones,
  isFlagged,
  type Reading,
  type RecordFacts,
} from "../../../core/reading.ts";
import type { StoredReading, WaveformRef } from "../../../core/stored-reading.ts";
import { encodeSamples } from "../../../lib/waveform-codec.ts";
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
  /** Assigned when written. */
  fileId: number | null;
}

/** A reading on its way to disk: texts and packed samples, no objects of the record. */
export interface PendingReading
  extends Pick<
    StoredReading,
    "id" | "timeMs" | "offsetMinutes" | "units" | "values" | "quality" | "attributes" | "raw"
  > {
  readonly hash: number;
  readonly hour: number;
  readonly isFuture: boolean;
  readonly waveforms: readonly PendingWaveform[];
  /** Why its samples were recorded; null if the record does not say. */
  readonly recordingReason: number | null;
  /** For diagnosis; never stored. */
  readonly tones: readonly ChannelTones[] | null;
  /** For baselines; never stored. */
  readonly record?: RecordFacts | undefined;
}

export function toPending(
  reading: Reading,
  waveforms: readonly PendingWaveform[] = [...packWaveforms(reading)],
): PendingReading {
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
    recordingReason: reading.waveform?.recordingReason ?? null,
    tones: reading.tones ?? null,
    record: reading.record,
  };
}

/** One channel per step: packing a long one takes tens of milliseconds on a small box. */
export function* packWaveforms({ waveform }: Reading): Generator<PendingWaveform> {
  if (waveform === null) return;
  for (const { channel, axis, samples } of waveform.channels) {
    if (samples.length === 0) continue;
    const { encoding, bytes } = encodeSamples(samples);
    yield {
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
  }
}

export function sampleCount({ waveform }: Reading): number {
  return waveform?.channels.reduce((sum, { samples }) => sum + samples.length, 0) ?? 0;
}

export function sampleBytes(reading: PendingReading): number {
  return reading.waveforms.reduce((sum, { samples }) => sum + (samples?.length ?? 0), 0);
}

/** Keys, indexes and outbox rows of a reading, bytes. */
const OVERHEAD_BYTES = 150;

/** Approximate size of a reading on disk. */
export function storedBytes(reading: PendingReading): number {
  const { values, quality, attributes, raw, waveforms } = reading;
  const texts = values.length + quality.length + attributes.length + raw.length;
  return waveforms.reduce((sum, { byteCount }) => sum + byteCount, texts + OVERHEAD_BYTES);
}
