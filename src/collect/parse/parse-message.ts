import { KINDS } from "../../core/sensor.ts";
import { topicLevel } from "../../core/topic-level.ts";
import { type Delivery, PAYLOAD_BYTES_MAX } from "../delivery.ts";
import type { Item, ReadingItem, RejectedItem, RejectReason, WaveformItem } from "./item.ts";
import {
  type Body,
  isObject,
  objectMember,
  optionalNumber,
  optionalText,
  readingId,
  requiredText,
  requiredTime,
  WrongMember,
} from "./members.ts";

export interface ParseOptions {
  readonly prefix: string;
  /** Older readings are rejected, days; null = `PAST_DAYS`. */
  readonly keepDays: number | null;
}

/**
 * Without --keep-days: an older reading comes from a clock that is off by years, and would create a partition for
 * each week.
 */
const PAST_DAYS = 731;
/** A box's own day may be ahead of ours by its zone and some drift; more is a wrong clock. */
const FUTURE_MS = 26 * 3_600_000;
const DAY_MS = 86_400_000;
/** The newest version of payloads that this program understands. */
const VERSION = 1;

const KIND_LEVELS: ReadonlySet<string> = new Set(KINDS);

/** Interprets a message from its topic and payload alone. Never throws: an unusable one is `rejected` with its reason. */
export function parseMessage(delivery: Delivery, options: ParseOptions): Item {
  try {
    return parse(delivery, options);
  } catch (error) {
    if (error instanceof WrongMember) return rejected("wrong_member", error.message);
    throw error;
  }
}

export function rejected(reason: RejectReason, detail: string): RejectedItem {
  return { type: "rejected", reason, detail };
}

function parse(delivery: Delivery, options: ParseOptions): Item {
  const { topic, payload, bytes, receivedMs } = delivery;
  const { prefix } = options;
  if (bytes > PAYLOAD_BYTES_MAX)
    return rejected("too_large", `${bytes} bytes; at most ${PAYLOAD_BYTES_MAX} are accepted`);
  if (!topic.startsWith(`${prefix}/`)) return rejected("foreign_topic", `not below ${prefix}/`);
  const [siteLevel = "", ...levels] = topic.slice(prefix.length + 1).split("/");
  const [first = "", second = ""] = levels;
  if (siteLevel === "" || first === "")
    return rejected("foreign_topic", "contains no site or no sensor");
  // Plain values and commands use the same prefix; they contain nothing that a reading lacks.
  if (first === "agent" && second === "cmd") return { type: "ignored" };
  const last = levels.at(-1) ?? "";
  if (levels.length === 3 && KIND_LEVELS.has(second) && last !== "history")
    return { type: "ignored" };
  if (payload.length === 0) return cleared(siteLevel, first, levels);

  const body = parseJson(payload);
  if (body === null) return rejected("not_json", "");
  if (!isObject(body)) return rejected("not_an_object", "");
  const version = body["v"];
  if (version !== undefined && version !== VERSION)
    return rejected("unsupported_version", `v is ${JSON.stringify(version).slice(0, 40)}`);
  const site = optionalText(body, "site");
  if (site !== null && topicLevel(site) !== siteLevel)
    return rejected(
      "site_mismatch",
      `names site ${site.slice(0, 100)} on a topic of site ${siteLevel}`,
    );
  const named = site ?? siteLevel;

  if (first === "agent") return agentItem(second, named, body, receivedMs, options);
  // A box with topics of its own (plant section 10) has further levels before the sensor's.
  if (levels.length >= 2 && last === "state") {
    const sensor = optionalText(body, "sensor") ?? levels.at(-2) ?? first;
    return { type: "sensorState", site: named, sensor, body };
  }
  if (levels.length === 2 && second === "about") {
    const sensor = optionalText(body, "sensor") ?? first;
    return { type: "about", site: named, sensor, body };
  }
  // The retained copy of an active alarm: its transitions arrive as events.
  if (second === "alarm") return { type: "ignored" };
  if (site === null || version === undefined)
    return rejected("unknown_message", "has no v and site, as every reading has");
  if (body["base64"] !== undefined) return waveform(site, body, receivedMs, options);
  if (body["values"] !== undefined) return reading(site, body, receivedMs, options);
  return rejected("unknown_message", "is neither a reading nor a waveform");
}

