import type { Message } from "../core/message.ts";
import { isFlagged, type Reading, type Value } from "../core/reading.ts";
import { POLLED_KINDS, type PolledKind, sameCode } from "../core/sensor.ts";
import { dayOf } from "../core/time/time-zone.ts";
import type { FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { rejectedText } from "../pipeline/poll/day-read.ts";
import { readOnce, readToday } from "../pipeline/poll/one-read.ts";
import { type CommandContext, UsageError, unknownSensor } from "./command.ts";
import { loadConfiguration } from "./configuration.ts";
import { openGateway } from "./gateway-access.ts";
import { messagesOf, PAYLOAD_SHOWN_MAX, shownMessages } from "./probe-messages.ts";
import { table } from "./table.ts";
import { parseDay } from "./times.ts";

/** What features read beside the records. */
const OWN_READS = SPECS.flatMap(({ reads }: FeatureSpec) => reads ?? []);

/** One read: raw record, converted reading, and the resulting messages. 1 if nothing could be read. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr, signal } = context;
  const given = flags.choice("kind", [...POLLED_KINDS, ...OWN_READS.map((one) => one.kind)]);
  const code = flags.required("sensor");
  const date = flags.text("date");
  if (date !== null) parseDay("date", date);
  const configuration = loadConfiguration(context);
  const sensor = configuration.site.sensors.find((s) => sameCode(s.code, code));
  if (!sensor) throw unknownSensor(code, configuration.site);
  const own = OWN_READS.find((one) => one.kind === given);
  if (own !== undefined) return (await own.load()).probe(context, configuration, sensor);
  const kind = POLLED_KINDS.find((one) => one === given);
  if (kind === undefined || !sensor.kinds.includes(kind))
    throw new UsageError(`sensor ${code} has the kinds ${sensor.kinds.join(", ")}, not ${given}`);

  const gateway = await openGateway(configuration);
  try {
    const zone = configuration.settings.gatewayTimezone;
    const today = () => dayOf(gateway.clock.now(), zone);
    const { day, result, count, newest } =
      date === null
        ? await readToday(gateway, { sensor, kind }, today, signal)
        : { day: date, ...(await readOnce(gateway, { sensor, kind, day: date }, signal)) };
    if (!result.ok) {
      stderr.write(`error: ${sensor.code} ${kind} ${day}: ${result.message}\n`);
      return 1;
    }
    const isLive = newest !== null && day === today() && !isFlagged(newest, "time_in_future");
    const messages = newest ? messagesOf(newest, configuration, isLive) : [];
    const rejected = result.rejected?.count ? rejectedText(result.rejected) : null;
    const report = {
      sensor: sensor.code,
      kind,
      day,
      records: count,
      rejected,
      reading: newest,
      messages,
    };
    stdout.write(
      flags.has("json")
        ? `${JSON.stringify(asJson(report), null, 2)}\n`
        : text(report, result.durationMs),
    );
    return 0;
  } finally {
    await gateway.client.close();
  }
}

interface Report {
  readonly sensor: string;
  readonly kind: PolledKind;
  readonly day: string;
  readonly records: number;
  /** Why records that came cannot be used; null if all of them can. */
  readonly rejected: string | null;
  readonly reading: Reading | null;
  readonly messages: readonly Message[];
}

function asJson({ reading, messages, ...report }: Report): object {
  return {
    ...report,
    raw: reading?.raw ?? null,
    reading: reading && {
      id: reading.id,
      time: new Date(reading.timeMs).toISOString(),
      values: reading.values,
      units: reading.units,
      quality: reading.quality,
      attributes: reading.attributes,
    },
    messages: shownMessages(messages),
  };
}

function text(
  { sensor, kind, day, records, rejected, reading, messages }: Report,
  durationMs: number,
): string {
  const head = `${sensor} ${kind} ${day}: ${records} records, read in ${Math.round(durationMs)} ms\n`;
  if (!reading)
    return `${head}The gateway responds, but has no usable record for that day${rejected === null ? ". `gateside doctor` looks for the cause" : `: ${rejected}`}.\n`;
  const values = Object.entries(reading.values).map(([name, value]) => {
    const doubt = reading.quality[name];
    const quality = doubt ? `${doubt.quality} (${doubt.reason})` : "good";
    return [name, shownValue(value), reading.units[name] ?? "", quality];
  });
  const sent = messages.map(
    ({ topic, payload, qos, retain }) =>
      `  ${topic}  (QoS ${qos}${retain ? ", retained" : ""})\n    ${shorten(String(payload))}\n`,
  );
  const attributes = JSON.stringify(reading.attributes);
  return `${head}
Raw record, newest${reading.waveform ? " (without its samples)" : ""}
  ${JSON.stringify(reading.raw)}

Reading ${reading.id}, ${new Date(reading.timeMs).toISOString()}
${table(values)}  attributes ${attributes}

Messages
${sent.join("") || "  none in the configured formats\n"}`;
}

function shownValue(value: Value): string {
  if (value === null) return "null";
  // Rounded for display; the payload below has every digit.
  return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
}

function shorten(payload: string): string {
  const rest = payload.length - PAYLOAD_SHOWN_MAX;
  return rest <= 0 ? payload : `${payload.slice(0, PAYLOAD_SHOWN_MAX)}… (${rest} more characters)`;
}
