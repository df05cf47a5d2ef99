/**
 * `agent/cmd/acknowledge`: turns a message into an action on an alarm, or a reason why not. Repeating it changes
 * nothing.
 */

import { ALARM_ACTION_NAMES } from "../../core/alarm/shown.ts";
import { STORE_HELD } from "../../core/command.ts";
import type { Message } from "../../core/message.ts";
import { intactJson } from "../../core/parsed-json.ts";
import type { Logger } from "../../core/ports.ts";
import { isJsonObject } from "../../core/record.ts";
import { type CommandMessage, REQUEST_BYTES_MAX, replyTo } from "../../core/topics/request.ts";
import type { CommandGate } from "../../lib/command-gate.ts";
import { shelfEnd } from "./rules/shelf-end.ts";
import type { AlarmActions, AlarmRequest } from "./rules/view.ts";

const BY_MAX = 64;
const NOTE_MAX = 500;

export interface AcknowledgeParts {
  readonly alarms: AlarmActions;
  /** The gateway's clock, ms: that of the alarms. */
  readonly gatewayNow: () => number;
  readonly logger: Logger;
  /** A flood of requests is not even parsed. */
  readonly pace: Pick<CommandGate, "pass">;
  /** For everything kept of a request: a broker may insert secrets into one. */
  readonly redact: (text: string) => string;
  /** COMMAND_RESPONSE_PREFIX. */
  readonly responsePrefix: string | null;
  /** Why no action can be stored; null if it can. */
  readonly whyUnwritable: () => Promise<string | null>;
  /** For the audit log. */
  readonly audit: (what: string, outcome: string, detail: string) => void;
}

/** As the audit log calls it. */
const AUDITED = "agent/cmd/acknowledge";

interface AcknowledgeResponse {
  readonly ok: boolean;
  readonly outcome: "done" | "rejected";
  readonly description: string;
  readonly reason?: typeof STORE_HELD;
}

/** Executes an MQTT request and passes the response to `reply`. Never rejects. */
export async function acknowledge(
  parts: AcknowledgeParts,
  message: Omit<CommandMessage, "uplink">,
  reply: (response: Message) => Promise<unknown> | void,
): Promise<void> {
  if (!parts.pace.pass()) return;
  const result = await answerTo(parts, message);
  try {
    await reply(replyTo(message, result, parts.responsePrefix));
  } catch (err) {
    parts.logger.warn({ err }, "the response to an alarm command could not be sent");
  }
}

async function answerTo(
  { alarms, gatewayNow, logger, redact, audit, whyUnwritable }: AcknowledgeParts,
  message: Omit<CommandMessage, "uplink">,
): Promise<AcknowledgeResponse> {
  const why = await whyUnwritable();
  if (why !== null) return { ...rejected(why), reason: STORE_HELD };
  const request = message.retain
    ? "a retained request is not executed, because it would be executed again on every connection"
    : requestOf(message.payload, gatewayNow(), redact);
  if (typeof request === "string") {
    audit(AUDITED, "rejected", "");
    return rejected(request);
  }
  try {
    const outcome = await alarms.act(request);
    audit(AUDITED, outcome.ok ? "done" : "rejected", `${request.word} ${request.id}`);
    return outcome.ok ? { ok: true, outcome: "done", description: "" } : rejected(outcome.detail);
  } catch (err) {
    logger.error({ err }, "an alarm command could not be stored");
    return rejected("it could not be stored; try again");
  }
}

const rejected = (description: string): AcknowledgeResponse => ({
  ok: false,
  outcome: "rejected",
  description,
});

function requestOf(
  payload: Uint8Array,
  nowMs: number,
  redact: (text: string) => string,
): AlarmRequest | string {
  if (payload.length > REQUEST_BYTES_MAX) return `the request exceeds ${REQUEST_BYTES_MAX} bytes`;
  let body: unknown;
  try {
    body = intactJson(Buffer.from(payload).toString("utf8"));
  } catch {
    return "the request is not JSON";
  }
  if (!isJsonObject(body)) {
    return "the request is not a JSON object";
  }
  const { id, action = "acknowledge", by = "mqtt", note = null, minutes, until } = body;
  const word = ALARM_ACTION_NAMES.find((one) => one === action);
  if (typeof id !== "string" || !/^[0-9a-f]{32}$/.test(id))
    return "id must be the id of an alarm's event";
  if (word === undefined) return `action must be one of ${ALARM_ACTION_NAMES.join(", ")}`;
  if (typeof by !== "string" || by === "" || by.length > BY_MAX) {
    return `by must be text of 1 to ${BY_MAX} characters`;
  }
  if (note !== null && (typeof note !== "string" || note === "" || note.length > NOTE_MAX)) {
    return `note must be text of 1 to ${NOTE_MAX} characters`;
  }
  const untilMs = shelfEnd(word, { minutes, until }, nowMs);
  if (typeof untilMs === "string") return untilMs;
  const shown = { by: redact(by), note: note === null ? null : redact(note) };
  return { id, word, ...shown, untilMs, source: "mqtt" };
}
