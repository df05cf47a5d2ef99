import { isJsonObject } from "../../core/record.ts";
import { messageOf } from "../../core/thrown.ts";
import { PAYLOAD_BYTES_MAX, type PendingDelivery } from "../delivery.ts";
import type { SiteTopics } from "../site-topics.ts";
import type { Item, MessageReject, RejectedItem } from "./item.ts";
import { isStorable, jsonBody, Unusable } from "./json-body.ts";
import { type JsonShape, jsonShape } from "./json-shape.ts";
import { type Body, checkName, optionalName, WrongMember } from "./members.ts";
import { isMachine, parseMachine } from "./parse-machine.ts";
import { parseAbout, parseBoxState, parseBoxStats, parseSensorState } from "./parse-states.ts";
import { parseEvent, parseGap, parseReading, parseWaveform } from "./parse-stored.ts";

export interface ParseOptions {
  /** Where the site stands in a topic. */
  readonly topics: SiteTopics;
  /** Older readings are rejected, days; null = `PAST_DAYS`. */
  readonly keepDays: number | null;
  /** The database's clock minus ours, ms: a time that either accepts is accepted. */
  readonly skewMs?: number;
}

/** The newest version of payloads that this program understands. */
const VERSION = 1;
/** A plain value is a few words. */
const PLAIN_BYTES_MAX = 1024;

/**
 * Interprets a message: its body says what it is and whose, its topic proves the site. Never throws: every member that
 * is stored is checked here, so that no check fails inside the transaction.
 */
export function parseMessage(
  delivery: PendingDelivery,
  options: ParseOptions,
  shape = jsonShape(delivery.payload),
): Item {
  const item = parseOrReject(delivery, options, shape);
  if (item.type !== "rejected") return item;
  return { ...item, site: options.topics.split(delivery.topic, delivery.dots)?.site ?? null };
}

function parseOrReject(delivery: PendingDelivery, options: ParseOptions, shape: JsonShape): Item {
  try {
    return parse(delivery, options, shape);
  } catch (error) {
    if (error instanceof WrongMember) return rejected("wrong_member", error.message);
    // Our fault; with one message it is known which, and the rest goes on.
    const text = messageOf(error);
    return rejected("internal_error", text.slice(0, 300));
  }
}

export function rejected(reason: MessageReject, detail: string): RejectedItem {
  return { type: "rejected", reason, detail };
}

function parse(delivery: PendingDelivery, options: ParseOptions, shape: JsonShape): Item {
  const { topic, dots, payload, bytes } = delivery;
  const { topics } = options;
  if (bytes > PAYLOAD_BYTES_MAX)
    return rejected("too_large", `${bytes} bytes; at most ${PAYLOAD_BYTES_MAX} are accepted`);
  if (!topics.contains(topic, dots)) return rejected("foreign_topic", `not below ${topics.filter}`);
  if (topic.includes("/agent/cmd/")) return { type: "ignored", family: "command" };
  if (payload.length === 0) return cleared(delivery, options);

  const body = jsonBody(payload, shape);
  if (body instanceof Unusable) {
    if (isPlainValue(delivery, topics)) return { type: "ignored", family: "plain" };
    return rejected(body.reason, body.detail);
  }
  const version = body["v"];
  if (version !== undefined && version !== VERSION)
    return rejected("unsupported_version", `v is ${JSON.stringify(version).slice(0, 40)}`);
  const site = optionalName(body, "site");
  if (site === "") return rejected("wrong_member", "site is empty");
  if (site === null) return withoutSite(body, delivery, options);
  const rest = topics.restOf(topic, dots, site);
  if (rest === null)
    return rejected(
      "site_mismatch",
      `names site ${site.slice(0, 100)} on a topic that is not this site's`,
    );
  return family(site, rest.split("/"), body, delivery, options);
}

/** What a message of a proven site is, by its members; `levels` are those below the site. */
function family(
  site: string,
  levels: readonly string[],
  body: Body,
  delivery: PendingDelivery,
  { keepDays, skewMs = 0 }: ParseOptions,
): Item {
  const { receivedMs } = delivery;
  const range = { receivedMs, keepDays, skewMs };
  const place = placeOf(levels);
  if (body["values"] !== undefined || body["base64"] !== undefined) {
    if (body["v"] === undefined)
      return rejected("unknown_message", "has no v, as every reading has");
    if (body["values"] !== undefined) return parseReading(site, body, range);
    // Halved or divided for a platform with small messages (plant section 10); those platforms have receivers of their
    // own.
    if (body["encoding"] !== undefined) return { type: "ignored", family: "other" };
    return parseWaveform(site, body, range);
  }
  if (body["alarm"] !== undefined && body["id"] !== undefined) {
    // The retained copy of an active alarm: its transitions arrive as events.
    if (place !== "event" && levels.includes("alarm")) return { type: "ignored", family: "alarm" };
    return parseEvent(site, body, range);
  }
  if (isMachine(body)) return parseMachine(site, body);
  if (body["reason"] !== undefined && body["count"] !== undefined) return parseGap(site, body);
  const sensor = optionalName(body, "sensor") ?? (isStandard(levels) ? (levels[0] ?? "") : "");
  switch (place) {
    case "state":
      return parseBoxState(site, body);
    case "stats":
      return parseBoxStats(site, body);
    case "gap":
      return parseGap(site, body);
    case "event":
      return parseEvent(site, body, range);
    case "doctor":
      return { type: "ignored", family: "doctor" };
    case "other":
      break;
  }
  const isAbout = levels.at(-1) === "about" || Array.isArray(body["kinds"]);
  if (!isAbout && body["state"] === undefined && levels.at(-1) !== "state")
    return { type: "ignored", family: "other" };
  if (sensor === "") return rejected("ambiguous_topic", "names no sensor");
  return isAbout ? parseAbout(site, sensor, body) : parseSensorState(site, sensor, body);
}

