/** The effects of record faults. Each is pure, so that a checker can recompute the served record. */

import type { PolledKind } from "../core/sensor.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { ActiveFault, FaultName, FaultSet } from "./faults.ts";
import { isTime, type PlainRecord, type PlainTime, type PlainValue } from "./plain-record.ts";
import { chance, mix } from "./random.ts";
import type { RecordRef } from "./sensor-history.ts";

/** One change to a record: which, drawn from which seed, with which parameter. */
export type RecordStep = readonly [name: FaultName, seed: number, parameter: number | string];

/** One record of a response: which, and its alterations. No steps = the truth. */
export interface FaultyItem {
  readonly ref: RecordRef;
  readonly steps: readonly RecordStep[];
}

/** .NET's text for a time that was never set. */
const UNSET_MS = -62_135_596_800_000;
const YEAR_2106_MS = 4_294_967_295_000;
const NO_STEPS: readonly RecordStep[] = [];

/** Faults that change single records in place. ALTERATIONS describes each. */
const CHANGING: ReadonlySet<FaultName> = new Set<FaultName>([
  ...([
    "changed-field",
    "time-unset",
    "time-epoch",
    "time-2106",
    "time-text",
    "channels-cut",
  ] as const),
  ...(["channels-unequal", "channels-empty", "samples-out-of-range", "samples-float"] as const),
  ...(["calibration-zero", "calibration-negative", "nan-tokens", "null-fields"] as const),
  ...(["missing-fields", "unknown-members", "unknown-values", "restored-from-backup"] as const),
]);
/** Faults that add further records. */
const ADDING: ReadonlySet<FaultName> = new Set<FaultName>([
  "duplicates",
  "same-time-other-content",
  "foreign",
  "other-day",
]);

/** Whether a fault affects this record: the same records are affected at every call while it lasts. */
function concerns(fault: ActiveFault, n: number): boolean {
  const share = fault.spec.fraction ?? (fault.spec.name === "vanished" ? 0.2 : 1);
  return share >= 1 || chance(fault.seed, n) < share;
}

/** How much later than usual a record becomes visible, ms. */
export function extraDelay(faults: FaultSet): ((n: number) => number) | undefined {
  const late = faults.get("late");
  return late && ((n) => (concerns(late, n) ? (late.spec.ms ?? 1_800_000) : 0));
}

/** The day's records after the faults. */
export function applyRecordFaults(refs: readonly RecordRef[], faults: FaultSet): FaultyItem[] {
  let items: FaultyItem[] = refs.map((ref) => ({ ref, steps: NO_STEPS }));
  for (const fault of faults.all) {
    const { name } = fault.spec;
    if (name === "vanished") items = items.filter(({ ref }) => !concerns(fault, ref.n));
    else if (name === "shrunk") items = items.slice(0, fault.spec.count ?? 1);
    else if (name === "newest-first") items.reverse();
    else if (name === "out-of-order") items = shuffled(items, fault.seed);
    else if (CHANGING.has(name)) items = items.map((item) => changed(item, fault));
    else if (ADDING.has(name)) items = items.flatMap((item) => withAddition(item, fault));
  }
  return items;
}

function changed(item: FaultyItem, fault: ActiveFault): FaultyItem {
  if (!concerns(fault, item.ref.n)) return item;
  if (fault.spec.name === "restored-from-backup" && item.ref.trueMs >= fault.sinceMs) return item;
  return { ref: item.ref, steps: [...item.steps, stepOf(item, fault)] };
}

function withAddition(item: FaultyItem, fault: ActiveFault): FaultyItem[] {
  if (!concerns(fault, item.ref.n)) return [item];
  if (fault.spec.name === "duplicates") return [item, item];
  return [item, { ref: item.ref, steps: [...item.steps, stepOf(item, fault)] }];
}

function stepOf(item: FaultyItem, fault: ActiveFault): RecordStep {
  return [fault.spec.name, mix(fault.seed, item.ref.n), fault.spec.text ?? fault.spec.count ?? 0];
}

