import { copyJson, copyNumber, copyText, copyTime, instantText } from "../parse/copy-text.ts";
import type { ReadingItem } from "../parse/item.ts";
import { parseInstant } from "../parse/members.ts";
import { type ReadingTable, readingTable } from "../tables.ts";

/** A reading split into the content of its table's columns. */
export interface ReadingRow {
  readonly item: ReadingItem;
  readonly table: ReadingTable;
  /** JSON of units and steady attributes: the row contains their number. */
  readonly unitsText: string;
  readonly attributesText: string;
  /** COPY fields of times and values, in the table's order. */
  readonly fields: readonly string[];
  /** Everything without a column. */
  readonly moreValues: Readonly<Record<string, unknown>> | null;
  readonly ownAttributes: Readonly<Record<string, unknown>> | null;
}

type Members = Record<string, unknown>;

/** In which `__proto__` is a name like any other. */
const members = (): Members => Object.create(null);

export function readingRow(item: ReadingItem): ReadingRow {
  const table = readingTable(item.kind);
  const fields: string[] = [];
  let steady: Members | null = null;
  let own: Members | null = null;
  const times = new Map<string, number>();
  for (const name in item.attributes) {
    const value = item.attributes[name];
    const ms = typeof value === "string" ? parseInstant(value) : null;
    if (ms === null) (steady ??= members())[name] = value;
    // A column returns exactly this text; any other spelling is kept as it is.
    else if (table.times.includes(name) && instantText(ms) === value) times.set(name, ms);
    else (own ??= members())[name] = value;
  }
  for (const name of table.times) fields.push(copyTime(times.get(name) ?? null));

  let taken = 0;
  let count = 0;
  for (const name in item.values) if (!isExplained(item, table, name)) count += 1;
  for (const { name, type } of table.values) {
    const value = item.values[name];
    if (value === undefined || value === null || typeof value !== COLUMN_VALUES[type]) {
      fields.push("\\N");
      continue;
    }
    taken += 1;
    fields.push(
      typeof value === "number"
        ? String(value)
        : copyText(typeof value === "string" ? value : JSON.stringify(value)),
    );
  }
  return {
    item,
    table,
    unitsText: JSON.stringify(item.units),
    attributesText: steady === null ? "{}" : JSON.stringify(steady),
    fields,
    moreValues: taken === count ? null : valuesWithoutColumn(item, table),
    ownAttributes: own,
  };
}

const COLUMN_VALUES = { "double precision": "number", boolean: "boolean", text: "string" } as const;

/** True for a missing value that its empty column and its quality represent. */
function isExplained(item: ReadingItem, table: ReadingTable, name: string): boolean {
  if (item.values[name] !== null || !item.quality[name]) return false;
  return table.values.some((column) => column.name === name);
}

/** Values of other names, of another type than their column, and missing ones without a quality. */
function valuesWithoutColumn(item: ReadingItem, table: ReadingTable): Members {
  const columns = new Map(table.values.map(({ name, type }) => [name, COLUMN_VALUES[type]]));
  return Object.fromEntries(
    Object.entries(item.values).filter(([name, value]) =>
      value === null ? !isExplained(item, table, name) : columns.get(name) !== typeof value,
    ),
  );
}

export interface RowNumbers {
  readonly stream: number;
  /** Null if the dictionary is full: the row contains the object itself. */
  readonly unitSet: number | null;
  readonly attributeSet: number | null;
}

/** The row as a line of COPY. */
export function copyReading(row: ReadingRow, numbers: RowNumbers): string {
  const { item } = row;
  const more: Members = {};
  if (row.moreValues !== null) more["values"] = row.moreValues;
  if (numbers.unitSet === null && row.unitsText !== "{}") more["units"] = item.units;
  if (item.raw !== undefined && item.raw !== null) more["raw"] = item.raw;
  const attributes: Members =
    numbers.attributeSet === null && row.attributesText !== "{}"
      ? { ...JSON.parse(row.attributesText), ...row.ownAttributes }
      : row.ownAttributes;
  const head = `${copyTime(item.timeMs)}\t${item.id}\t${numbers.stream}\t${copyNumber(numbers.unitSet)}\t${copyNumber(numbers.attributeSet)}\t${item.historical ? "t" : "f"}`;
  const middle = row.fields.length === 0 ? "" : `\t${row.fields.join("\t")}`;
  return `${head}${middle}\t${copyJson(item.quality)}\t${copyJson(attributes)}\t${copyJson(more)}\n`;
}
