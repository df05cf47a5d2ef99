/** Stored waveforms as files: one for each axis of a measurement, and an index of their content. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { Site } from "../core/site.ts";
import type { StoredReading, StoredWaveform } from "../core/stored-reading.ts";
import { csvField } from "../core/text/csv.ts";
import { csvBytes, npyBytes, wavBytes } from "../lib/waveform-files.ts";
import { meanFree } from "../pipeline/signal/time-waveform.ts";
import type { ReadOnlyStore } from "../pipeline/store/read-only-store.ts";
import { SITE_COLUMNS, siteCells } from "./export-site.ts";

const WAVEFORM_FORMATS = ["csv", "wav", "npy"] as const;
type WaveformFormat = (typeof WAVEFORM_FORMATS)[number];

const INDEX = "index.csv";
const INDEX_HEADER = `file,time,sensor,channel,axis,unit,sample_rate,samples,calibration,recording_reason,id,${SITE_COLUMNS}\n`;

export interface WaveformExport {
  readonly store: ReadOnlyStore;
  readonly site: Site | null;
  readonly directory: string;
  readonly format: WaveformFormat;
  readonly progress: (text: string) => void;
}

/** Mean-free acceleration in G, as it is published. Returns how many files were written. */
export async function exportWaveforms(
  { store, site, directory, format, progress }: WaveformExport,
  readings: Iterable<StoredReading>,
  signal: AbortSignal,
): Promise<number> {
  mkdirSync(directory, { recursive: true });
  const index = join(directory, INDEX);
  const listed = listedIn(index);
  let files = 0;
  for (const reading of readings) {
    for (const { fileId } of reading.waveforms) {
      const stored = store.waveforms.read(fileId);
      // Samples are deleted before their readings (WAVEFORM_DAYS).
      if (stored === null) continue;
      const name = fileName(stored, format);
      writeFileSync(join(directory, name), bytesOf(stored, format));
      if (!listed.has(name)) appendFileSync(index, indexLine(name, stored, site));
      files += 1;
      progress(`${files} files, up to ${new Date(stored.timeMs).toISOString()}`);
    }
    await turn();
    if (signal.aborted) break;
  }
  return files;
}

/** The files of an export before: they are written again, and listed once. The index is made where there is none. */
function listedIn(index: string): ReadonlySet<string> {
  if (!existsSync(index)) writeFileSync(index, INDEX_HEADER);
  const lines = readFileSync(index, "utf8").split("\n");
  return new Set(lines.map((line) => line.slice(0, line.indexOf(","))));
}

function bytesOf({ samples, calibration, sampleRateHz }: StoredWaveform, format: WaveformFormat) {
  const mean = samples.reduce((sum, count) => sum + count, 0) / samples.length;
  const signal = meanFree(samples, mean, calibration);
  switch (format) {
    case "csv":
      return csvBytes(signal, sampleRateHz, "G");
    case "wav":
      return wavBytes(signal, sampleRateHz);
    case "npy":
      return npyBytes(signal);
    default:
      return format satisfies never;
  }
}

/** Two records of one time are distinguished by their ids. Not every system allows colons in file names. */
function fileName({ sensor, timeMs, readingId, channel }: StoredWaveform, format: string): string {
  const time = new Date(timeMs).toISOString().replaceAll(/[-:]/g, "");
  const code = sensor.replaceAll(/[^\w.-]/g, "_");
  return `${code}_${time}_channel${channel}_${readingId.slice(0, 8)}.${format}`;
}

function indexLine(name: string, stored: StoredWaveform, site: Site | null): string {
  const { sensor, timeMs, channel, axis, sampleRateHz, samples, calibration } = stored;
  const cells = [
    name,
    new Date(timeMs).toISOString(),
    sensor,
    `channel${channel}`,
    axis,
    "G",
    sampleRateHz,
    samples.length,
    calibration,
    stored.recordingReason,
    stored.readingId,
  ];
  return `${cells.map((cell) => csvField(cell)).join(",")},${siteCells(site, sensor)}\n`;
}
