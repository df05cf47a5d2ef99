import type { CommandContext, TextSink } from "./command.ts";
import { type ComparedConfiguration, loadConfiguration } from "./configuration.ts";
import { monthsOf } from "./month-of-uplinks.ts";
import { table } from "./table.ts";
import { fuxaDevices } from "./topics-fuxa.ts";
import { ignitionTags } from "./topics-ignition.ts";
import { csvLine, type ListedTopic, listTopics } from "./topics-list.ts";
import { writeOut } from "./write-out.ts";

const FORMATS = ["table", "csv", "json", "fuxa", "ignition"] as const;
/** Lines are written in pieces: a site of 2,000 sensors has 100,000 of them. */
const LINES_AT_ONCE = 1000;

/** Every topic that the configuration publishes, with type and unit. Accesses neither network nor DATA_DIR. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, signal } = context;
  const format = flags.choice("format", FORMATS) ?? "table";
  const configuration = loadConfiguration(context);
  const rows = listTopics(configuration);
  switch (format) {
    case "table":
      await writeLines(stdout, signal, [...asTable(rows), ...monthTable(configuration)]);
      break;
    case "csv":
      await writeLines(stdout, signal, asCsv(rows));
      break;
    case "json":
      await writeOut(
        stdout,
        `${JSON.stringify({ topics: rows, uplinks: monthsOf(configuration) }, null, 2)}\n`,
        signal,
      );
      break;
    case "fuxa":
      return writeTags(
        context,
        fuxaDevices(rows, configuration.uplinks),
        "FUXA can bind only plain values, and no uplink publishes them: add plain to PUBLISH_FORMATS",
      );
    case "ignition":
      return writeTags(
        context,
        ignitionTags(rows, configuration.uplinks),
        "no uplink publishes Sparkplug: add sparkplug to PUBLISH_FORMATS",
      );
  }
  return signal.aborted && signal.reason !== "EPIPE" ? 1 : 0;
}

async function writeTags(
  { stdout, stderr, signal }: CommandContext,
  tags: object | null,
  otherwise: string,
): Promise<number> {
  if (tags === null) {
    stderr.write(`error: ${otherwise}\n`);
    return 1;
  }
  await writeOut(stdout, `${JSON.stringify(tags, null, 2)}\n`, signal);
  return 0;
}

async function writeLines(
  stdout: TextSink,
  signal: AbortSignal,
  lines: readonly string[],
): Promise<void> {
  for (let at = 0; at < lines.length && !signal.aborted; at += LINES_AT_ONCE) {
    await writeOut(stdout, lines.slice(at, at + LINES_AT_ONCE).join(""), signal);
  }
}

function asTable(rows: readonly ListedTopic[]): string[] {
  const cells = rows.map((row) => [
    row.uplink,
    row.topic,
    row.path ?? "",
    row.type,
    row.unit ?? "",
    [row.name, row.axis].filter((text) => text !== null).join(" "),
    `QoS ${row.qos}${row.retained ? ", retained" : ""}`,
  ]);
  const head = ["uplink", "topic", "member or metric", "type", "unit", "channel", "delivery"];
  return table([head, ...cells], "").split(/(?<=\n)/);
}

function monthTable(configuration: ComparedConfiguration): string[] {
  const count = (value: number) => value.toLocaleString("en-US");
  const rows = monthsOf(configuration).map(({ uplink, messagesPerMonth, bytesPerMonth }) => [
    uplink,
    count(messagesPerMonth),
    `${count(bytesPerMonth)} bytes`,
  ]);
  return [
    "\n",
    ...table([["uplink", "messages a month", "bytes a month"], ...rows], "").split(/(?<=\n)/),
  ];
}

const COLUMNS = [
  "uplink",
  "format",
  "topic",
  "path",
  "sensor",
  "kind",
  "value",
  "name",
  "axis",
  "type",
  "unit",
  "low",
  "high",
  "qos",
  "retained",
  "content",
] as const;

function asCsv(rows: readonly ListedTopic[]): string[] {
  const lines = rows.map((row) => {
    const { range, stream } = row;
    const columns = { ...row, low: range?.[0] ?? null, high: range?.[1] ?? null, content: stream };
    return csvLine(COLUMNS.map((column) => columns[column]));
  });
  return [csvLine(COLUMNS), ...lines];
}
