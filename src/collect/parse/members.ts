/** Members of a payload, read with their limits. Each throws `WrongMember` with the member's name. */
import { createHash } from "node:crypto";

/** A member that is missing or has the wrong form: the message is rejected with this text. */
export class WrongMember extends Error {}

export type Body = Readonly<Record<string, unknown>>;

/** Names are a few words; anything longer is not a name. */
const TEXT_LENGTH_MAX = 512;
const ID_HEX_DIGITS = 32;

// PostgreSQL stores no U+0000 in a text, and halves of surrogate pairs have no UTF-8 form.
const UNSTORABLE = /\0|\p{Surrogate}/u;

export function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
  if (UNSTORABLE.test(value))
    throw new WrongMember(`${name} has a character that a text column cannot hold`);
  return value;
}

export function optionalNumber(body: Body, name: string): number | null {
  const value = body[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new WrongMember(`${name} is not a number`);
  return value;
}

/** An object, or an empty one if the member is missing. */
export function objectMember(body: Body, name: string): Body {
  const value = body[name];
  if (value === undefined || value === null) return EMPTY;
  if (!isObject(value)) throw new WrongMember(`${name} is not an object`);
  return value;
}
const EMPTY: Body = Object.freeze({});

// A zone is required: a time without one would be read in the collector's own.
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/** ms UTC, or null if the text is not an instant. */
export function parseInstant(text: unknown): number | null {
  if (typeof text !== "string" || !TIME.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
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
