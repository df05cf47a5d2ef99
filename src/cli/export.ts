import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { COUNT } from "../agent/assemble.ts";
import type { ParquetRow } from "../collect/main.ts";
import { COLLECT_SCHEMA } from "../config/collect-names.ts";
import { loadSite } from "../config/site.ts";
import { withSchema } from "../core/addresses/database-url.ts";
import { KINDS, type Kind, sameCode } from "../core/sensor.ts";
import {
  type StoredReading,
  storedQuality,
  storedUnits,
  storedValues,
} from "../core/stored-reading.ts";
import { csvField as cell } from "../core/text/csv.ts";
import { codeOf, messageOf } from "../core/thrown.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import { nativeBinding } from "../lib/paths.ts";
import { openReadOnly } from "../pipeline/store/read-only-store.ts";
import { loadCollectBundle } from "./collect-bundle.ts";
import { type CommandContext, UsageError } from "./command.ts";
import { loadProcessSettings } from "./configuration.ts";
import { writeDayFiles } from "./export-day-files.ts";
import { excelLines, tableStyle } from "./export-excel.ts";
import { hourLines, spanFlag } from "./export-hours.ts";
import { measurementsOf, writeParquet } from "./export-parquet.ts";
import { SITE_COLUMNS, siteCells, siteMembers } from "./export-site.ts";
import { exportWaveforms } from "./export-waveforms.ts";
import { ProgressLine } from "./progress.ts";
import { parseTime } from "./times.ts";
import { writeOut } from "./write-out.ts";

/** Text is written in pieces of about this size, and the event loop gets a turn between them. */
const PIECE_CHARACTERS = 65_536;
/** The first is the head. */
const SHEET_ROWS = 1_048_576;

const CSV_HEADER = `time,sensor,kind,value_name,value,unit,quality,reason,id,${SITE_COLUMNS}\n`;

