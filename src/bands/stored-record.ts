import type { BandRecord } from "../core/bands/band-reading.ts";
import type { Doubt } from "../core/quality.ts";
import type { Reading, Value } from "../core/reading.ts";
import { worstZone, type Zone } from "../core/signal/severity.ts";
import { storedQuality, storedValues } from "../core/stored-reading.ts";
import type { BandCandidate, BandMakerParts } from "./band-maker-parts.ts";

/** The samples of one channel. */
interface RecordSamples {
  readonly channel: number;
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
  readonly calibration: number;
}

/** The stored record of a sensor as its bands need it; null once its samples are gone. */
export function storedRecord(
  { history, waveforms }: Pick<BandMakerParts, "history" | "waveforms">,
  code: string,
  { id, timeMs }: BandCandidate,
): BandRecord | null {
  const at = { sensor: code, fromMs: timeMs, toMs: timeMs + 1 };
  const record = [...history.range({ ...at, kind: "accel" })].find((one) => one.id === id);
  if (record === undefined) return null;
  const values = storedValues(record);
  const quality = storedQuality(record);
  const stored = record.waveforms.map(({ fileId }) => waveforms.read(fileId));
  if (stored[0] === null) return null;
  return bandRecord(
    { ...record, values, quality },
    stored.filter((one) => one !== null),
  );
}

/** The same of a record that was read once more; null if it has no samples. */
export function readRecord(reading: Reading): BandRecord | null {
  const { waveform } = reading;
  if (waveform === null) return null;
  return bandRecord(
    reading,
    waveform.channels.map((channel) => ({ ...waveform, ...channel })),
  );
}

/** Whether a record has bands. */
export function hasBands(
  { history }: Pick<BandMakerParts, "history">,
  code: string,
  { id, timeMs }: BandCandidate,
): boolean {
  const at = { sensor: code, kind: "bands", fromMs: timeMs, toMs: timeMs + 1 } as const;
  return [...history.range(at)].some(({ attributes }) => JSON.parse(attributes).record_id === id);
}

interface RecordValues extends Pick<BandRecord, "id" | "timeMs" | "offsetMinutes"> {
  readonly values: Readonly<Record<string, Value>>;
  readonly quality: Readonly<Record<string, Doubt>>;
}

function bandRecord(
  { id, timeMs, offsetMinutes, values, quality }: RecordValues,
  stored: readonly RecordSamples[],
): BandRecord | null {
  const [first] = stored;
  if (first === undefined) return null;
  const channels = [1, 2, 3].filter((channel) => `channel${channel}_accel_rms` in values);
  return {
    id,
    timeMs,
    offsetMinutes,
    sampleRateHz: first.sampleRateHz,
    calibration: first.calibration,
    zone: worstZone(channels.map((channel) => zoneIn(values[`channel${channel}_zone`]))),
    channels: channels.map((channel) => ({
      channel,
      samples: stored.find((one) => one.channel === channel)?.samples ?? null,
      doubt: quality[`channel${channel}_accel_rms`] ?? { quality: "bad", reason: "missing" },
    })),
  };
}

function zoneIn(value: Value | undefined): Zone | null {
  return value === "A" || value === "B" || value === "C" || value === "D" ? value : null;
}
