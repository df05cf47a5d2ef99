/** Messages that become their own rows. */
import { isJsonObject } from "../../core/record.ts";
import { DAY_MS } from "../../core/time-units.ts";
import type { EventItem, GapItem, ReadingItem, RejectedItem, WaveformItem } from "./item.ts";
import {
  type Body,
  checkName,
  cutText,
  objectMember,
  optionalCount,
  optionalName,
  optionalNumber,
  optionalText,
  optionalTime,
  qualityMember,
  readingId,
  requiredName,
  requiredTime,
  unitsMember,
  valuesMember,
  WrongMember,
} from "./members.ts";

/** The times that are accepted. */
export interface TimeRange {
  readonly receivedMs: number;
  /** Days; null = `PAST_DAYS`. */
  readonly keepDays: number | null;
  /** How far another clock is ahead of the one that dated the arrival, ms. */
  readonly skewMs: number;
}

/**
 * Without --keep-days: an older reading comes from a clock that is off by years, and would create a partition for
 * each week.
 */
const PAST_DAYS = 731;
/** A sensor whose clock is ahead is flagged by its box and stored. Further ahead is no time: each week has its own tables. */
const FUTURE_MS = 366 * DAY_MS;

export function parseReading(
  site: string,
  body: Body,
  range: TimeRange,
): ReadingItem | RejectedItem {
  const timeMs = requiredTime(body, "time");
  const values = valuesMember(body);
  return (
    outOfRange(timeMs, range) ?? {
      type: "reading",
      id: readingId(body),
      site,
      sensor: requiredName(body, "sensor"),
      kind: requiredName(body, "kind"),
      timeMs,
      values,
      units: unitsMember(body),
      hasUnits: body["units"] !== undefined,
      quality: qualityMember(body),
      attributes: objectMember(body, "attributes"),
      raw: body["raw"],
      name: cutText(body, "name"),
      location: isJsonObject(body["location"]) ? body["location"] : null,
      historical: body["historical"] === true,
    }
  );
}

const FLOAT_BYTES = 4;

export function parseWaveform(
  site: string,
  body: Body,
  range: TimeRange,
): WaveformItem | RejectedItem {
  const timeMs = requiredTime(body, "time");
  const data = base64Member(body);
  const samples = optionalCount(body, "samples");
  if (
    data.length % FLOAT_BYTES !== 0 ||
    (samples !== null && samples * FLOAT_BYTES !== data.length)
  )
    throw new WrongMember(`base64 has ${data.length} bytes, not 4 for each sample`);
  if (data.length === 0) throw new WrongMember("base64 has no samples");
  // No box sends one: a record without a rate has no waveform.
  const sampleRate = optionalNumber(body, "sampleRate");
  if (sampleRate !== null && sampleRate <= 0)
    throw new WrongMember("sampleRate is not a number above 0");
  return (
    outOfRange(timeMs, range) ?? {
      type: "waveform",
      id: readingId(body),
      site,
      sensor: requiredName(body, "sensor"),
      timeMs,
      channel: requiredName(body, "channel"),
      axis: optionalText(body, "axis"),
      unit: optionalText(body, "unit"),
      sampleRate,
      recordingReason: optionalText(body, "recordingReason"),
      data,
    }
  );
}

/** Node.js skips what is not base64: then fewer bytes come out than the text has room for. */
function base64Member(body: Body): Buffer {
  const text = body["base64"];
  if (typeof text !== "string") throw new WrongMember("base64 is not text");
  const data = Buffer.from(text, "base64");
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (text.length % 4 !== 0 || data.length !== (text.length / 4) * 3 - padding)
    throw new WrongMember("base64 is not base64");
  return data;
}

const EVENT_TEXTS = ["value", "alarm", "severity", "state", "unit", "readingId"] as const;

export function parseEvent(site: string, body: Body, range: TimeRange): EventItem | RejectedItem {
  checkName(site, "site");
  const timeMs = requiredTime(body, "time");
  for (const name of ["sensor", "kind"]) optionalName(body, name);
  requiredName(body, "alarm");
  for (const name of EVENT_TEXTS) optionalText(body, name);
  // A sentence for people may be longer than a name.
  const text = body["text"];
  if (text !== undefined && text !== null && typeof text !== "string")
    throw new WrongMember("text is not text");
  optionalTime(body, "raised");
  const id = requiredName(body, "id");
  return outOfRange(timeMs, range) ?? { type: "event", id, site, timeMs, body };
}

export function parseGap(site: string, body: Body): GapItem {
  checkName(site, "site");
  for (const name of ["sensor", "kind", "uplink"]) optionalName(body, name);
  requiredName(body, "reason");
  optionalCount(body, "count");
  const from = optionalTime(body, "from");
  const to = optionalTime(body, "to");
  if (from !== null && to !== null && from > to) throw new WrongMember("from is after to");
  return { type: "gap", site, body };
}

/** What is rejected is acknowledged, and gone: a wrong clock of this machine alone must not do that to a whole fleet. */
function outOfRange(
  timeMs: number,
  { receivedMs, keepDays, skewMs }: TimeRange,
): RejectedItem | null {
  const days = keepDays ?? PAST_DAYS;
  const isFuture = timeMs > receivedMs + Math.max(0, skewMs) + FUTURE_MS;
  if (!isFuture && timeMs >= receivedMs + Math.min(0, skewMs) - days * DAY_MS) return null;
  const when = isFuture ? "in the future" : `more than ${days} days ago`;
  const detail = `${new Date(timeMs).toISOString()} is ${when}`;
  return { type: "rejected", reason: "time_out_of_range", detail };
}