/** Stored readings to stdout, in order of time. The store is opened read-only, so an agent may be running. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr, signal } = context;
  const directory = flags.text("waveforms");
  const format = flags.choice("format", ["csv", "jsonl", "parquet", "wav", "npy"]) ?? "csv";
  if (directory === null && (format === "wav" || format === "npy")) {
    throw new UsageError(`--format ${format} is a waveform format; add --waveforms DIR`);
  }
  if (directory !== null && (format === "jsonl" || format === "parquet")) {
    throw new UsageError(`--format ${format} is not a waveform format; use csv, wav or npy`);
  }
  const kind = flags.choice("kind", KINDS) ?? undefined;
  const settings = loadProcessSettings(context);
  const zone = settings.gatewayTimezone;
  const fromMs = parseTime("from", flags.required("from"), zone, false);
  const style = tableStyle(flags, zone);
  const span = spanFlag(flags);
  const toMs = parseTime("to", flags.required("to"), zone, true);
  if (toMs <= fromMs) throw new UsageError("--to is before --from");
  const address = flags.text("db");
  const db = address === null ? null : withSchema(address, context.env[COLLECT_SCHEMA]);
  const toDirectory = flags.text("to-dir");
  if (toDirectory !== null && db === null) throw new UsageError("--to-dir requires --db");
  if (db !== null) {
    if (format !== "parquet") throw new UsageError("--db requires --format parquet");
    const { knowsSite, readMeasurements, readSiteDays } = await loadCollectBundle();
    const range = {
      fromMs,
      toMs,
      site: flags.text("site"),
      sensor: flags.text("sensor"),
      kind: kind ?? null,
    };
    if (range.site !== null && !(await knowsSite(db, range.site)))
      stderr.write(
        `warning: the database has no readings of a site ${JSON.stringify(range.site)}; \`gateside fleet --db\` lists them\n`,
      );
    if (toDirectory !== null) {
      const folder = resolve(context.cwd, toDirectory);
      const days = readSiteDays(db, range);
      const { written, failures } = await writeDayFiles(days, folder, signal);
      for (const { site, error } of failures)
        stderr.write(`error: ${JSON.stringify(site)} is not complete: ${messageOf(error)}\n`);
      stderr.write(`${written} files in ${toDirectory}\n`);
      return signal.aborted || failures.length > 0 ? 1 : 0;
    }
    await writeParquet(readMeasurements(db, range), stdout, signal);
    return signal.aborted && signal.reason !== "EPIPE" ? 1 : 0;
  }
  if (flags.has("site")) throw new UsageError("--site requires --db: a box has one site");

  const site = siteOf(settings, stderr);
  const store = openReadOnly(settings.dataDir, nativeBinding(), COUNT?.read);
  const progress = new ProgressLine(stderr);
  let count = 0;
  /** Of those that were stored at the start. */
  let stored: number | null = null;
  let left = 0;
  const noun = span === null ? "readings" : `values of ${span}`;
  try {
    const sensor = sensorOf(flags.text("sensor"), store.history.streams());
    // Read in short pieces: the agent's log grows while a reader has it open. Retention may remove some meanwhile.
    const query = { sensor, kind, fromMs, toMs, untilSeq: store.history.newestSeq() };
    const streams = store.history
      .streams()
      .filter((one) => (sensor ?? one.sensor) === one.sensor && (kind ?? one.kind) === one.kind);
    const readings = () => {
      stored ??= store.history.count(query);
      left = stored;
      const pages = store.history.merged({ streams, fromMs, toMs });
      return each(pages, query.untilSeq, () => (left -= 1));
    };
    if (directory !== null) {
      const made = await exportWaveforms(
        {
          store,
          site,
          directory: resolve(context.cwd, directory),
          format: format === "wav" || format === "npy" ? format : "csv",
          progress: (text) => progress.show(text),
        },
        store.history.range({ ...query, kind: "accel" }),
        signal,
      );
      progress.end();
      stderr.write(`${made} waveform files in ${directory}\n`);
      return signal.aborted ? 1 : 0;
    }
    const places = new Map<string, string>();
    const placeOf = (code: string): string => {
      let place = places.get(code);
      if (place === undefined) {
        place = format === "csv" ? siteCells(site, code) : siteMembers(site, code);
        places.set(code, place);
      }
      return place;
    };
    if (format === "parquet") {
      await writeParquet(everyValue(readings(), site?.site ?? null), stdout, signal);
      noteLeft(left, stderr, signal);
      return signal.aborted && signal.reason !== "EPIPE" ? 1 : 0;
    }
    const lines =
      span !== null
        ? hourLines(store.hours, streams, { fromMs, toMs }, { span, isCsv: format === "csv" })
        : style === null
          ? plainLines(readings(), format === "csv" ? csvLines : jsonLine, placeOf)
          : excelLines(
              readings,
              style,
              (code) => site?.sensors.find((one) => sameCode(one.code, code))?.name ?? "",
            );
    const hasHead = span !== null ? format === "csv" : style !== null;
    let piece = !hasHead && format === "csv" ? CSV_HEADER : "";
    count = hasHead ? -1 : 0;
    for (const line of lines) {
      piece += line;
      count += 1;
      if (piece.length < PIECE_CHARACTERS) continue;
      progress.show(`${count} ${noun}`);
      await writeOut(stdout, piece, signal);
      piece = "";
      await turn();
      if (signal.aborted) return signal.reason === "EPIPE" ? 0 : 1;
    }
    await writeOut(stdout, piece, signal);
    if (style !== null && count >= SHEET_ROWS)
      stderr.write(
        `note: ${count} rows: a sheet of Excel ends at ${SHEET_ROWS}, so it would leave out the last; choose a shorter range, --sensor or --kind\n`,
      );
    noteLeft(left, stderr, signal);
    if (count === 0) stderr.write(`note: ${emptyNote(store.history, sensor, kind)}\n`);
  } finally {
    progress.end();
    store.close();
  }
  if (stderr.isTTY) stderr.write(`${count} ${noun}\n`);
  return 0;
}

