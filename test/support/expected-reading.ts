/** What a record of the simulator must become on MQTT, worked out from the contract alone. */
import { createHash } from "node:crypto";
import type { PolledKind, Sensor } from "../../src/core/sensor.ts";
import {
  type PlainRecord,
  type PlainTime,
  type PlainValue,
  UNKNOWN_MEMBERS,
} from "../../src/simulator/plain-record.ts";
import { axisValues } from "./expected-signal.ts";

export interface ExpectedReading {
  readonly timeMs: number;
  readonly values: Record<string, number | string | boolean | null>;
  readonly units: Record<string, string>;
  readonly quality: Record<string, { quality: string; reason: string }>;
  readonly attributes: Record<string, unknown>;
}

const CLAMP_FACTOR: Readonly<Record<number, number>> = { 50: 0.5, 100: 1, 250: 2.5, 500: 5 };
/** mm/s: A/B, B/C, C/D. */
const ZONES: Readonly<Record<string, readonly [number, number, number]>> = {
  "group1-rigid": [2.3, 4.5, 7.1],
  "group2-rigid": [1.4, 2.8, 4.5],
  class2: [1.12, 2.8, 7.1],
};
const ACCEL_UNITS: Readonly<Record<string, string>> = {
  accel_rms: "G",
  accel_peak: "G",
  accel_pp: "G",
  crest_factor: "1",
  kurtosis: "1",
  vel_rms: "mm/s",
  disp_pp: "um",
  env_rms: "GE",
};

const timeOf = (value: PlainValue | undefined): PlainTime | null =>
  typeof value === "object" && value !== null && "ms" in value ? value : null;

/** For records as a well gateway shows them; damaged ones have their own tests. */
export function expectedReading(
  sensor: Sensor,
  kind: PolledKind,
  record: PlainRecord,
): ExpectedReading {
  const sheet: ExpectedReading = {
    timeMs: Number.NaN,
    values: {},
    units: {},
    quality: {},
    attributes: {},
  };
  CONVERT[kind](sensor, record, sheet);
  for (const [name, unit] of [
    ["battery", "V"],
    ["module_temperature", "degC"],
  ] as const) {
    if (typeof record[name] === "number") put(sheet, name, record[name], unit);
  }
  for (const name of ["version", "battery_type"]) {
    if (typeof record[name] === "number") sheet.attributes[name] = record[name];
  }
  const field =
    kind === "accel" ? "realnodetime" : kind === "accCurrent" ? "endPeriod" : "time_data";
  const time = timeOf(record[field]);
  if (time?.offsetMinutes !== null && time !== null) {
    const minutes = Math.abs(time.offsetMinutes);
    const text = String(Math.floor(minutes / 60) * 100 + (minutes % 60)).padStart(4, "0");
    sheet.attributes["utc_offset"] = `${time.offsetMinutes < 0 ? "-" : "+"}${text}`;
  }
  return { ...sheet, timeMs: time?.ms ?? Number.NaN };
}

function put(
  sheet: ExpectedReading,
  name: string,
  value: number | string | boolean | null,
  unit: string | null,
  doubt: { quality: string; reason: string } | null = null,
): void {
  sheet.values[name] = value;
  if (unit !== null) sheet.units[name] = unit;
  if (doubt !== null) sheet.quality[name] = doubt;
}

const bad = (reason: string) => ({ quality: "bad", reason });
const uncertain = (reason: string) => ({ quality: "uncertain", reason });

function putAmperes(
  sheet: ExpectedReading,
  name: string,
  reading: PlainValue | undefined,
  clamp: number,
): void {
  if (typeof reading !== "number") return put(sheet, name, null, "A", bad("missing"));
  if (reading < 0) return put(sheet, name, null, "A", bad("under_range"));
  const amperes = reading * (CLAMP_FACTOR[clamp] as number);
  put(sheet, name, amperes, "A", amperes > clamp ? uncertain("over_range") : null);
}

type Convert = (sensor: Sensor, record: PlainRecord, sheet: ExpectedReading) => void;

const CONVERT: Readonly<Record<PolledKind, Convert>> = {
  rpm: (_, record, sheet) => put(sheet, "rpm", Number(record["RPM"]), "rpm"),
  current(sensor, record, sheet) {
    for (const [name, { clamp }] of Object.entries(sensor.channels)) {
      putAmperes(sheet, name, record[name], clamp ?? Number.NaN);
    }
  },
  currentV2(sensor, record, sheet) {
    for (const [name, { clamp }] of Object.entries(sensor.channels)) {
      for (const part of ["min", "max", "avg"]) {
        putAmperes(sheet, `${name}_${part}`, record[`${part}_${name}`], clamp ?? Number.NaN);
      }
    }
  },
  accCurrent(_, record, sheet) {
    for (let n = 1; n <= 4; n++) {
      const name = `accumulated_current${n}`;
      put(sheet, name, Number(record[name]), "Ah");
    }
    const start = timeOf(record["startPeriod"]);
    if (start !== null) sheet.attributes["startPeriod"] = new Date(start.ms).toISOString();
  },
  loop(sensor, record, sheet) {
    for (const [name, { unit = "", low = 0, high = 0 }] of Object.entries(sensor.channels)) {
      const volts = record[`${name}_voltage`];
      if (typeof volts !== "number") {
        put(sheet, name, null, unit, bad("missing"));
        put(sheet, `${name}_ma`, null, "mA", bad("missing"));
        continue;
      }
      const ma = Math.round(volts * 10 * 1e6) / 1e6;
      put(sheet, `${name}_ma`, ma, "mA");
      const value = low + ((ma - 4) / 16) * (high - low);
      if (ma < 2) put(sheet, name, null, unit, bad("wire_break"));
      else if (ma <= 3.6) put(sheet, name, null, unit, bad("under_range"));
      else if (ma < 3.8) put(sheet, name, value, unit, uncertain("under_range"));
      else if (ma <= 20.5) put(sheet, name, value, unit);
      else if (ma < 21) put(sheet, name, value, unit, uncertain("over_range"));
      else put(sheet, name, null, unit, bad("over_range"));
    }
  },
  dryContact(_, record, sheet) {
    for (let n = 1; n <= 4; n++) put(sheet, `input${n}`, record[`input${n}`] === true, null);
  },
  accel(sensor, record, sheet) {
    const shape = {
      sampleRateHz: Number(record["sample_rate"]),
      calibration: Number(record["calibration"]),
    };
    let longest = 0;
    for (let n = 1; n <= 3; n++) {
      const samples = record[`channel${n}`];
      if (!(samples instanceof Int16Array)) continue;
      longest = Math.max(longest, samples.length);
      putAxis(sensor, `channel${n}`, samples, shape, sheet);
    }
    put(sheet, "temperature", Number(record["temperature"]), "degC");
    const { attributes } = sheet;
    attributes["sample_rate"] = shape.sampleRateHz;
    attributes["samples"] = longest;
    attributes["recording_reason"] = record["recording_reason"];
    attributes["device"] = record["device"];
    attributes["time_source"] = "realnodetime";
    for (const name of ["time_data", "realnodetime"]) {
      const time = timeOf(record[name]);
      if (time !== null) attributes[name] = new Date(time.ms).toISOString();
    }
  },
};

