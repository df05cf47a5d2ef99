/** Stored readings as a table that spreadsheets open as it is: a row a reading, a column per value and unit. */

import type { Value } from "../core/reading.ts";
import {
  type StoredReading,
  storedQuality,
  storedUnits,
  storedValues,
} from "../core/stored-reading.ts";
import { csvField } from "../core/text/csv.ts";
import { wallClockText } from "../core/time/time-zone.ts";
import { type Flags, UsageError } from "./command.ts";

/** Spreadsheets take a file for UTF-8 only if it begins with this. */
const MARK = "\ufeff";
const LINE_END = "\r\n";

export interface TableStyle {
  /** Of the times in it. */
  readonly zone: string;
  readonly separator: string;
  readonly decimal: string;
}

/** Throws UsageError. @param localZone the gateway's */
export function tableStyle(flags: Flags, localZone: string): TableStyle | null {
  const [zone, separator, decimal] = ["zone", "separator", "decimal"].map((name) =>
    flags.text(name),
  );
  if (!flags.has("excel")) {
    const given = ["zone", "separator", "decimal"].find((name) => flags.has(name));
    if (given !== undefined) throw new UsageError(`--${given} requires --excel`);
    return null;
  }
  if (flags.has("format") && flags.text("format") !== "csv")
    throw new UsageError("--excel is a form of csv; leave out --format");
  if (flags.has("waveforms") || flags.has("db"))
    throw new UsageError("--excel writes the readings of this box; leave out --waveforms and --db");
  flags.choice("zone", ["local", "utc"]);
  const style = {
    zone: zone === "utc" ? "UTC" : localZone,
    separator: separator === "tab" ? "\t" : (separator ?? ";"),
    decimal: decimal ?? ",",
  };
  if (!/^[;,|\t]$/.test(style.separator))
    throw new UsageError("--separator must be one of ; , | tab");
  if (!/^[.,]$/.test(style.decimal)) throw new UsageError("--decimal must be a comma or a point");
  if (style.separator === style.decimal)
    throw new UsageError("--separator and --decimal are the same character; change one of them");
  return style;
}

const parse = (reading: StoredReading) => ({
  values: storedValues(reading),
  units: storedUnits(reading),
  quality: storedQuality(reading),
});

const headOf = (name: string, unit: string | undefined) =>
  unit === undefined ? name : `${name} (${unit})`;

/**
 * Lines of the table. `readings` is read twice, since the columns come first: both times it must give the same.
 * @param nameOf the sensor's name; empty without one
 */
export function* excelLines(
  readings: () => Iterable<StoredReading>,
  { zone, separator, decimal }: TableStyle,
  nameOf: (sensor: string) => string,
): Generator<string> {
  const columns = new Set<string>();
  for (const reading of readings()) {
    const { values, units } = parse(reading);
    for (const name in values) columns.add(headOf(name, units[name]));
  }
  const line = (fields: readonly (Value | undefined)[]) =>
    fields.map((field) => written(field, separator, decimal)).join(separator) + LINE_END;
  yield MARK + line([`time (${zone})`, "sensor", "name", "kind", ...columns, "not good"]);
  for (const reading of readings()) {
    const { values, units, quality } = parse(reading);
    const byHead = new Map(
      Object.entries(values).map(([name, value]) => [headOf(name, units[name]), value]),
    );
    const doubts = Object.entries(quality).map(
      ([name, doubt]) => `${name}: ${doubt.quality} (${doubt.reason})`,
    );
    yield line([
      wallClockText(reading.timeMs, zone),
      reading.sensor,
      nameOf(reading.sensor),
      reading.kind,
      ...[...columns].map((head) => byHead.get(head)),
      doubts.join(", "),
    ]);
  }
}

function written(value: Value | undefined, separator: string, decimal: string): string {
  if (typeof value === "number") return String(value).replace(".", decimal);
  return csvField(value, separator);
}
