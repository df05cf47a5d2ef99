import type { StoredReading, WaveformRef } from "../../../core/stored-reading.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import type { Streams } from "../database/streams.ts";

/** The hour of a time, as SQLite computes it: truncated towards zero. */
export function hourOf(timeMs: number): number {
  return Math.trunc(timeMs / HOUR_MS);
}

/** First 48 bits of an id: enough to distinguish the readings of one sensor, kind and millisecond. */
export function hashOf(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** Columns of a reading `r`, as a `StoredReadingRow` holds them. */
export const READING_COLUMNS = `r.seq, r.stream, r.time_ms, r.id, r.offset_minutes, r.stored_at_ms, r.unit_set,
  r."values", r.quality, r.attributes, r.raw, r.waveforms`;

export type StoredReadingRow = readonly [
  seq: number,
  stream: number,
  timeMs: number,
  id: Buffer,
  offsetMinutes: number | null,
  storedAtMs: number,
  unitSet: number,
  values: string,
  quality: string,
  attributes: string,
  raw: string,
  waveforms: string | null,
];

/** Columns after those of the reading are left alone. */
export function toStoredReading(
  row: readonly [...StoredReadingRow, ...unknown[]],
  streams: Streams,
): StoredReading {
  const { sensor, kind } = streams.get(row[1]);
  return {
    seq: row[0],
    id: row[3].toString("hex"),
    sensor,
    kind,
    timeMs: row[2],
    offsetMinutes: row[4],
    storedAtMs: row[5],
    units: streams.units(row[6]),
    values: row[7],
    quality: row[8],
    attributes: row[9],
    raw: row[10],
    waveforms: row[11] === null ? [] : parseRefs(row[11]),
  };
}

export function formatRefs(refs: readonly WaveformRef[]): string | null {
  if (refs.length === 0) return null;
  return refs.map((ref) => `${ref.fileId}:${ref.channel}:${ref.axis}`).join();
}

export function parseRefs(text: string): WaveformRef[] {
  return text.split(",").map((part) => {
    const [fileId, channel, axis] = part.split(":");
    return { fileId: Number(fileId), channel: Number(channel), axis: axis as WaveformRef["axis"] };
  });
}