function shuffled(items: readonly FaultyItem[], seed: number): FaultyItem[] {
  return items
    .map((item, i) => ({ item, at: chance(seed, item.ref.n, i) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** True if such a record can give no reading: after all alterations it has no time, or names another sensor. */
export function isRejected(steps: readonly RecordStep[], kind: PolledKind): boolean {
  let hasTime = true;
  let isText = false;
  let isForeign = false;
  for (const [name] of steps) {
    if (name === "time-unset" || name === "time-epoch") hasTime = false;
    else if (name === "time-2106" || name === "big-day") hasTime = true;
    // What is no time any more, no later alteration moves.
    else if (name === "time-text") isText = true;
    else if (name === "foreign") isForeign = kind !== "accCurrent";
    else if (name === "sensor-swapped") isForeign = false;
  }
  return isText || !hasTime || isForeign;
}

/** The record with every alteration applied. */
export function applySteps(record: PlainRecord, steps: readonly RecordStep[]): PlainRecord {
  return steps.reduce((changing, step) => applyStep(changing, step), record);
}

function applyStep(record: PlainRecord, [name, seed, parameter]: RecordStep): PlainRecord {
  return ALTERATIONS[name]?.(record, seed, parameter) ?? record;
}

type Alteration = (record: PlainRecord, seed: number, parameter: number | string) => PlainRecord;

const setWhere =
  (field: string, value: PlainValue): Alteration =>
  (record) =>
    field in record ? { ...record, [field]: value } : record;
const moveTimes =
  (map: (time: PlainTime) => PlainValue): Alteration =>
  (record) =>
    mapTimes(record, map);
const moveChannels =
  (
    map: (samples: Int16Array, index: number, seed: number) => Int16Array | readonly number[],
  ): Alteration =>
  (record, seed) =>
    mapChannels(record, (samples, i) => map(samples, i, seed));

/** The effect of a fault on one record. */
const ALTERATIONS: Readonly<Partial<Record<FaultName, Alteration>>> = {
  "changed-field": (record, seed) => withOtherContent(record, seed, 0.11),
  "restored-from-backup": (record, seed) => withOtherContent(record, seed, 0.23),
  "same-time-other-content": (record, seed) => withOtherContent(record, seed, 0.37),
  foreign: setWhere("sensor_code", "999999999"),
  "sensor-swapped": (record, seed, code) =>
    setWhere("sensor_code", String(code))(record, seed, code),
  "other-day": moveTimes(({ ms, offsetMinutes }) => ({ ms: ms - 2 * DAY_MS, offsetMinutes })),
  // An additional record: its own time, with the samples of another.
  "big-day": (record, _, atMs) =>
    mapTimes(record, ({ offsetMinutes }) => ({ ms: Number(atMs), offsetMinutes })),
  "time-unset": moveTimes(() => ({ ms: UNSET_MS, offsetMinutes: 0 })),
  "time-epoch": moveTimes(() => ({ ms: 0, offsetMinutes: 0 })),
  "time-2106": moveTimes(({ offsetMinutes }) => ({ ms: YEAR_2106_MS, offsetMinutes })),
  "time-text": moveTimes(() => "yesterday"),
  "channels-cut": moveChannels((samples) => samples.slice(0, samples.length >> 1)),
  "channels-unequal": moveChannels((samples, i) => samples.slice(0, samples.length - i * 7)),
  "channels-empty": moveChannels(() => new Int16Array(0)),
  "samples-out-of-range": moveChannels((samples, i, seed) =>
    i === 0 ? replaced(samples, seed, 40_000) : samples,
  ),
  "samples-float": moveChannels((samples, i, seed) =>
    i === 0 ? replaced(samples, seed, 0.5) : samples,
  ),
  "calibration-zero": setWhere("calibration", 0),
  "calibration-negative": setWhere("calibration", -0.001),
  "nan-tokens": (record) =>
    mapNumbers(record, (_, i) => [Number.NaN, Infinity][i % 3] ?? -Infinity),
  "null-fields": (record) => mapNumbers(record, () => null),
  "missing-fields": (record) => {
    const numbers = numericFields(record);
    return Object.fromEntries(Object.entries(record).filter(([field]) => !numbers.includes(field)));
  },
  // A computed name: an own member, not the prototype.
  "unknown-members": (record) => ({
    ...record,
    ["__proto__"]: 1,
    constructor: "x",
    zz_new: 7,
  }),
  "unknown-values": (record) => ({
    ...record,
    ...("recording_reason" in record ? { recording_reason: 9 } : {}),
    ...("battery_type" in record ? { battery_type: 77 } : {}),
  }),
};

const TIME_FIELDS = ["time_data", "realnodetime", "startPeriod", "endPeriod"] as const;
const CHANNEL_FIELDS = ["channel1", "channel2", "channel3"] as const;

function mapTimes(record: PlainRecord, map: (time: PlainTime) => PlainValue): PlainRecord {
  const out: Record<string, PlainValue> = { ...record };
  for (const field of TIME_FIELDS) {
    const time = out[field];
    if (time !== undefined && isTime(time)) out[field] = map(time);
  }
  return out;
}

function mapChannels(
  record: PlainRecord,
  map: (samples: Int16Array, index: number) => Int16Array | readonly number[],
): PlainRecord {
  const out: Record<string, PlainValue> = { ...record };
  CHANNEL_FIELDS.forEach((field, i) => {
    const samples = out[field];
    if (samples instanceof Int16Array) out[field] = map(samples, i);
  });
  return out;
}

function replaced(samples: Int16Array, seed: number, value: number): readonly number[] {
  const out = [...samples];
  if (out.length > 0) out[seed % out.length] = value;
  return out;
}

/** The measured numbers: those of a reading, and the battery. */
function numericFields(record: PlainRecord): string[] {
  const isMeasured = /current|voltage|^RPM$|^battery$|temperature/;
  return Object.keys(record).filter((f) => typeof record[f] === "number" && isMeasured.test(f));
}

function mapNumbers(
  record: PlainRecord,
  map: (value: number, index: number) => number | null,
): PlainRecord {
  const out: Record<string, PlainValue> = { ...record };
  numericFields(record).forEach((field, i) => {
    out[field] = map(Number(record[field]), i);
  });
  return out;
}

/** Other content at the same time: one measured number is changed a little. */
function withOtherContent(record: PlainRecord, seed: number, shift: number): PlainRecord {
  const numbers = numericFields(record);
  const field = numbers[seed % Math.max(1, numbers.length)];
  if (field === undefined) {
    // Contacts have no number except the firmware's.
    return { ...record, version: Number(record["version"] ?? 0) + Math.round(shift * 100) };
  }
  const value = Number(record[field]) + shift + (seed % 97) / 1000;
  return { ...record, [field]: Number(value.toFixed(4)) };
}
