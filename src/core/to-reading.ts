/**
 * The heart: a raw record of a sensor becomes a reading with engineering values, units and quality (contract section
 * 5). Pure and total: every decoded record gives a reading, and every value in it is finite or null.
 */
import { accelSteps } from "./convert/accel.ts";
import { convertAccumulatedCurrent } from "./convert/accumulated-current.ts";
import { convertCurrent, convertCurrentV2 } from "./convert/current.ts";
import { convertDryContact } from "./convert/dry-contact.ts";
import { convertLoop } from "./convert/loop.ts";
import { convertRpm } from "./convert/rpm.ts";
import { numberField, ValueSheet } from "./convert/value-sheet.ts";
import type { Flag, Reading, Waveform } from "./reading.ts";
import type { JsonValue, RawRecord, TimeField, Timestamp } from "./record.ts";
import type { Sensor } from "./sensor.ts";
import type { DftPlans } from "./signal/fft.ts";

/** Context of a record besides its content. */
export interface ReadingContext {
  /** Identity (core/identity.ts). */
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
  /** True also keeps the tones of acceleration records, for diagnosis. */
  readonly tones?: boolean;
}

const FUTURE_MS = 24 * 3_600_000;

/** Converts in steps: one between two acceleration channels, so that the caller can yield to the event loop. */
export function* readingSteps(
  record: RawRecord,
  sensor: Sensor,
  context: ReadingContext,
): Generator<void, Reading> {
  const sheet = new ValueSheet();
  const waveform = yield* convertSteps(record, sensor, context, sheet);
  putHealth(record, sheet);
  for (const flag of flagsOf(record, context)) sheet.flags.add(flag);
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
  };
}

/** The same in one go. */
export function toReading(record: RawRecord, sensor: Sensor, context: ReadingContext): Reading {
  const steps = readingSteps(record, sensor, context);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function* convertSteps(
  record: RawRecord,
  sensor: Sensor,
  context: ReadingContext,
  sheet: ValueSheet,
): Generator<void, Waveform | null> {
  switch (record.kind) {
    case "accel":
      return yield* accelSteps(record, sensor, context, sheet);
    case "current":
      convertCurrent(record, sensor, sheet);
      return null;
    case "currentV2":
      convertCurrentV2(record, sensor, sheet);
      return null;
    case "accCurrent":
      convertAccumulatedCurrent(record, sensor, sheet);
      return null;
    case "loop":
      convertLoop(record, sensor, sheet);
      return null;
    case "dryContact":
      convertDryContact(record, sensor, sheet);
      return null;
    case "rpm":
      convertRpm(record, sheet);
      return null;
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

function* flagsOf(record: RawRecord, context: ReadingContext): Generator<Flag> {
  yield* context.flags ?? [];
  if (context.time.ms > context.gatewayNowMs + FUTURE_MS) yield "time_in_future";
  const hasNodeTime = record.times.realnodetime !== undefined;
  if (record.kind === "accel" && hasNodeTime && context.timeSource === "time_data") {
    yield "time_from_time_data";
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
  const entries: [string, JsonValue][] = Object.entries(record.extra);
  if (record.sensorCode !== null) entries.push(["sensor_code", record.sensorCode]);
  for (const [name, value] of Object.entries(record.fields)) {
    const isJson = typeof value !== "number" || Number.isFinite(value);
    entries.push([name, isJson ? value : null]);
  }
  for (const [name, time] of Object.entries(record.times)) {
    entries.push([name, new Date(time.ms).toISOString()]);
  }
  // As received: a raw value must not depend on how we parse it.
  entries.push(...Object.entries(record.timeTexts ?? {}));
  // fromEntries defines members; a member named __proto__ stays plain data.
  return Object.fromEntries(entries);
}
