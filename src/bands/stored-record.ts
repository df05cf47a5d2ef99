import type { BandRecord } from "../core/bands/band-reading.ts";
import type { Value } from "../core/reading.ts";
import { worstZone, type Zone } from "../core/signal/severity.ts";
import { storedQuality, storedValues } from "../core/stored-reading.ts";
import type { BandCandidate, BandMakerParts } from "./band-maker-parts.ts";

/** The record of a sensor as its bands need it; null once its samples are gone, or if it has bands. */
export function storedRecord(
  { history, waveforms }: Pick<BandMakerParts, "history" | "waveforms">,
  code: string,
  { id, timeMs }: BandCandidate,
): BandRecord | null {
  const at = { sensor: code, fromMs: timeMs, toMs: timeMs + 1 };
  const record = [...history.range({ ...at, kind: "accel" })].find((one) => one.id === id);
  const others = [...history.range({ ...at, kind: "bands" })];
  const hasBands = others.some(({ attributes }) => JSON.parse(attributes).record_id === id);
  if (record === undefined || hasBands) return null;
  const stored = record.waveforms.map(({ fileId }) => waveforms.read(fileId));
  const [first] = stored;
  if (first === undefined || first === null) return null;
  const values = storedValues(record);
  const quality = storedQuality(record);
  const channels = [1, 2, 3].filter((channel) => `channel${channel}_accel_rms` in values);
  return {
    id,
    timeMs,
    offsetMinutes: record.offsetMinutes,
    sampleRateHz: first.sampleRateHz,
    calibration: first.calibration,
    zone: worstZone(channels.map((channel) => zoneIn(values[`channel${channel}_zone`]))),
    channels: channels.map((channel) => ({
      channel,
      samples: stored.find((one) => one?.channel === channel)?.samples ?? null,
      doubt: quality[`channel${channel}_accel_rms`] ?? { quality: "bad", reason: "missing" },
    })),
  };
}

function zoneIn(value: Value | undefined): Zone | null {
  return value === "A" || value === "B" || value === "C" || value === "D" ? value : null;
}
