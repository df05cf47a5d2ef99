import { setImmediate as turn } from "node:timers/promises";
import type { ParquetRow } from "../collect/main.ts";
import {
  type StoredReading,
  storedQuality,
  storedUnits,
  storedValues,
} from "../core/stored-reading.ts";
import { loadCollectBundle } from "./collect-bundle.ts";
import { type TextSink, UsageError } from "./command.ts";
import { writeOut } from "./write-out.ts";

/** A row per value, as in CSV. */
export function* measurementsOf(
  reading: StoredReading,
  site: string | null,
): Generator<ParquetRow> {
  const values = storedValues(reading);
  const units = storedUnits(reading);
  const quality = storedQuality(reading);
  for (const [name, value] of Object.entries(values)) {
    yield {
      timeMs: reading.timeMs,
      site,
      sensor: reading.sensor,
      kind: reading.kind,
      name,
      value,
      unit: units[name] ?? null,
      quality: quality[name]?.quality ?? "good",
      reason: quality[name]?.reason ?? null,
      id: reading.id,
    };
  }
}

/** Writes a Parquet file to the sink as it grows; returns the number of rows. A terminal is refused. */
export async function writeParquet(
  rows: Iterable<ParquetRow> | AsyncIterable<ParquetRow>,
  sink: TextSink,
  signal: AbortSignal,
): Promise<number> {
  if (sink.isTTY === true)
    throw new UsageError(
      "Parquet is a binary format: redirect it to a file with > readings.parquet",
    );
  const { MeasurementFile } = await loadCollectBundle();
  const file = new MeasurementFile();
  let count = 0;
  for await (const row of rows) {
    const bytes = await file.add(row);
    count += 1;
    if (bytes === null) continue;
    await writeOut(sink, bytes, signal);
    await turn();
    if (signal.aborted) return count;
  }
  await writeOut(sink, await file.finish(), signal);
  return count;
}