/** States, statistics and descriptions of boxes before 0.3: the topic must have exactly the contract's levels. */
function withoutSite(body: Body, delivery: PendingDelivery, options: ParseOptions): Item {
  const { topic, dots } = delivery;
  const found = options.topics.split(topic, dots);
  if (found !== null && placeOf(found.levels) === "doctor")
    return { type: "ignored", family: "doctor" };
  if (body["values"] !== undefined || body["base64"] !== undefined)
    return rejected("unknown_message", "has no site, as every reading has");
  if (!isStorable(topic)) return rejected("foreign_topic", "has a character that no topic has");
  if (found !== null && isStandard(found.levels))
    return family(found.site, found.levels, body, delivery, options);
  // A state or a description that a template or a dot in a name has put elsewhere.
  if (
    typeof body["state"] === "string" ||
    Array.isArray(body["kinds"]) ||
    isJsonObject(body["buffer"])
  )
    return rejected("ambiguous_topic", "names no site, and its topic has other levels");
  if (found !== null && options.topics.namesSite) return { type: "ignored", family: "other" };
  return rejected("unknown_message", "has no site, and no members that a message of ours has");
}

const AGENT_PLACES = ["state", "stats", "gap", "event"] as const;
type TopicPlace = (typeof AGENT_PLACES)[number] | "doctor" | "other";

/** Which of the agent's own topics this is. No sensor is named agent (contract section 4). */
function placeOf(levels: readonly string[]): TopicPlace {
  const [second = "", third, ...further] = levels.slice(levels.lastIndexOf("agent") + 1);
  if (!levels.includes("agent") || further.length > 0) return "other";
  if (third === undefined) return AGENT_PLACES.find((place) => place === second) ?? "other";
  return second === "state" && third === "doctor" ? "doctor" : "other";
}

/** A topic of the agent, or a state or description of a sensor, with exactly the contract's levels. */
function isStandard([first, second = "", ...further]: readonly string[]): boolean {
  if (further.length > 0) return false;
  if (first === "agent") return AGENT_PLACES.some((place) => place === second);
  return second === "state" || second === "about";
}

/** An empty payload clears a retained topic. */
function cleared({ topic, dots }: PendingDelivery, { topics }: ParseOptions): Item {
  const found = topics.split(topic, dots);
  const machine = found === null ? null : machineOf(found.levels);
  if (found !== null && machine !== null) {
    checkName(found.site, "the site in the topic");
    return { type: "machine", site: found.site, machine, body: null };
  }
  if (found === null || !isStandard(found.levels)) return { type: "ignored", family: "cleared" };
  const { site, levels } = found;
  const [sensor = "", last = ""] = levels;
  // A routing key may contain what no topic can.
  if (!isStorable(topic)) return rejected("foreign_topic", "has a character that no topic has");
  checkName(site, "the site in the topic");
  checkName(sensor, "the sensor in the topic");
  if (sensor !== "agent")
    return { type: last === "about" ? "about" : "sensorState", site, sensor, body: null };
  if (last === "state") return { type: "boxState", site, body: null };
  if (last === "stats") return { type: "boxStats", site, body: null };
  return { type: "ignored", family: "cleared" };
}

/** The machine of its own topic; null for other topics. */
function machineOf([first, second = "", ...further]: readonly string[]): number | null {
  return first === "machine" && further.length === 0 && /^\d{1,15}$/.test(second)
    ? Number(second)
    : null;
}

/** What no JSON message begins with: a template may put such a value anywhere. */
const BARE_VALUE = /^(?:-?\d[\d.eE+-]*|true|false|[A-D])$/;

/** A bare value as text (contract section 6); other texts not where a JSON message of the contract belongs, nor anything like one. */
function isPlainValue({ topic, dots, payload }: PendingDelivery, topics: SiteTopics): boolean {
  if (payload.length > PLAIN_BYTES_MAX) return false;
  const text = payload.toString("utf8");
  if (/^\s*[[{]|\p{Control}|\ufffd/u.test(text)) return false;
  const levels = topics.split(topic, dots)?.levels ?? [];
  const isJsonPlace =
    (levels.length <= 2 && !BARE_VALUE.test(text)) ||
    levels[0] === "agent" ||
    levels.at(-1) === "history" ||
    (levels.length === 3 && levels[1] === "waveform");
  return !isJsonPlace;
}
