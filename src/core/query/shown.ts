/** Sensors, readings, trends and signals in the form of the API; free of Node, because the dashboard uses it too. */

import type { ZoneLimits } from "../../pipeline/signal/severity.ts";
import { FIRMWARE, READS, SENSOR_STATES, SIGNAL_DBM, ZONE } from "../agent-status.ts";
import { DOUBT } from "../quality.ts";
import type { Value } from "../reading.ts";
import {
  INTEGER,
  ISO,
  known,
  list,
  MS,
  map,
  NUMBER,
  named,
  OBJECT,
  type Of,
  object,
  oneOf,
  optional,
  orNull,
  TEXT,
  YES_NO,
} from "../schema.ts";
import {
  type ChannelConfig,
  KINDS,
  type Kind,
  type MachineClass,
  type SensorLocation,
} from "../sensor.ts";
import { WAVEFORM_REF } from "../stored-reading.ts";
import { AXES, type SignalUnit } from "../unit.ts";
import { KEPT_WHYS } from "./measurements.ts";

export const SIGNAL_UNIT_CODES = [0, 1, 2, 3, 4, 5, 6] as const satisfies readonly SignalUnit[];

const SHOWN_READING = named(
  "Reading",
  object({
    seq: { ...INTEGER, description: "Position in the order of storage." },
    id: TEXT,
    sensor: TEXT,
    kind: oneOf(KINDS),
    time: ISO,
    timeMs: MS,
    storedAtMs: MS,
    values: map(known<Value>({ type: ["number", "string", "boolean", "null"] })),
    units: map(TEXT),
    quality: { ...map(DOUBT), description: "Only values that are not good." },
    attributes: known<Readonly<Record<string, unknown>>>(OBJECT),
    waveforms: list(WAVEFORM_REF),
  }),
);
export type ShownReading = Of<typeof SHOWN_READING>;
export const READINGS = object({ next: orNull(TEXT), readings: list(SHOWN_READING) });

export const SHOWN_SENSOR = named(
  "Sensor",
  object({
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
      known<SensorLocation>(
        object({
          company: INTEGER,
          area: INTEGER,
          machine: INTEGER,
          point: INTEGER,
          names: optional(map(TEXT)),
        }),
      ),
    ),
    channels: { ...map(known<ChannelConfig>(OBJECT)), description: "As in the site file." },
    machineClass: orNull(known<MachineClass>(TEXT)),
    limits: orNull<ZoneLimits>({ type: "array", items: NUMBER, minItems: 3, maxItems: 3 }),
    speedRpm: orNull(NUMBER),
    batteryLowV: orNull(NUMBER),
    state: {
      ...oneOf([...SENSOR_STATES, "removed"]),
      description: "removed: no longer in the site file, but readings of it are stored.",
    },
    lastReadingMs: orNull(MS),
    batteryV: orNull(NUMBER),
    firmware: FIRMWARE,
    signalDbm: SIGNAL_DBM,
    reads: list(READS),
    zone: ZONE,
    latest: known<Readonly<Partial<Record<Kind, ShownReading>>>>({
      type: "object",
      propertyNames: oneOf(KINDS),
      additionalProperties: SHOWN_READING,
    }),
  }),
);
export type ShownSensor = Of<typeof SHOWN_SENSOR>;
export const SENSORS = object({
  total: INTEGER,
  next: orNull(INTEGER),
  sensors: list(SHOWN_SENSOR),
});

