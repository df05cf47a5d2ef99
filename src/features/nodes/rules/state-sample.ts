/** One response about a node: values as the site file maps them, from a record of the service or from registers. */

import type { Doubt } from "../../../core/quality.ts";
import type { Value } from "../../../core/reading.ts";
import { canonicalJson } from "../../../core/record/identity.ts";
import type { JsonValue, Timestamp } from "../../../core/record.ts";
import type { StateField, StateRegister } from "../../../core/sensor.ts";
import { memberOf } from "../../../pipeline/decode/envelope-members.ts";
import { type Oddities, readNumber } from "../../../pipeline/decode/scalars.ts";
import { isPlausibleTime, parseIsoTime, parseWireTime } from "../../../pipeline/wire/timestamp.ts";
import type { WireNames } from "../../../pipeline/wire/wire-names.ts";
import { registerValue, type WordOrder } from "./registers.ts";

/** A longer text is truncated: firmware names and states are short. */
const TEXT_MAX = 200;
const TIME_FIELD = "time_data";
const CODE_FIELD = "sensor_code";

export interface StateSample {
  /** The record's own; null if it has no plausible one. */
  readonly time: Timestamp | null;
  readonly values: Readonly<Record<string, Value>>;
  readonly units: Readonly<Record<string, string>>;
  readonly quality: Readonly<Record<string, Doubt>>;
  readonly raw: Readonly<Record<string, JsonValue>>;
}

export interface FieldReading {
  readonly names: WireNames;
  readonly oddities: Oddities;
  /** Takes secrets out of texts. */
  readonly redact: (text: string) => string;
}

/** The sensor that a record names, as text; null if it names none. */
export function codeOf(record: JsonValue, names: WireNames): string | null {
  const code = field(record, CODE_FIELD, names);
  if (code === undefined || code === null || code === "") return null;
  return typeof code === "string" ? code.trim() : canonicalJson(code);
}

/**
 * A record's values under the names of the site file; null if it has none of the fields. A missing field is bad with
 * the reason `missing`; one with a unit that is not a number is bad with `not_a_number`.
 */
export function sampleOfRecord(
  record: JsonValue,
  fields: Readonly<Record<string, StateField>>,
  reading: FieldReading,
): StateSample | null {
  const sheet = new Sheet();
  let isGiven = false;
  for (const [name, { from, unit }] of Object.entries(fields)) {
    const written = field(record, from, reading.names);
    const value =
      unit === undefined ? plainValue(written, reading) : readNumber(written, reading.oddities);
    if (value !== undefined) isGiven = true;
    sheet.put(name, value, unit);
  }
  if (!isGiven) return null;
  return { ...sheet.content, time: timeOf(record, reading), raw: rawOf(record, reading) };
}

/** The registers of one device, by address, as values. */
export function sampleOfRegisters(
  words: ReadonlyMap<number, number>,
  registers: readonly StateRegister[],
  order: WordOrder,
): StateSample {
  const sheet = new Sheet();
  const raw: Record<string, JsonValue> = {};
  for (const register of registers) {
    const { address, value: name, unit = "1" } = register;
    const own = [words.get(address) ?? 0, words.get(address + 1) ?? 0];
    sheet.put(name, registerValue(own, register, order), unit);
    const isWide = register.type.endsWith("32");
    for (let i = 0; i < (isWide ? 2 : 1); i += 1) raw[`register${address + i}`] = own[i] ?? 0;
  }
  return { ...sheet.content, time: null, raw };
}

class Sheet {
  readonly #values: [string, Value][] = [];
  readonly #units: [string, string][] = [];
  readonly #quality: [string, Doubt][] = [];

  /** `undefined` is absent, NaN is not a number. */
  put(name: string, value: Value | undefined, unit: string | undefined): void {
    const isNumber = typeof value !== "number" || Number.isFinite(value);
    const isBad = value === undefined || value === null || !isNumber;
    this.#values.push([name, isBad ? null : value]);
    if (unit !== undefined) this.#units.push([name, unit]);
    const reason = isNumber ? "missing" : "not_a_number";
    if (isBad) this.#quality.push([name, { quality: "bad", reason }]);
  }

  // fromEntries defines members: a value named __proto__ stays plain data.
  get content(): Pick<StateSample, "values" | "units" | "quality"> {
    return {
      values: Object.fromEntries(this.#values),
      units: Object.fromEntries(this.#units),
      quality: Object.fromEntries(this.#quality),
    };
  }
}

/** The vendor's spelling first, then the name as written, each exactly and then in any letter case. */
function field(record: JsonValue, name: string, names: WireNames): JsonValue | undefined {
  return memberOf(record, names.wire(name)) ?? memberOf(record, name);
}

/** A value without a unit: a number, boolean or text as received. */
function plainValue(
  written: JsonValue | undefined,
  { oddities, redact }: FieldReading,
): Value | undefined {
  if (typeof written === "boolean") return written;
  if (typeof written === "number") {
    if (Number.isFinite(written)) return written;
    oddities.add("not_a_number_token");
    return undefined;
  }
  if (typeof written !== "string") return undefined;
  const text = redact(written.trim()).slice(0, TEXT_MAX);
  return text === "" ? undefined : text;
}

function timeOf(record: JsonValue, { names, oddities }: FieldReading): Timestamp | null {
  const written = field(record, TIME_FIELD, names);
  if (typeof written !== "string") return null;
  let time = parseWireTime(written);
  if (time === null) {
    time = parseIsoTime(written);
    if (time !== null) oddities.add("iso_time");
  }
  return time !== null && isPlausibleTime(time.ms) ? time : null;
}

/** The record's simple members; lists and objects in it are left out. */
function rawOf(record: JsonValue, { redact }: FieldReading): Record<string, JsonValue> {
  if (typeof record !== "object" || record === null) return {};
  const members = Object.entries<JsonValue>(record);
  return Object.fromEntries(
    members.flatMap(([name, value]): [string, JsonValue][] => {
      if (typeof value === "string") return [[name, redact(value).slice(0, TEXT_MAX)]];
      if (typeof value === "number") return [[name, Number.isFinite(value) ? value : null]];
      return typeof value === "boolean" ? [[name, value]] : [];
    }),
  );
}
