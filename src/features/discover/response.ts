/** Parts of an analytics service's responses, read tolerantly (services section 2). */
import { isJsonObject, type JsonObject } from "../../core/record.ts";
import { API_TABLE, ENVELOPE } from "../../pipeline/wire/names.ts";
import type { WireNames } from "../../pipeline/wire/wire-names.ts";

/**
 * `[{Key,Value}]`, `{Key,Value}`, either under `<Operation>Result`, or a bare list (services section 2, rules 2 and 4).
 */
export function envelopes(response: unknown, names: WireNames, operation: string): JsonObject[] {
  if (Array.isArray(response)) {
    const parts = response.filter(isJsonObject);
    const has = (part: JsonObject, name: string) => names.member(part, name) !== undefined;
    const isEnveloped = parts.some((part) => has(part, ENVELOPE.key) || has(part, ENVELOPE.value));
    return isEnveloped || parts.length === 0 ? parts : [{ [ENVELOPE.value]: parts }];
  }
  if (!isJsonObject(response)) return [];
  const inner = names.member(response, `${operation}${ENVELOPE.resultSuffix}`);
  return inner === undefined ? [response] : envelopes(inner, names, operation);
}

/** Objects as they are; a `{columns, data}` table as one object per row. */
export function rowsOf(values: readonly unknown[], names: WireNames): JsonObject[] {
  return values.filter(isJsonObject).flatMap((value) => {
    const columns = names.member(value, API_TABLE.columns);
    const data = names.member(value, API_TABLE.data);
    if (!Array.isArray(columns) || !Array.isArray(data)) return [value];
    return data
      .filter((row): row is unknown[] => Array.isArray(row) && row.length === columns.length)
      .map((row) => Object.fromEntries(columns.map((name, index) => [String(name), row[index]])));
  });
}

export function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
}
export function integerOf(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}