/** What a trend is made of. */
const RESOLUTIONS = ["readings", "hours", "days"] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** Points of one value in one unit: the lowest and highest of every bucket that has any, so that no spike is lost. */
const LINE = {
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
const TREND_LINE = named("TrendLine", object(LINE));
export type TrendLine = Of<typeof TREND_LINE>;
/** One value over time in its newest unit. */
const TREND_SERIES = named(
  "TrendSeries",
  object({
    ...LINE,
    formerly: { ...list(TREND_LINE), description: "In other units, oldest first." },
  }),
);
export type TrendSeries = Of<typeof TREND_SERIES>;
export const TREND = named(
  "Trend",
  object({
    sensor: TEXT,
    kind: oneOf(KINDS),
    resolution: oneOf(RESOLUTIONS),
    sinceMs: {
      ...orNull(MS),
      description: "Start of the oldest hour or day that this box has counted, of any sensor.",
    },
    fromMs: MS,
    toMs: MS,
    bucketMs: NUMBER,
    /** Readings examined. */
    readings: INTEGER,
    series: map(TREND_SERIES),
    /** The sensors that were in its place before, oldest first, and until when their readings count. */
    formerSensors: optional(list(object({ sensor: TEXT, untilMs: MS }))),
    /** Times within the range from which on values are of another scale, and why: those before cannot be compared. */
    changes: optional(list(object({ timeMs: MS, values: list(TEXT), text: TEXT }))),
  }),
);
export type Trend = Of<typeof TREND>;

const MEASURED = { time: ISO, timeMs: MS, reading: TEXT, channels: list(WAVEFORM_REF) };
export const WAVEFORMS = object({ waveforms: list(named("Measurement", object(MEASURED))) });

/** The shaft at the sensor, where that is not the measured one. */
const SHAFT_THERE = optional(object({ name: TEXT, speedRpm: NUMBER }));

const STORED_MEASUREMENT = named(
  "StoredMeasurement",
  object({
    ...MEASURED,
    running: {
      ...orNull(YES_NO),
      description: "Null while unknown, or if no signal shows it.",
    },
    speedRpm: { ...orNull(NUMBER), description: "As measured." },
    shaft: SHAFT_THERE,
    kept: {
      ...list(
        object({
          why: oneOf(KEPT_WHYS),
          note: { ...orNull(TEXT), description: "Of a pin." },
        }),
      ),
      description: "Why it is kept beyond WAVEFORM_DAYS; empty for those that are merely young.",
    },
  }),
);
export type ShownMeasurement = Of<typeof STORED_MEASUREMENT>;
export const MEASUREMENTS = object({
  measurements: list(STORED_MEASUREMENT),
  next: orNull(TEXT),
});
/** A measurement, null if it is gone, with its neighbours. */
export const MEASUREMENT_AROUND = object({
  measurement: orNull(STORED_MEASUREMENT),
  older: orNull(STORED_MEASUREMENT),
  newer: orNull(STORED_MEASUREMENT),
  since: { ...orNull(TEXT), description: "Time of the oldest measurement of the sensor." },
  reading: orNull(SHOWN_READING),
});
export type MeasurementAround = Of<typeof MEASUREMENT_AROUND>;
export const MEASUREMENT_DAYS = object({
  days: { ...list(TEXT), description: "Calendar days of the gateway's zone, yyyy-MM-dd." },
});

const UNIT = oneOf(SIGNAL_UNIT_CODES);
const SERIES = {
  fileId: INTEGER,
  sensor: TEXT,
  sensorName: orNull(TEXT),
  time: ISO,
  timeMs: MS,
  reading: { ...TEXT, description: "Id of the reading." },
  channel: INTEGER,
  axis: oneOf(AXES),
  sampleRateHz: NUMBER,
  samples: INTEGER,
  recordingReason: orNull(INTEGER),
  unit: UNIT,
  label: TEXT,
  step: NUMBER,
};
const SERIES_END = {
  doubt: orNull(DOUBT),
  count: INTEGER,
  base64: {
    ...TEXT,
    contentEncoding: "base64",
    description: "Little-endian 32-bit floats.",
  },
};
const DETECTION = oneOf(["peak"]);
export const SPECTRA = named(
  "Spectra",
  object({
    sensor: TEXT,
    channel: INTEGER,
    unit: UNIT,
    label: TEXT,
    total: { ...INTEGER, description: "Measurements in the range, of which these were chosen." },
    detection: DETECTION,
    spectra: list(
      object({
        time: ISO,
        timeMs: MS,
        reading: TEXT,
        fileId: INTEGER,
        axis: oneOf(AXES),
        running: orNull(YES_NO),
        speedRpm: orNull(NUMBER),
        shaft: SHAFT_THERE,
        step: NUMBER,
        ...SERIES_END,
      }),
    ),
  }),
);
export const WAVEFORM = named(
  "Waveform",
  object({
    ...SERIES,
    stepUnit: oneOf(["s"]),
    firstIndex: INTEGER,
    /** The published value of this quantity. */
    overall: orNull(object({ value: NUMBER, detection: oneOf(["rms", "pp"]) })),
    ...SERIES_END,
  }),
);
export const SPECTRUM = named(
  "Spectrum",
  object({
    ...SERIES,
    stepUnit: oneOf(["Hz"]),
    detection: DETECTION,
    peaks: list(object({ frequencyHz: NUMBER, amplitude: NUMBER })),
    shaft: SHAFT_THERE,
    speedHz: orNull(NUMBER),
    harmonicsHz: list(NUMBER),
    ...SERIES_END,
  }),
);
