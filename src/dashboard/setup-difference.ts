/** The differences between two files for people: entries by their names, members with both values. */

import { canonicalJson, changedFields } from "../core/configuration/site-difference.ts";
import { isJsonObject, type JsonObject } from "../core/record.ts";

/** Lists of the two files, and the member that names an entry. */
const LISTS: Readonly<Record<string, { readonly key: string; readonly word: string }>> = {
  sensors: { key: "code", word: "Sensor" },
  machines: { key: "id", word: "Machine" },
  alarms: { key: "name", word: "Alarm rule" },
  uplinks: { key: "name", word: "Uplink" },
};
const TEXT_MAX = 120;

export function differenceLines(before: unknown, after: unknown): string[] {
  const [a, b] = [isJsonObject(before) ? before : {}, isJsonObject(after) ? after : {}];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].flatMap((name) => {
    const list = LISTS[name];
    if (list !== undefined) return entryLines(list, a[name], b[name]);
    return memberLines("", a[name], b[name], name);
  });
}

export function entriesOf(content: unknown, list: string): readonly JsonObject[] {
  const entries = isJsonObject(content) ? content[list] : null;
  return Array.isArray(entries) ? entries.filter(isJsonObject) : [];
}

function entryLines(
  { key, word }: { readonly key: string; readonly word: string },
  before: unknown,
  after: unknown,
): string[] {
  const byKey = (list: unknown) =>
    new Map(
      (Array.isArray(list) ? list.filter(isJsonObject) : []).map((one) => [String(one[key]), one]),
    );
  const [a, b] = [byKey(before), byKey(after)];
  return [
    ...[...b.keys()].filter((one) => !a.has(one)).map((one) => `${word} ${one}: added`),
    ...[...a.keys()].filter((one) => !b.has(one)).map((one) => `${word} ${one}: removed`),
    ...[...b].flatMap(([one, entry]) =>
      a.has(one) ? memberLines(`${word} ${one}: `, a.get(one), entry, "") : [],
    ),
  ];
}

function memberLines(head: string, before: unknown, after: unknown, name: string): string[] {
  return changedFields(before, after, name).map(
    (path) => `${head}${path} ${shown(at(before, path, name))} → ${shown(at(after, path, name))}`,
  );
}

function at(value: unknown, path: string, name: string): unknown {
  const own = path === name ? "" : name === "" ? path : path.slice(name.length + 1);
  let found = value;
  for (const part of own === "" ? [] : own.split(".")) {
    if (!isJsonObject(found)) return undefined;
    found = found[part];
  }
  return found;
}

function shown(value: unknown): string {
  if (value === undefined) return "(nothing)";
  const text = typeof value === "object" ? canonicalJson(value) : JSON.stringify(value);
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
