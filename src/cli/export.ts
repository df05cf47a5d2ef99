import { setImmediate as turn } from "node:timers/promises";
import type { StoredReading } from "../core/ports.ts";
import type { Doubt } from "../core/quality.ts";
import type { Value } from "../core/reading.ts";
import { KINDS, sameCode } from "../core/sensor.ts";
import { nativeBinding } from "../lib/paths.ts";
import { openReadOnly } from "../store/read-only-store.ts";
import { type CommandContext, UsageError } from "./command.ts";
import { loadProcessSettings } from "./configuration.ts";
import { ProgressLine } from "./progress.ts";
import { parseTime } from "./times.ts";
import { writeOut } from "./write-out.ts";

/** Text is handed on in pieces of about this size, and the event loop gets a turn between them. */
const PIECE_CHARACTERS = 65_536;

const CSV_HEADER = "time,sensor,kind,value_name,value,unit,quality,reason,id\n";

/** Stored readings to stdout, in order of time. The store is opened read-only beside a running agent. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr, signal } = context;
  const format = flags.choice("format", ["csv", "jsonl"]) ?? "csv";
  const kind = flags.choice("kind", KINDS) ?? undefined;
  const settings = loadProcessSettings(context);
  const zone = settings.gatewayTimezone;
  const fromMs = parseTime("from", flags.required("from"), zone, false);
  const toMs = parseTime("to", flags.required("to"), zone, true);
  if (toMs <= fromMs) throw new UsageError("--to lies before --from");

  const store = openReadOnly(settings.dataDir, nativeBinding());
  const progress = new ProgressLine(stderr);
  let count = 0;
  try {
    const sensor = sensorOf(flags.text("sensor"), store.history.streams());
    const write = format === "csv" ? csvLines : jsonLine;
    let piece = format === "csv" ? CSV_HEADER : "";
    for (const reading of store.history.range({ sensor, kind, fromMs, toMs })) {
      piece += write(reading);
      count += 1;
      if (piece.length < PIECE_CHARACTERS) continue;
      progress.show(`${count} readings, up to ${new Date(reading.timeMs).toISOString()}`);
      await writeOut(stdout, piece, signal);
      piece = "";
      await turn();
      if (signal.aborted) return signal.reason === "EPIPE" ? 0 : 1;
    }
    await writeOut(stdout, piece, signal);
  } finally {
    progress.end();
    store.close();
  }
  if (stderr.isTTY) stderr.write(`${count} readings\n`);
  return 0;
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
      `--sensor ${code}: nothing of it is stored; stored are: ${known || "none"}`,
    );
  }
  return stored.sensor;
}

function csvLines(reading: StoredReading): string {
  const values = JSON.parse(reading.values) as Readonly<Record<string, Value>>;
  const units = JSON.parse(reading.units) as Readonly<Record<string, string>>;
  const quality = JSON.parse(reading.quality) as Readonly<Record<string, Doubt>>;
  const head = `${new Date(reading.timeMs).toISOString()},${cell(reading.sensor)},${reading.kind}`;
  let lines = "";
  for (const [name, value] of Object.entries(values)) {
    const doubt = quality[name];
    const shown = value === null ? "" : cell(String(value));
    lines += `${head},${cell(name)},${shown},${cell(units[name] ?? "")},${doubt?.quality ?? "good"},${doubt?.reason ?? ""},${reading.id}\n`;
  }
  return lines;
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function jsonLine(reading: StoredReading): string {
  const sensor = JSON.stringify(reading.sensor);
  return `{"id":"${reading.id}","sensor":${sensor},"kind":"${reading.kind}","time":"${new Date(reading.timeMs).toISOString()}","values":${reading.values},"units":${reading.units},"quality":${reading.quality},"attributes":${reading.attributes}}\n`;
}
