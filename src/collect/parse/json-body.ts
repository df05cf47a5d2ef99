import { isJsonObject } from "../../core/record.ts";
import { DEPTH_MAX, ELEMENTS_MAX, type JsonShape } from "./json-shape.ts";
import { type Body } from "./members.ts";

/** Why a payload is no JSON object that can be stored. */
export class Unusable {
  readonly reason: "not_json" | "not_an_object" | "too_deep" | "too_large" | "wrong_member";
  readonly detail: string;

  constructor(reason: Unusable["reason"], detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

/** The payload as a JSON object in which every text can be stored; its shape is checked before it is parsed. */
export function jsonBody(payload: Buffer, { depth, elements }: JsonShape): Body | Unusable {
  if (depth > DEPTH_MAX)
    return new Unusable("too_deep", `is nested more than ${DEPTH_MAX} levels deep`);
  if (elements > ELEMENTS_MAX)
    return new Unusable("too_large", `has more than ${ELEMENTS_MAX} members and elements`);
  let value: unknown;
  try {
    value = JSON.parse(UTF8.decode(payload));
  } catch (error) {
    return new Unusable("not_json", error instanceof SyntaxError ? "" : "is not UTF-8");
  }
  if (!isJsonObject(value))
    return value === null ? new Unusable("not_json", "") : new Unusable("not_an_object", "");
  // Only an escape can contain what a text column cannot hold.
  const path = payload.includes("\\u") ? unstorablePath(value) : null;
  if (path === null) return value;
  return new Unusable("wrong_member", `${path} has a character that a text column cannot hold`);
}

/** A text with replaced bytes would be another text. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

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