/** Without those that were stored after the start. */
function* each(
  pages: Iterable<readonly StoredReading[]>,
  untilSeq: number,
  seen: () => void,
): Generator<StoredReading> {
  for (const page of pages)
    for (const reading of page) {
      if (reading.seq > untilSeq) continue;
      seen();
      yield reading;
    }
}

function noteLeft(left: number, stderr: CommandContext["stderr"], signal: AbortSignal): void {
  if (left > 0 && !signal.aborted)
    stderr.write(
      `note: ${left} readings were removed by their age or for space before they were read\n`,
    );
}

/** A text a reading. */
function* plainLines(
  readings: Iterable<StoredReading>,
  write: (reading: StoredReading, place: string) => string,
  placeOf: (code: string) => string,
): Generator<string> {
  for (const reading of readings) yield write(reading, placeOf(reading.sensor));
}

type LatestTime = Pick<ReturnType<typeof openReadOnly>["history"], "streams" | "latest">;

/** Why an export may be empty: the newest reading reveals a wrong range. */
function emptyNote(
  history: LatestTime,
  sensor: string | undefined,
  kind: Kind | undefined,
): string {
  const times = history
    .streams()
    .filter((one) => (sensor ?? one.sensor) === one.sensor && (kind ?? one.kind) === one.kind)
    .map((one) => history.latest(one.sensor, one.kind)?.timeMs ?? Number.NEGATIVE_INFINITY);
  const newest = Math.max(...times);
  return Number.isFinite(newest)
    ? `nothing is stored in that range; the newest reading is from ${new Date(newest).toISOString()}`
    : "nothing matches the request";
}

/** Names and locations; without a readable site file, the export continues without them. */
function siteOf({ siteFile }: { readonly siteFile: string }, stderr: CommandContext["stderr"]) {
  try {
    const { site } = loadSite(readFileSync(siteFile, "utf8"), siteFile);
    if (site !== null) return site;
    stderr.write(
      `note: ${siteFile} has errors (see gateside check); names and locations are left out\n`,
    );
  } catch (error) {
    // A store that was copied to another machine may have none beside it.
    if (!stderr.isTTY && codeOf(error) === "ENOENT") return null;
    stderr.write(`note: ${siteFile} ${fileTrouble(error)}; names and locations are left out\n`);
  }
  return null;
}

function* everyValue(
  readings: Iterable<StoredReading>,
  site: string | null,
): Generator<ParquetRow> {
  for (const reading of readings) yield* measurementsOf(reading, site);
}

/** The code as it was stored; leading zeros do not matter. */
function sensorOf(
  code: string | null,
  streams: readonly { readonly sensor: string }[],
): string | undefined {
  if (code === null) return undefined;
  const stored = streams.find((stream) => sameCode(stream.sensor, code));
  if (!stored) {
    const known = [...new Set(streams.map((s) => s.sensor))].slice(0, 20).join(", ");
    throw new UsageError(
      `--sensor ${code}: no stored readings; there are readings of: ${known || "none"}`,
    );
  }
  return stored.sensor;
}

function csvLines(reading: StoredReading, place: string): string {
  const values = storedValues(reading);
  const units = storedUnits(reading);
  const quality = storedQuality(reading);
  const head = `${new Date(reading.timeMs).toISOString()},${cell(reading.sensor)},${reading.kind}`;
  let lines = "";
  for (const [name, value] of Object.entries(values)) {
    const doubt = quality[name];
    lines += `${head},${cell(name)},${cell(value)},${cell(units[name])},${doubt?.quality ?? "good"},${doubt?.reason ?? ""},${reading.id},${place}\n`;
  }
  return lines;
}

function jsonLine(reading: StoredReading, place: string): string {
  const sensor = JSON.stringify(reading.sensor);
  return `{"id":"${reading.id}","sensor":${sensor},"kind":"${reading.kind}","time":"${new Date(reading.timeMs).toISOString()}","values":${reading.values},"units":${reading.units},"quality":${reading.quality},"attributes":${reading.attributes}${place}}\n`;
}
