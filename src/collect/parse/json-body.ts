import { type Body, isObject } from "./members.ts";

/** No message of ours has more than five levels; writers recurse level by level. */
const DEPTH_MAX = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/** Why a payload is no JSON object that can be stored. */
export class Unusable {
  readonly reason: "not_json" | "not_an_object" | "too_deep" | "wrong_member";
  readonly detail: string;

  constructor(reason: Unusable["reason"], detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

/** The payload as a JSON object in which every text can be stored; its depth is checked before it is parsed. */
export function jsonBody(payload: Buffer): Body | Unusable {
  if (isNestedDeeper(payload, DEPTH_MAX))
    return new Unusable("too_deep", `is nested more than ${DEPTH_MAX} levels deep`);
  let value: unknown;
  try {
    value = JSON.parse(UTF8.decode(payload));
  } catch (error) {
    return new Unusable("not_json", error instanceof SyntaxError ? "" : "is not UTF-8");
  }
  if (!isObject(value))
    return value === null ? new Unusable("not_json", "") : new Unusable("not_an_object", "");
  // Only an escape can contain what a text column cannot hold.
  const path = payload.includes("\\u") ? unstorablePath(value) : null;
  if (path === null) return value;
  return new Unusable("wrong_member", `${path} has a character that a text column cannot hold`);
}

/** A text with replaced bytes would be another text. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads bytes only: it must not depend on what a parser does with a text of a million brackets. */
function isNestedDeeper(json: Buffer, levels: number): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPENING[0] || byte === OPENING[1]) {
      depth += 1;
      if (depth > levels) return true;
    } else if (byte === CLOSING[0] || byte === CLOSING[1]) depth -= 1;
  }
  return false;
}

// PostgreSQL stores no U+0000 in a text, and halves of surrogate pairs have no UTF-8 form.
const UNSTORABLE = /\0|\p{Surrogate}/u;

export function isStorable(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** The member whose name or text cannot be stored, or null. */
function unstorablePath(value: unknown, path = ""): string | null {
  if (typeof value === "string") return isStorable(value) ? null : path;
  if (typeof value !== "object" || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    if (!isStorable(name)) return path === "" ? "the name of a member" : `a name in ${path}`;
    const inner = path === "" ? name.slice(0, 100) : `${path}.${name.slice(0, 100)}`;
    const found = unstorablePath(member, inner.slice(0, 200));
    if (found !== null) return found;
  }
  return null;
}
