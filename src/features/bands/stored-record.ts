import type { BandRecord } from "../../core/bands/band-reading.ts";
import { parsedObject } from "../../core/parsed-json.ts";
import type { Reading, Value } from "../../core/reading.ts";
import {
  type StoredReading,
  storedAttributes,
  storedQuality,
  storedValues,
} from "../../core/stored-reading.ts";
import { memberNumber } from "../../core/value-number.ts";
import { worstZone, type Zone } from "../../pipeline/signal/severity.ts";
import type { BandCandidate, BandMakerParts } from "./band-maker-parts.ts";

/** The samples of one channel. */
interface RecordSamples {
  readonly channel: number;
  readonly samples: Int16Array;
  readonly sampleRateHz: number;
  readonly calibration: number;
}

const CHANNELS = [1, 2, 3] as const;

/** Whether a record never had samples to measure: no calibration, or damaged or missing channels. Its bands say so. */
export function hadNoSamples(record: Pick<StoredReading, "values" | "waveforms">): boolean {
  if (record.waveforms.length > 0) return false;
  const values = storedValues(record);
  return CHANNELS.every((channel) => memberNumber(values, `channel${channel}_accel_rms`) === null);
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
  const stored = record.waveforms.map(({ fileId }) => waveforms.read(fileId));
  if (stored[0] === null || (stored.length === 0 && !hadNoSamples(record))) return null;
  const values = storedValues(record);
  const quality = storedQuality(record);
  const attributes = storedAttributes(record);
  return bandRecord(
    { ...record, values, quality, attributes },
    stored.filter((one) => one !== null),
  );
}

/** The same of a record that was read once more. */
export function readRecord(reading: Reading): BandRecord {
  const { waveform } = reading;
  const channels = waveform?.channels.map((channel) => ({ ...waveform, ...channel }));
  return bandRecord(reading, channels ?? []);
}

/** Whether a record has bands. */
export function hasBands(
  { history }: Pick<BandMakerParts, "history">,
  code: string,
  { id, timeMs }: BandCandidate,
): boolean {
  const at = { sensor: code, kind: "bands", fromMs: timeMs, toMs: timeMs + 1 } as const;
  return [...history.range(at)].some(
    ({ attributes }) => parsedObject(attributes)?.["record_id"] === id,
  );
}

function bandRecord(
  {
    id,
    timeMs,
    offsetMinutes,
    values,
    quality,
    attributes,
  }: Pick<Reading, "id" | "timeMs" | "offsetMinutes" | "values" | "quality" | "attributes">,
  stored: readonly RecordSamples[],
): BandRecord {
  const [first] = stored;
  const channels = CHANNELS.filter((channel) => `channel${channel}_accel_rms` in values);
  return {
    id,
    timeMs,
    offsetMinutes,
    sampleRateHz: first?.sampleRateHz ?? memberNumber(attributes, "sample_rate"),
    // The longest: a damaged channel makes no record of another length.
    sampleCount:
      first === undefined
        ? (memberNumber(attributes, "samples") ?? 0)
        : Math.max(...stored.map(({ samples }) => samples.length)),
    calibration: first?.calibration ?? null,
    flags: Array.isArray(attributes["flags"]) ? attributes["flags"] : [],
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