function agentItem(
  level: string,
  site: string,
  body: Body,
  receivedMs: number,
  options: ParseOptions,
): Item {
  switch (level) {
    case "state":
      requiredText(body, "state");
      return { type: "boxState", site, body };
    case "stats":
      requiredTime(body, "time");
      return { type: "boxStats", site, body };
    case "gap":
      requiredText(body, "reason");
      return { type: "gap", site, body };
    case "event": {
      const timeMs = requiredTime(body, "time");
      requiredText(body, "alarm");
      return (
        outOfRange(timeMs, receivedMs, options) ?? {
          type: "event",
          id: requiredText(body, "id"),
          site,
          timeMs,
          body,
        }
      );
    }
    default:
      return rejected("unknown_message", `agent/${level.slice(0, 100)} is not known`);
  }
}

/** An empty payload clears a retained topic. */
function cleared(site: string, first: string, levels: readonly string[]): Item {
  if (levels.length !== 2) return { type: "ignored" };
  if (first === "agent" && levels[1] === "state") return { type: "boxState", site, body: null };
  if (first === "agent" && levels[1] === "stats") return { type: "boxStats", site, body: null };
  if (levels[1] === "state") return { type: "sensorState", site, sensor: first, body: null };
  if (levels[1] === "about") return { type: "about", site, sensor: first, body: null };
  return { type: "ignored" };
}

function reading(
  site: string,
  body: Body,
  receivedMs: number,
  options: ParseOptions,
): ReadingItem | RejectedItem {
  const timeMs = requiredTime(body, "time");
  const values = objectMember(body, "values");
  for (const name in values) {
    const value = values[name];
    if (value === null || typeof value === "boolean" || typeof value === "string") continue;
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new WrongMember(`values.${name.slice(0, 100)} is not a number, text or boolean`);
  }
  return (
    outOfRange(timeMs, receivedMs, options) ?? {
      type: "reading",
      id: readingId(body),
      site,
      sensor: requiredText(body, "sensor"),
      kind: requiredText(body, "kind"),
      timeMs,
      values,
      units: objectMember(body, "units"),
      quality: objectMember(body, "quality"),
      attributes: objectMember(body, "attributes"),
      raw: body["raw"],
      name: optionalText(body, "name"),
      location: isObject(body["location"]) ? body["location"] : null,
      historical: body["historical"] === true,
    }
  );
}

function waveform(
  site: string,
  body: Body,
  receivedMs: number,
  options: ParseOptions,
): WaveformItem | RejectedItem {
  const timeMs = requiredTime(body, "time");
  const base64 = body["base64"];
  if (typeof base64 !== "string") throw new WrongMember("base64 is not text");
  const data = Buffer.from(base64, "base64");
  const samples = optionalNumber(body, "samples");
  if (data.length % 4 !== 0 || (samples !== null && samples * 4 !== data.length))
    throw new WrongMember(`base64 has ${data.length} bytes, not 4 for each sample`);
  return (
    outOfRange(timeMs, receivedMs, options) ?? {
      type: "waveform",
      id: readingId(body),
      site,
      sensor: requiredText(body, "sensor"),
      timeMs,
      channel: requiredText(body, "channel"),
      axis: optionalText(body, "axis"),
      unit: optionalText(body, "unit"),
      sampleRate: optionalNumber(body, "sampleRate"),
      recordingReason: optionalText(body, "recordingReason"),
      data,
    }
  );
}

function outOfRange(
  timeMs: number,
  receivedMs: number,
  { keepDays }: ParseOptions,
): RejectedItem | null {
  if (timeMs > receivedMs + FUTURE_MS)
    return rejected("time_out_of_range", `${new Date(timeMs).toISOString()} is in the future`);
  const days = keepDays ?? PAST_DAYS;
  if (timeMs < receivedMs - days * DAY_MS)
    return rejected(
      "time_out_of_range",
      `${new Date(timeMs).toISOString()} is more than ${days} days ago`,
    );
  return null;
}

/** Null if it is not JSON. */
function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString("utf8"));
  } catch {
    return null;
  }
}
