/** A request to set a sensor as it arrived: its body, or why it is refused, and the key that identifies a repetition. */
import { createHash } from "node:crypto";
import type { CommandEntry } from "../../core/command.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { type CommandMessage, mqttActor, REQUEST_BYTES_MAX } from "../../core/topics/request.ts";
import { namedSensor } from "./save-settings.ts";

const CORRELATION_MEMORY_MS = DAY_MS;
const PAYLOAD_MEMORY_MS = 60_000;
/** Characters of a request that are kept; a valid one has about 130. */
const LOGGED_PAYLOAD_MAX = 1024;

/** As the audit log calls it. */
const COMMAND_NAME = "agent/cmd/saveSettings";

export interface Request {
  readonly entry: CommandEntry;
  /** Who requested it and how, for the audit log; null if it is recorded elsewhere. */
  readonly actor: { readonly who: string; readonly what: string } | null;
  readonly memoryMs: number;
  /** A person who repeats a failed request wants another attempt; a repetition over MQTT is a redelivery. */
  readonly isRedelivered: boolean;
  readonly body: unknown;
  readonly refused: string | null;
}

/** What is needed to interpret a request. */
export interface RequestContext {
  readonly receivedAtMs: number;
  readonly wireWord: string;
  readonly redact: (text: string) => string;
}

export function requestOfMessage(message: CommandMessage, context: RequestContext): Request {
  const text = new TextDecoder().decode(message.payload.subarray(0, REQUEST_BYTES_MAX));
  let body: unknown = null;
  let refused = message.retain ? "a retained request is not executed" : null;
  if (message.payload.length > REQUEST_BYTES_MAX)
    refused ??= `the request has ${message.payload.length} bytes, more than the limit of ${REQUEST_BYTES_MAX}`;
  else {
    try {
      body = JSON.parse(text);
    } catch {
      refused ??= "the request is not valid JSON";
    }
  }
  // Empty correlation data does not distinguish requests.
  const correlation = message.correlationData?.length ? message.correlationData : null;
  const key = correlation
    ? `mqtt-correlation:${digest(correlation)}`
    : `mqtt-payload:${digest(message.payload)}`;
  return {
    actor: { who: mqttActor(message.uplink), what: COMMAND_NAME },
    entry: entryOf("mqtt", key, text, body, context),
    memoryMs: correlation ? CORRELATION_MEMORY_MS : PAYLOAD_MEMORY_MS,
    isRedelivered: true,
    body,
    refused,
  };
}

/** A request from HTTP, the command line or Sparkplug. */
export function requestOfBody(
  body: Readonly<Record<string, unknown>>,
  source: CommandEntry["source"],
  actor: Request["actor"],
  context: RequestContext,
): Request {
  const payload = JSON.stringify(body);
  return {
    actor,
    entry: entryOf(source, `${source}:${digest(payload)}`, payload, body, context),
    memoryMs: PAYLOAD_MEMORY_MS,
    isRedelivered: false,
    body,
    refused: null,
  };
}

function entryOf(
  source: CommandEntry["source"],
  key: string,
  text: string,
  body: unknown,
  { receivedAtMs, wireWord, redact }: RequestContext,
): CommandEntry {
  return {
    receivedAtMs,
    key,
    sensor: redact(namedSensor(body, wireWord)),
    source,
    payload: redact(text).slice(0, LOGGED_PAYLOAD_MAX),
  };
}

function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex").slice(0, 32);
}
