/** Members of a payload, read with their limits. Each throws `WrongMember` with the member's name. */

import { createHash } from "node:crypto";
import { isJsonObject } from "../../core/record.ts";

/** A member that is missing or has the wrong form: the message is rejected with this text. */
export class WrongMember extends Error {}

export type Body = Readonly<Record<string, unknown>>;

/** Texts are a few words. */
const TEXT_LENGTH_MAX = 512;
/** Names are parts of keys: together they must fit into an index of PostgreSQL, whose entries have 2,704 bytes at most. */
const NAME_BYTES_MAX = 512;
/** Bands are the most: 200 values of a sensor. */
const VALUES_MAX = 2000;
const ID_HEX_DIGITS = 32;

/** Part of a key, such as a site, a sensor, a kind or an id. */
export function requiredName(body: Body, name: string): string {
  const value = optionalName(body, name);
  if (value === null || value === "") throw new WrongMember(`${name} is missing`);
  return value;
}

export function optionalName(body: Body, name: string): string | null {
  const value = optionalText(body, name);
  // No character has more than three bytes for each of its UTF-16 units.
  if (value !== null && value.length * 3 > NAME_BYTES_MAX) checkName(value, name);
  return value;
}

/** @param what the name's place, for the error */
export function checkName(value: string, what: string): void {
  if (Buffer.byteLength(value) > NAME_BYTES_MAX)
    throw new WrongMember(`${what} has more than ${NAME_BYTES_MAX} bytes`);
}

export function requiredText(body: Body, name: string): string {
  const value = optionalText(body, name);
  if (value === null || value === "") throw new WrongMember(`${name} is missing`);
  return value;
}

export function optionalText(body: Body, name: string): string | null {
  const value = body[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw new WrongMember(`${name} is not text`);
  if (value.length > TEXT_LENGTH_MAX)
    throw new WrongMember(`${name} has more than ${TEXT_LENGTH_MAX} characters`);
  return value;
}

/** A name for people: a longer one is cut, because a reading is worth more than the end of its sensor's name. */
export function cutText(body: Body, name: string): string | null {
  const value = body[name];
  if (typeof value === "string" && value.length > TEXT_LENGTH_MAX)
    return value.slice(0, TEXT_LENGTH_MAX).replace(/\p{Surrogate}$/u, "");
  return optionalText(body, name);
}

export function optionalNumber(body: Body, name: string): number | null {
  const value = body[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new WrongMember(`${name} is not a number`);
  return value;
}

/** A whole number from 0. */
export function optionalCount(body: Body, name: string): number | null {
  const value = optionalNumber(body, name);
  if (value !== null && (!Number.isSafeInteger(value) || value < 0))
    throw new WrongMember(`${name} is not a count`);
  return value;
}

/** An object, or an empty one if the member is missing. */
export function objectMember(body: Body, name: string): Body {
  const value = body[name];
  if (value === undefined || value === null) return EMPTY;
  if (!isJsonObject(value)) throw new WrongMember(`${name} is not an object`);
  return value;
}
const EMPTY: Body = Object.freeze({});

/** Numbers, texts, booleans and null by name. */
export function valuesMember(body: Body): Body {
  if (body["values"] === null) throw new WrongMember("values is null");
  const values = objectMember(body, "values");
  let count = 0;
  for (const name in values) {
    const value = values[name];
    count += 1;
    if (name.length * 3 > NAME_BYTES_MAX) checkName(name, "a name in values");
    if (value === null || typeof value === "boolean" || typeof value === "string") continue;
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new WrongMember(`values.${name.slice(0, 100)} is not a number, text or boolean`);
  }
  if (count > VALUES_MAX) throw new WrongMember(`values has more than ${VALUES_MAX} members`);
  return values;
}

/** A text or null by name. */
export function unitsMember(body: Body): Body {
  const units = objectMember(body, "units");
  for (const name in units) {
    const unit = units[name];
    if (unit === null) continue;
    if (typeof unit !== "string") throw new WrongMember(`units.${name.slice(0, 100)} is not text`);
    if (unit.length * 3 > NAME_BYTES_MAX) checkName(unit, `units.${name.slice(0, 100)}`);
  }
  return units;
}

/** `{quality, reason}` by name. */
export function qualityMember(body: Body): Body {
  const quality = objectMember(body, "quality");
  for (const name in quality) {
    const entry = quality[name];
    const place = `quality.${name.slice(0, 100)}`;
    if (!isJsonObject(entry)) throw new WrongMember(`${place} is not an object`);
    for (const member of ["quality", "reason"]) {
      const text = entry[member];
      if (text !== undefined && text !== null && typeof text !== "string")
        throw new WrongMember(`${place}.${member} is not text`);
    }
  }
  return quality;
}

// A zone is required: a time without one would be read in the collector's own.
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
/** Years of four digits in UTC: what PostgreSQL and `Date` both write as ISO 8601 does. */
const INSTANT_MIN_MS = Date.parse("0001-01-01T00:00:00Z");
const INSTANT_MAX_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** ms UTC, or null if the text is not an instant. */
export function instantOf(value: unknown): Date | null {
  const ms = parseInstant(value);
  return ms === null ? null : new Date(ms);
}

export function parseInstant(text: unknown): number | null {
  if (typeof text !== "string" || !TIME.test(text) || !isDay(text)) return null;
  const ms = Date.parse(text);
  return ms >= INSTANT_MIN_MS && ms <= INSTANT_MAX_MS ? ms : null;
}

/** 31 February would be read as 3 March. */
function isDay(text: string): boolean {
  const day = Number(text.slice(8, 10));
  return day <= 28 || new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === day;
}

/** ms UTC. */
export function optionalTime(body: Body, name: string): number | null {
  const value = body[name];
  return value === undefined || value === null ? null : requiredTime(body, name);
}

export function requiredTime(body: Body, name: string): number {
  const ms = parseInstant(body[name]);
  if (ms === null) throw new WrongMember(`${name} is not a time such as 2026-11-20T15:04:05.000Z`);
  return ms;
}

/**
 * 32 hex digits, as identity.ts creates them. An id of another form is accepted too: it is stored as the first 32 hex
 * digits of its SHA-256, because the tables hold 16 bytes.
 */
export function readingId(body: Body): string {
  const id = requiredText(body, "id");
  if (/^[0-9a-f]{32}$/i.test(id)) return id.toLowerCase();
  return createHash("sha256").update(id).digest("hex").slice(0, ID_HEX_DIGITS);
}