function putAxis(
  sensor: Sensor,
  channel: string,
  samples: Int16Array,
  shape: { readonly sampleRateHz: number; readonly calibration: number },
  sheet: ExpectedReading,
): void {
  const { clipCount, ...values } = axisValues(samples, shape);
  // Line spacing above half of 10 Hz leaves velocity in doubt; every other check passes for the shapes tested.
  const isCoarse = shape.sampleRateHz / samples.length > 5;
  const clipped = clipCount > 0 ? uncertain("clipped") : null;
  const motion = clipped ?? (isCoarse ? uncertain("too_short") : null);
  for (const [name, value] of Object.entries(values)) {
    const isMotion = name === "vel_rms" || name === "disp_pp";
    put(sheet, `${channel}_${name}`, value, ACCEL_UNITS[name] ?? "", isMotion ? motion : clipped);
  }
  if (clipCount > 0) sheet.attributes[`${channel}_clip_count`] = clipCount;
  const limits = ZONES[sensor.machineClass ?? ""];
  if (!limits) return;
  const zone = "ABCD"[limits.filter((limit) => values.vel_rms > limit).length] as string;
  put(sheet, `${channel}_zone`, zone, null, motion);
}

/** Wire fields of a record that are times. */
const TIMES = ["time_data", "realnodetime", "startPeriod", "endPeriod"];
const EARLIEST_MS = Date.UTC(2000, 0, 1);

/** The identity of ARCHITECTURE.md, from the record as it was shown. Null where no reading can come of it. */
export function expectedId(sensor: string, kind: PolledKind, record: PlainRecord): string | null {
  const timeMs = expectedTimeMs(kind, record);
  if (timeMs === null) return null;
  const lines: string[] = [];
  const plain = Object.keys(record)
    .filter((name) => !TIMES.includes(name) && !UNKNOWN_MEMBERS.has(name) && name !== "sensor_code")
    .sort();
  for (const name of plain) {
    const value = record[name];
    if (value === null || value === undefined || typeof value === "object") continue;
    lines.push(
      `${name} ${Number.isFinite(value) || typeof value !== "number" ? JSON.stringify(value) : "NaN"}`,
    );
  }
  for (const name of TIMES.toSorted()) {
    const time = timeOf(record[name]);
    if (time !== null && time.ms >= EARLIEST_MS) lines.push(`${name} ${time.ms}`);
  }
  for (const name of [...UNKNOWN_MEMBERS].toSorted()) {
    if (Object.hasOwn(record, name)) {
      lines.push(`extra ${JSON.stringify(name)} ${JSON.stringify(record[name])}`);
    }
  }
  const hash = createHash("sha256");
  hash.update(`${JSON.stringify(sensor.replace(/^0+(?=\d)/, ""))} ${kind} ${timeMs}\n`);
  hash.update(lines.map((text) => `${text}\n`).join(""));
  for (let n = 1; n <= 3; n++) {
    const samples = record[`channel${n}`];
    if (Array.isArray(samples)) {
      const text = createHash("sha256").update(JSON.stringify(samples)).digest("hex").slice(0, 32);
      hash.update(`channel${n} damaged ${text}\n`);
    }
    if (!(samples instanceof Int16Array)) continue;
    const bytes = Buffer.alloc(samples.length * 2);
    samples.forEach((count, i) => bytes.writeInt16LE(count, i * 2));
    hash.update(`channel${n} ${samples.length}\n`).update(bytes);
  }
  return hash.digest("hex").slice(0, 32);
}

/** The time that rules, ms; null where the record has none that is plausible. */
export function expectedTimeMs(kind: PolledKind, record: PlainRecord): number | null {
  const plausible = (name: string): number | null => {
    const ms = timeOf(record[name])?.ms;
    return ms !== undefined && ms >= EARLIEST_MS ? ms : null;
  };
  if (kind === "accCurrent") return plausible("endPeriod") ?? plausible("startPeriod");
  const stored = plausible("time_data");
  const measured =
    kind === "accel" && record["hasrealtime"] !== false ? plausible("realnodetime") : null;
  const isNear =
    measured !== null && (stored === null || Math.abs(measured - stored) <= 86_400_000);
  return isNear ? measured : stored;
}
