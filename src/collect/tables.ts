import type { Kind } from "../core/sensor.ts";

/** How a value is stored in its column. `zone` is A–D, which the view also shows as 1–4. */
type ColumnType = "double precision" | "boolean" | "text";

interface ValueColumn {
  /** The value's name in the payload and the column's. */
  readonly name: string;
  readonly type: ColumnType;
}

/** One table of readings: a column for each value that the kind can have. */
export interface ReadingTable {
  readonly kind: Kind | "other";
  readonly table: string;
  readonly values: readonly ValueColumn[];
  /** Attributes that are times: a column of 8 bytes each instead of 40 in `attributes`. */
  readonly times: readonly string[];
}

const number = (name: string): ValueColumn => ({ name, type: "double precision" });
const HEALTH = [number("battery"), number("module_temperature")];
const THREE = [1, 2, 3];
const FOUR = [1, 2, 3, 4];

const ACCEL = ["accel_rms", "accel_peak", "accel_pp", "crest_factor", "kurtosis", "vel_rms"];
const ACCEL_VALUES = [...ACCEL, "disp_pp", "env_rms"];

const table = (
  kind: ReadingTable["kind"],
  name: string,
  values: readonly ValueColumn[],
  times: readonly string[] = [],
): ReadingTable => ({ kind, table: `reading_${name}`, values, times });

/** Every table of readings. `other` is for kinds that this version does not know, their values as JSON. */
export const READING_TABLES: readonly ReadingTable[] = [
  table(
    "accel",
    "accel",
    [
      ...THREE.flatMap((n) => [
        ...ACCEL_VALUES.map((name) => number(`channel${n}_${name}`)),
        { name: `channel${n}_zone`, type: "text" as const },
      ]),
      number("temperature"),
      ...HEALTH,
    ],
    ["time_data", "realnodetime"],
  ),
  table("current", "current", [...THREE.map((n) => number(`current${n}`)), ...HEALTH]),
  table("currentV2", "current_v2", [
    ...FOUR.flatMap((n) => ["min", "max", "avg"].map((part) => number(`current${n}_${part}`))),
    ...HEALTH,
  ]),
  table(
    "accCurrent",
    "acc_current",
    [...FOUR.map((n) => number(`accumulated_current${n}`)), ...HEALTH],
    ["startPeriod"],
  ),
  table("loop", "loop", [
    ...FOUR.flatMap((n) => [number(`channel${n}`), number(`channel${n}_ma`)]),
    ...HEALTH,
  ]),
  table("dryContact", "dry_contact", [
    ...FOUR.map((n) => ({ name: `input${n}`, type: "boolean" as const })),
    ...HEALTH,
  ]),
  table("rpm", "rpm", [number("rpm"), ...HEALTH]),
  table("other", "other", []),
];

const BY_KIND = new Map<string, ReadingTable>(READING_TABLES.map((entry) => [entry.kind, entry]));

export function readingTable(kind: string): ReadingTable {
  const found = BY_KIND.get(kind) ?? BY_KIND.get("other");
  if (found === undefined) throw new Error("there is no table for other kinds");
  return found;
}

/** Column of a time attribute: `startPeriod` → start_period. */
function timeColumn(attribute: string): string {
  return attribute.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Columns at the start of every table of readings, in order. */
const READING_HEAD = ["time", "id", "stream", "unit_set", "attribute_set", "historical"] as const;

/** Columns at the end of every table of readings, in order; JSON, mostly null. */
const READING_TAIL = ["quality", "attributes", "more"] as const;

export function readingColumns(entry: ReadingTable): string[] {
  return [
    ...READING_HEAD,
    ...entry.times.map(timeColumn),
    ...entry.values.map(({ name }) => name),
    ...READING_TAIL,
  ];
}
