import { createHash, hash } from "node:crypto";
import {
  isJsonArray,
  type JsonValue,
  type RawRecord,
  type Reject,
  type TimeField,
  type Timestamp,
} from "../record.ts";
import { normalCode, type PolledKind, sameCode } from "../sensor.ts";
import { DAY_MS } from "../time-units.ts";

/** Farther than this from time_data, realnodetime is not trusted (contract section 5). */
const NODE_TIME_DISTANCE_MAX_MS = DAY_MS;
const ID_HEX_DIGITS = 32;

export interface ReadingTime {
  readonly time: Timestamp;
  readonly source: TimeField;
}

/** The time of the reading made from a record (contract section 5); null if it has none. */
export function readingTime(record: RawRecord): ReadingTime | null {
  const { time_data: stored, realnodetime: measured } = record.times;
  if (record.kind === "accCurrent") {
    return timeFrom(record, "endPeriod") ?? timeFrom(record, "startPeriod");
  }
  if (record.kind === "accel" && measured && record.fields.hasrealtime !== false) {
    // Without a time_data there is nothing to compare it with, and the record would be lost.
    const isNear = !stored || Math.abs(measured.ms - stored.ms) <= NODE_TIME_DISTANCE_MAX_MS;
    if (isNear) return timeFrom(record, "realnodetime");
  }
  return timeFrom(record, "time_data");
}

function timeFrom(record: RawRecord, source: TimeField): ReadingTime | null {
  const time = record.times[source];
  return time ? { time, source } : null;
}

/** Why a whole record cannot be used for the sensor that was requested; null if it can. */
export function findReject(record: RawRecord, sensorCode: string): Reject | null {
  if (record.sensorCode !== null && !sameCode(record.sensorCode, sensorCode)) {
    return { reason: "foreign_record", detail: `is from sensor ${record.sensorCode}` };
  }
  if (readingTime(record) === null) {
    const zoneless = record.faults.find(({ reason }) => reason === "time_without_zone");
    if (zoneless === undefined) return { reason: "no_time", detail: "no plausible time" };
    const detail = `${zoneless.field} says neither Z nor an offset, so it could be any instant`;
    return { reason: "time_without_zone", detail };
  }
  return null;
}

/**
 * The reading's id: 128 bits of SHA-256 over the canonical text of the record (ARCHITECTURE.md "Identity").
 * Every line is `name JSON`, so no two contents share a text. UTC offsets are left out: they never move the instant.
 */
export function readingId(
  sensorCode: string,
  kind: PolledKind,
  timeMs: number,
  record: RawRecord,
): string {
  const text = canonicalText(sensorCode, kind, timeMs, record);
  const digest =
    record.channels.length === 0 ? hash("sha256", text) : digestWithSamples(text, record);
  return digest.slice(0, ID_HEX_DIGITS);
}

function digestWithSamples(text: string, { channels }: RawRecord): string {
  const running = createHash("sha256").update(text);
  channels.forEach((channel, index) => {
    if (channel.state === "absent") return;
    const name = `channel${index + 1}`;
    if (channel.state === "damaged") running.update(`${name} damaged ${channel.digest}\n`);
    else
      running.update(`${name} ${channel.samples.length}\n`).update(littleEndian(channel.samples));
  });
  return running.digest("hex");
}

function canonicalText(
  sensorCode: string,
  kind: PolledKind,
  timeMs: number,
  record: RawRecord,
): string {
  let text = `${JSON.stringify(normalCode(sensorCode))} ${kind} ${timeMs}\n`;
  for (const name of sortedKeys(record.fields)) {
    const value = record.fields[name];
    if (value !== undefined) text += `${name} ${canonicalJson(value)}\n`;
  }
  const times: Readonly<Record<string, Timestamp>> = record.times;
  for (const name of sortedKeys(times)) text += `${name} ${times[name]?.ms}\n`;
  for (const name of sortedKeys(record.extra)) {
    const value = record.extra[name];
    // Null and missing are equivalent (services section 2, rule 6).
    if (value !== undefined && value !== null) {
      text += `extra ${JSON.stringify(name)} ${canonicalJson(value)}\n`;
    }
  }
  return text;
}

/** Servers write members in one order, mostly that of the alphabet; a sort that changes nothing costs ten times the check. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  for (let at = 1; at < keys.length; at += 1) {
    if ((keys[at - 1] ?? "") > (keys[at] ?? "")) return keys.sort();
  }
  return keys;
}

/** JSON with sorted members and one spelling for each number. */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : JSON.stringify(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isJsonArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members: string[] = [];
  for (const name of sortedKeys(value)) {
    const member = value[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** The samples' bytes, low byte first on every machine. */
function littleEndian(samples: Int16Array): Uint8Array {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return isLittleEndian ? bytes : Buffer.from(bytes).swap16();
}
