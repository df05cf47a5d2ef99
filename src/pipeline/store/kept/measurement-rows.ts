/** Rows of stored and of kept measurements. */

import type { Measurement } from "../../../core/kept/ports.ts";
import type { WaveformRef } from "../../../core/stored-reading.ts";
import { parseRefs } from "../readings/stored-reading.ts";
import type { MeasurementPlace } from "./kept-rows.ts";

/** With samples that are stored, before what is known of the machine and of why it is kept. */
export interface Found extends MeasurementPlace {
  readonly channels: readonly WaveformRef[];
  readonly ladder: boolean;
  /** Of kept ones; young ones are looked up. */
  readonly machine: { readonly running: boolean | null; readonly speedRpm: number | null } | null;
}

/** Of the reading, as text. */
export const ID = "lower(hex(reading_id))";

export interface KeptMeasurementRow extends Omit<MeasurementPlace, "stream"> {
  readonly waveforms: string;
  /** The rung, or 0. */
  readonly ladder: number;
  readonly running: 0 | 1 | null;
  readonly speedRpm: number | null;
}
export const KEPT_COLUMNS = `time_ms AS timeMs, ${ID} AS id, waveforms, ladder, running, speed_rpm AS speedRpm`;

export function keptOf(stream: number, row: KeptMeasurementRow): Found {
  const { timeMs, id, waveforms, ladder, running, speedRpm } = row;
  return {
    stream,
    timeMs,
    id,
    channels: parseRefs(waveforms),
    ladder: ladder > 0,
    machine: { running: running === null ? null : running === 1, speedRpm },
  };
}

/** A channel of a measurement that is not kept. */
export interface MeasuredChannel extends Omit<MeasurementPlace, "stream">, WaveformRef {}
export const CHANNEL_COLUMNS = `time_ms AS timeMs, ${ID} AS id, file_id AS fileId, channel, axis`;

/** Rows of channels, those of one measurement together. */
export function measurementsOf(stream: number, rows: readonly MeasuredChannel[]): Found[] {
  const found = new Map<string, Found & { readonly channels: WaveformRef[] }>();
  for (const { timeMs, id, ...ref } of rows) {
    const key = `${timeMs}/${id}`;
    const known = found.get(key);
    if (known !== undefined) known.channels.push(ref);
    else found.set(key, { stream, timeMs, id, channels: [ref], ladder: false, machine: null });
  }
  return [...found.values()];
}

export function newestFirst(a: Measurement, b: Measurement): number {
  return b.timeMs - a.timeMs || (a.reading < b.reading ? 1 : -1);
}
