/** Rows of stored and of kept measurements. */

import type { Measurement } from "../../core/kept/ports.ts";
import type { WaveformRef } from "../../core/stored-reading.ts";
import type { Row } from "../database/database.ts";
import { parseRefs } from "../readings/stored-reading.ts";
import type { MeasurementPlace } from "./kept-rows.ts";

/** With samples that are stored, before what is known of the machine and of why it is kept. */
export interface Found extends MeasurementPlace {
  readonly channels: readonly WaveformRef[];
  readonly ladder: boolean;
  /** Of kept ones; young ones are looked up. */
  readonly machine: { readonly running: boolean | null; readonly speedRpm: number | null } | null;
}

export function keptOf(stream: number, row: Row): Found {
  const [timeMs, id, waveforms, ladder, running, speedRpm] = row;
  return {
    stream,
    timeMs: timeMs as number,
    id: id as string,
    channels: parseRefs(waveforms as string),
    ladder: Number(ladder) > 0,
    machine: {
      running: running === null ? null : running === 1,
      speedRpm: speedRpm as number | null,
    },
  };
}

/** Rows of channels, those of one measurement together. */
export function measurementsOf(stream: number, rows: readonly Row[]): Found[] {
  const found = new Map<string, Found & { readonly channels: WaveformRef[] }>();
  for (const [timeMs, id, fileId, channel, axis] of rows) {
    const key = `${timeMs}/${id}`;
    const known = found.get(key);
    const ref = { fileId, channel, axis } as WaveformRef;
    if (known !== undefined) known.channels.push(ref);
    else {
      const place = { stream, timeMs: timeMs as number, id: id as string };
      found.set(key, { ...place, channels: [ref], ladder: false, machine: null });
    }
  }
  return [...found.values()];
}

export function newestFirst(a: Measurement, b: Measurement): number {
  return b.timeMs - a.timeMs || (a.reading < b.reading ? 1 : -1);
}
