import { REASONS } from "../core/quality.ts";
import { KINDS } from "../core/sensor.ts";
import {
  INTEGER,
  ISO,
  list,
  MS,
  map,
  NUMBER,
  object,
  oneOf,
  orNull,
  ref,
  TEXT,
  YES_NO,
} from "./api-response-schema.ts";
import type { Schema } from "./api-schemas.ts";

const SERIES = {
  fileId: INTEGER,
  sensor: TEXT,
  sensorName: orNull(TEXT),
  time: ISO,
  timeMs: MS,
  reading: { ...TEXT, description: "Id of the reading." },
  channel: INTEGER,
  axis: oneOf(["H", "V", "A"]),
  sampleRateHz: NUMBER,
  samples: INTEGER,
  recordingReason: orNull(INTEGER),
  unit: oneOf([0, 1, 2, 3, 4, 5, 6]),
  label: TEXT,
  step: NUMBER,
};
const SERIES_END = {
  doubt: orNull(ref("Doubt")),
  count: INTEGER,
  base64: {
    type: "string",
    contentEncoding: "base64",
    description: "Little-endian 32-bit floats.",
  },
};

const TREND_LINE = {
  unit: orNull(TEXT),
  timesMs: {
    ...list(MS),
    description:
      "Of readings: the middle of the bucket, or the reading's own time if it contains one. Of hours and days: where the bucket begins.",
  },
  min: list(NUMBER),
  max: list(NUMBER),
  mean: list(NUMBER),
  count: { ...list(INTEGER), description: "Readings with a number." },
  uncertain: { ...list(INTEGER), description: "Those of them that were uncertain." },
  bad: { ...list(INTEGER), description: "Readings whose value was bad." },
  doubtful: { ...list(INTEGER), description: "Readings whose value was not good." },
};

/** Sensors, readings, trends and signals. */
export const READING_RESPONSES: Readonly<Record<string, Schema>> = {
  Sensor: object({
    code: TEXT,
    type: INTEGER,
    name: orNull(TEXT),
    description: orNull(TEXT),
    model: orNull(TEXT),
    kinds: list(oneOf(KINDS)),
    enabled: { ...YES_NO, description: "False: kept in lists, but not read." },
    replaces: { ...list(TEXT), description: "Sensors that were in its place before." },
    replacedBy: { ...orNull(TEXT), description: "The sensor that is in its place now." },
    location: orNull(
      object(
        { company: INTEGER, area: INTEGER, machine: INTEGER, point: INTEGER, names: map(TEXT) },
        ["names"],
      ),
    ),
    channels: { ...map({ type: "object" }), description: "As in the site file." },
    machineClass: orNull(TEXT),
    limits: orNull({ type: "array", items: NUMBER, minItems: 3, maxItems: 3 }),
    speedRpm: orNull(NUMBER),
    batteryLowV: orNull(NUMBER),
    state: {
      ...oneOf(["online", "silent", "unknown", "removed"]),
      description: "removed: no longer in the site file, but readings of it are stored.",
    },
    lastReadingMs: orNull(MS),
    batteryV: orNull(NUMBER),
    firmware: { ...orNull({ type: ["string", "number"] }), description: "Of state reads." },
    signalDbm: { ...orNull(NUMBER), description: "Of state reads, dBm." },
    reads: list(ref("Reads")),
    zone: { ...orNull(oneOf(["A", "B", "C", "D"])), description: "Worst zone of its axes." },
    latest: {
      type: "object",
      propertyNames: oneOf(KINDS),
      additionalProperties: ref("Reading"),
    },
  }),
  Reading: object({
    seq: { ...INTEGER, description: "Position in the order of storage." },
    id: TEXT,
    sensor: TEXT,
    kind: oneOf(KINDS),
    time: ISO,
    timeMs: MS,
    storedAtMs: MS,
    values: map({ type: ["number", "string", "boolean", "null"] }),
    units: map(TEXT),
    quality: {
      type: "object",
      additionalProperties: ref("Doubt"),
      description: "Only values that are not good.",
    },
    attributes: { type: "object" },
    waveforms: list(ref("WaveformRef")),
  }),
  Doubt: object({ quality: oneOf(["uncertain", "bad"]), reason: oneOf(REASONS) }),
  WaveformRef: object({ fileId: INTEGER, channel: INTEGER, axis: oneOf(["H", "V", "A"]) }),
  TrendLine: object(TREND_LINE),
  TrendSeries: object({
    ...TREND_LINE,
    formerly: { ...list(ref("TrendLine")), description: "In other units, oldest first." },
  }),
  Trend: object(
    {
      sensor: TEXT,
      kind: oneOf(KINDS),
      resolution: oneOf(["readings", "hours", "days"]),
      sinceMs: {
        ...orNull(MS),
        description: "Start of the oldest hour or day that this box has counted, of any sensor.",
      },
      fromMs: MS,
      toMs: MS,
      bucketMs: NUMBER,
      readings: INTEGER,
      series: map(ref("TrendSeries")),
      formerSensors: list(object({ sensor: TEXT, untilMs: MS })),
    },
    ["formerSensors"],
  ),
  Measurement: object({
    time: ISO,
    timeMs: MS,
    reading: TEXT,
    channels: list(ref("WaveformRef")),
  }),
  StoredMeasurement: object({
    time: ISO,
    timeMs: MS,
    reading: TEXT,
    channels: list(ref("WaveformRef")),
    running: { ...orNull(YES_NO), description: "Null while unknown, or if no signal shows it." },
    speedRpm: orNull(NUMBER),
    kept: {
      ...list(
        object({
          why: oneOf(["ladder", "baseline", "alarm", "finding", "pin"]),
          note: { ...orNull(TEXT), description: "Of a pin." },
        }),
      ),
      description: "Why it is kept beyond WAVEFORM_DAYS; empty for those that are merely young.",
    },
  }),
  Spectra: object({
    sensor: TEXT,
    channel: INTEGER,
    unit: oneOf([0, 1, 2, 3, 4, 5, 6]),
    label: TEXT,
    total: { ...INTEGER, description: "Measurements in the range, of which these were chosen." },
    detection: oneOf(["peak"]),
    spectra: list(
      object({
        time: ISO,
        timeMs: MS,
        reading: TEXT,
        fileId: INTEGER,
        axis: oneOf(["H", "V", "A"]),
        running: orNull(YES_NO),
        speedRpm: orNull(NUMBER),
        step: NUMBER,
        ...SERIES_END,
      }),
    ),
  }),
  Waveform: object({
    ...SERIES,
    stepUnit: oneOf(["s"]),
    firstIndex: INTEGER,
    overall: orNull(object({ value: NUMBER, detection: oneOf(["rms", "pp"]) })),
    ...SERIES_END,
  }),
  Spectrum: object({
    ...SERIES,
    stepUnit: oneOf(["Hz"]),
    detection: oneOf(["peak"]),
    peaks: list(object({ frequencyHz: NUMBER, amplitude: NUMBER })),
    speedHz: orNull(NUMBER),
    harmonicsHz: list(NUMBER),
    ...SERIES_END,
  }),
};
