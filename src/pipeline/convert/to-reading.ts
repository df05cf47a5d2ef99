/**
 * The core of the program: converts a raw record of a sensor to a reading with engineering values, units and quality
 * (contract section 5). Pure and total: every decoded record gives a reading, and every value in it is finite or
 * null.
 */

import { bad, type Graded, good } from "../../core/quality.ts";
import type { Flag, Reading, RecordFacts, Waveform } from "../../core/reading.ts";
import type { JsonValue, RawRecord, TimeField, Timestamp } from "../../core/record.ts";
import type { Sensor } from "../../core/sensor.ts";
import { inOneGo } from "../../core/steps.ts";
import { DAY_MS } from "../../core/time-units.ts";
import type { DftPlans } from "../signal/fft.ts";
import type { WantedTones } from "../signal/tones.ts";
import { accelSteps } from "./accel.ts";
import { isPublished } from "./channels.ts";
import { convertAccumulatedCurrent, convertCurrent, convertCurrentV2 } from "./current.ts";
import { decimal } from "./decimal.ts";
import { convertLoop } from "./loop.ts";
import { isCarried, numberField, ValueSheet } from "./value-sheet.ts";

/** Context of a record besides its content. */
export interface ReadingContext {
  /** Identity (core/record/identity.ts). */
  readonly id: string;
  /** The time of the reading, and the field it came from. */
  readonly time: Timestamp;
  readonly timeSource: TimeField;
  /** The gateway's clock, otherwise ours, ms UTC. */
  readonly gatewayNowMs: number;
  /** Flags set by the reader of the response, such as partial_answer. */
  readonly flags?: Iterable<Flag>;
  /** Transform tables to reuse between records; without them each acceleration record creates its own. */
  readonly plans?: DftPlans;
  /** Of acceleration records, for diagnosis. */
  readonly tones?: WantedTones;
}

const FUTURE_MS = DAY_MS;

/** Converts a record of acceleration: a step between two channels, so that the caller can yield to the event loop. */
export function* readingSteps(
  record: RawRecord,
  sensor: Sensor,
  context: ReadingContext,
): Generator<void, Reading> {
  const sheet = new ValueSheet();
  const waveform = yield* accelSteps(record, sensor, context, sheet);
  return readingOf(record, sensor, context, sheet, waveform);
}

/** Converts a record of any kind in one go. */
export function toReading(record: RawRecord, sensor: Sensor, context: ReadingContext): Reading {
  if (record.kind === "accel") return inOneGo(readingSteps(record, sensor, context));
  const sheet = new ValueSheet();
  convertScalars(record, sensor, sheet);
  return readingOf(record, sensor, context, sheet, null);
}

function readingOf(
  record: RawRecord,
  sensor: Sensor,
  context: ReadingContext,
  sheet: ValueSheet,
  waveform: Waveform | null,
): Reading {
  putHealth(record, sheet);
  putFlags(record, context, sheet);
  return {
    id: context.id,
    sensor: sensor.code,
    kind: record.kind,
    timeMs: context.time.ms,
    offsetMinutes: context.time.offsetMinutes,
    values: sheet.values,
    units: sheet.units,
    quality: sheet.quality,
    attributes: attributesOf(record, context, sheet),
    raw: rawOf(record),
    waveform,
    ...(sheet.tones === null ? {} : { tones: sheet.tones }),
    ...(record.kind === "accel" ? { record: factsOf(sheet.attributes) } : {}),
  };
}

function factsOf({ sample_rate, samples }: ValueSheet["attributes"]): RecordFacts {
  return { zone: null, shape: `${sample_rate ?? "?"}/${samples ?? "?"}` };
}

function convertScalars(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  switch (record.kind) {
    case "accel":
      throw new Error("acceleration is converted in steps");
    case "current":
      return convertCurrent(record, sensor, sheet);
    case "currentV2":
      return convertCurrentV2(record, sensor, sheet);
    case "accCurrent":
      return convertAccumulatedCurrent(record, sensor, sheet);
    case "loop":
      return convertLoop(record, sensor, sheet);
    case "dryContact":
      return convertDryContact(record, sensor, sheet);
    case "rpm":
      return convertRpm(record, sensor, sheet);
    default:
      return record.kind satisfies never;
  }
}

