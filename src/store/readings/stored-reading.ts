import type { StoredReading, WaveformRef } from "../../core/stored-reading.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import type { Row } from "../database/database.ts";
import type { Streams } from "../database/streams.ts";

/** The hour of a time, as SQLite computes it: truncated towards zero. */
export function hourOf(timeMs: number): number {
  return Math.trunc(timeMs / HOUR_MS);
}

/** First 48 bits of an id: enough to distinguish the readings of one sensor, kind and millisecond. */
export function hashOf(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** Columns of a reading `r`, in the order `toStoredReading` takes them. */
export const READING_COLUMNS = `r.seq, r.stream, r.time_ms, r.id, r.offset_minutes, r.stored_at_ms, r.unit_set,
  r."values", r.quality, r.attributes, r.raw, r.waveforms`;

/** @param at index of the reading's first column in the row */
export function toStoredReading(row: Row, streams: Streams, at = 0): StoredReading {
  const { sensor, kind } = streams.get(row[at + 1] as number);
  return {
    seq: row[at] as number,
    id: (row[at + 3] as Buffer).toString("hex"),
    sensor,
    kind,
    timeMs: row[at + 2] as number,
    offsetMinutes: row[at + 4] as number | null,
    storedAtMs: row[at + 5] as number,
    units: streams.units(row[at + 6] as number),
    values: row[at + 7] as string,
    quality: row[at + 8] as string,
    attributes: row[at + 9] as string,
    raw: row[at + 10] as string,
    waveforms: row[at + 11] === null ? [] : parseRefs(row[at + 11] as string),
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
