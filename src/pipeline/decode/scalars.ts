import type { JsonValue } from "../../core/record.ts";

/** Counts tolerated deviations of a response. */
export class Oddities {
  readonly counts: Record<string, number> = {};
  add(oddity: Oddity): void {
    this.counts[oddity] = (this.counts[oddity] ?? 0) + 1;
  }
}

export type Oddity =
  | "bom"
  | "wrapped_answer"
  | "answer_in_text"
  | "bare_object"
  | "value_object"
  | "key_missing"
  | "status_as_text"
  | "number_as_text"
  | "decimal_comma"
  | "not_a_number_token"
  | "boolean_as_other"
  | "name_letter_case"
  | "unknown_member"
  | "iso_time";

const POINT_NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const COMMA_NUMBER = /^[+-]?\d*,\d+(?:[eE][+-]?\d+)?$/;
const NO_NUMBER = /^[+-]?(?:nan|inf|infinity)$/i;

/** A number in any spelling (services section 2, rule 7); NaN if it is not one; undefined if it is absent. */
export function readNumber(value: JsonValue | undefined, oddities: Oddities): number | undefined {
  if (typeof value === "number") {
    if (Number.isNaN(value)) oddities.add("not_a_number_token");
    return Number.isFinite(value) ? value : Number.NaN;
  }
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "string") return Number.NaN;
  const text = value.trim();
  if (text === "") return undefined;
  if (POINT_NUMBER.test(text)) {
    oddities.add("number_as_text");
    return finite(Number(text));
  }
  if (COMMA_NUMBER.test(text)) {
    oddities.add("decimal_comma");
    return finite(Number(text.replace(",", ".")));
  }
  if (NO_NUMBER.test(text)) oddities.add("not_a_number_token");
  return Number.NaN;
}

const finite = (value: number) => (Number.isFinite(value) ? value : Number.NaN);

/** A boolean in any spelling (services section 2, rule 8); undefined if it is not one. */
export function readBoolean(value: JsonValue, oddities: Oddities): boolean | undefined {
  if (typeof value === "boolean") return value;
  oddities.add("boolean_as_other");
  if (value === 1) return true;
  if (value === 0) return false;
  if (typeof value !== "string") return undefined;
  const text = value.trim().toLowerCase();
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : undefined;
}