/** State of the transmitter itself, if the record contains it. */
function putHealth(record: RawRecord, sheet: ValueSheet): void {
  const battery = numberField(record, "battery");
  if (battery.value !== null) sheet.number("battery", "V", battery);
  const temperature = numberField(record, "module_temperature");
  if (temperature.value !== null) sheet.number("module_temperature", "degC", temperature);
}

function putFlags(record: RawRecord, context: ReadingContext, { flags }: ValueSheet): void {
  for (const flag of context.flags ?? []) flags.add(flag);
  if (context.time.ms > context.gatewayNowMs + FUTURE_MS) flags.add("time_in_future");
  const hasNodeTime = record.times.realnodetime !== undefined;
  if (record.kind === "accel" && hasNodeTime && context.timeSource === "time_data") {
    flags.add("time_from_time_data");
  }
}

function attributesOf(
  record: RawRecord,
  context: ReadingContext,
  sheet: ValueSheet,
): Record<string, JsonValue> {
  const attributes: Record<string, JsonValue> = {};
  for (const name of ["version", "battery_type"] as const) {
    const { value } = numberField(record, name);
    if (value !== null) attributes[name] = value;
  }
  Object.assign(attributes, sheet.attributes);
  if (record.kind === "accel") attributes.time_source = context.timeSource;
  const offset = offsetText(context.time.offsetMinutes);
  if (offset !== null) attributes.utc_offset = offset;
  if (sheet.flags.size > 0) attributes.flags = [...sheet.flags];
  return attributes;
}

/** ±hhmm, as the wire writes it. */
export function offsetText(offsetMinutes: number | null): string | null {
  if (offsetMinutes === null) return null;
  const minutes = Math.abs(offsetMinutes);
  const digits = Math.floor(minutes / 60) * 100 + (minutes % 60);
  return `${offsetMinutes < 0 ? "-" : "+"}${String(digits).padStart(4, "0")}`;
}

/** The record without its samples, under neutral names; unknown members never hide known ones. */
function rawOf(record: RawRecord): Record<string, JsonValue> {
  // fromEntries defines members; an unknown member named __proto__ stays plain data.
  const raw: Record<string, JsonValue> = Object.fromEntries(Object.entries(record.extra));
  if (record.sensorCode !== null) raw.sensor_code = record.sensorCode;
  for (const name in record.fields) {
    const value = record.fields[name];
    const isJson = typeof value !== "number" || Number.isFinite(value);
    raw[name] = isJson && value !== undefined ? value : null;
  }
  const texts: Readonly<Record<string, string>> = record.timeTexts ?? {};
  // As received: a raw value must not depend on how we parse it.
  for (const [name, { ms }] of Object.entries(record.times))
    raw[name] = texts[name] ?? new Date(ms).toISOString();
  // Those that cannot be parsed.
  return Object.assign(raw, texts);
}

/** 0 or 1, also as a boolean, and the opposite if the channel is inverted. */
function contactValue(wire: unknown, invert: boolean): Graded<boolean> {
  if (wire === undefined || wire === null) return bad("missing");
  if (wire === true || wire === 1) return good(!invert);
  if (wire === false || wire === 0) return good(invert);
  return bad("not_a_number");
}

function convertDryContact(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  for (let n = 1; n <= 4; n++) {
    const name = `input${n}`;
    if (!isPublished(sensor, "input", n)) continue;
    const config = Object.hasOwn(sensor.channels, name) ? sensor.channels[name] : undefined;
    // A field that could not be read is present, but is not a contact state.
    const wire = record.fields[name] ?? (isCarried(record, name) ? Number.NaN : null);
    sheet.boolean(name, contactValue(wire, config?.invert === true));
  }
}

/** A speed has no sign. */
function unsigned(reading: Graded): Graded {
  return reading.value !== null && reading.value < 0 ? bad("under_range") : reading;
}

/** Shaft speed, r/min, of what the transmitter counts as turns. */
function convertRpm(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  const { pulsesPerRevolution = 1 } = sensor;
  const turns = unsigned(numberField(record, "RPM"));
  if (turns.value === null || pulsesPerRevolution === 1) return sheet.number("rpm", "rpm", turns);
  const value = decimal(turns.value / pulsesPerRevolution);
  sheet.exact("rpm", "rpm", { ...turns, value });
}
