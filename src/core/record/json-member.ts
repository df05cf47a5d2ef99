import { parsedObject } from "../parsed-json.ts";

/** The text of a scalar member of a JSON object; null where the object has no such member. */
export type MemberText = (object: string) => string | null;

/**
 * Cuts a member from the text of an object as JSON.stringify writes it, which must be intact: parsing all members of a month of
 * readings takes longer than reading them from the store. Who needs most of the members parses.
 */
export function memberText(name: string): MemberText {
  const key = `${JSON.stringify(name)}:`;
  return (object) => {
    for (let at = object.indexOf(key); at >= 0; at = object.indexOf(key, at + 1)) {
      // Else it ends a longer name with a quotation mark in it. Within a text value no mark stands without a backslash.
      if (object[at - 1] !== "," && object[at - 1] !== "{") continue;
      // After another brace it may belong to an object within the object.
      const inner = object.indexOf("{", 1);
      if (inner >= 0 && inner < at) return parsedText(object, name);
      return scalarAt(object, at + key.length);
    }
    return null;
  };
}

function parsedText(object: string, name: string): string | null {
  const members = parsedObject(object);
  return members !== null && Object.hasOwn(members, name) ? JSON.stringify(members[name]) : null;
}

/** A text value is cut at its first comma or brace: it is no number either way. */
function scalarAt(object: string, from: number): string {
  const comma = object.indexOf(",", from);
  const text = object.slice(from, comma < 0 ? undefined : comma);
  const brace = text.indexOf("}");
  return brace < 0 ? text : text.slice(0, brace);
}

/** The number that the text of a member is; null for any other value. */
export function textNumber(text: string | null): number | null {
  if (text === null || !isNumber(text)) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

/** The same as JSON. */
export const numberText = (text: string | null): string =>
  text !== null && isNumber(text) && Number.isFinite(Number(text)) ? text : "null";

/** Of all scalars only a number begins with a digit or a minus sign. */
function isNumber(text: string): boolean {
  const first = text.charCodeAt(0);
  return first === 0x2d || (first >= 0x30 && first <= 0x39);
}

/** The same with contacts as 1 and 0. */
export function textValue(text: string | null): number | null {
  if (text === "true") return 1;
  return text === "false" ? 0 : textNumber(text);
}
