/**
 * Measurements with samples over the API.
 * In one file: each operation stands beside its schemas, and all of them share the cursor and its range.
 */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Measurement } from "../core/query/measurements.ts";
import { packFloats } from "../core/query/packed.ts";
import {
  MEASUREMENT_AROUND,
  MEASUREMENT_DAYS,
  MEASUREMENTS,
  SPECTRA,
} from "../core/query/shown.ts";
import { UNIT_LABELS } from "../core/query/units.ts";
import { input, type Of, type Schema } from "../core/schema.ts";
import { normalCode } from "../core/sensor.ts";
import type { Shaft } from "../core/shaft.ts";
import { dayOf } from "../core/time/time-zone.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { SignalUnit } from "../core/unit.ts";
import { yieldToLoop } from "../lib/yield-to-loop.ts";
import { type Operation, serve } from "./api-operation.ts";
import {
  flag,
  INSTANT,
  IS_READING_ID,
  instantMs,
  integer,
  MEASUREMENT_ID,
  SENSOR_CODE,
  text,
} from "./api-schemas.ts";
import { SIGNAL_UNIT } from "./api-waveforms.ts";
import type { HttpParts } from "./parts.ts";
import { measurementGone, refuse } from "./problem.ts";
import { readingJson } from "./reading-json.ts";
import { shaftInSpectrum, shaftThere, turnsAt } from "./shaft-there.ts";
import { JSON_UTF8 } from "./shared-responses.ts";

type MeasurementParts = Pick<
  HttpParts,
  "measurements" | "waveforms" | "series" | "site" | "history" | "gatewayNow"
>;

const CURSOR: Schema<string> = {
  ...text(60, "`next` of the previous page."),
  pattern: "^-?\\d{1,15}\\.[0-9a-f]{32}$",
};
const RANGE = { from: INSTANT, to: INSTANT };
const RANGE_QUERY = input(RANGE);
/** Spectra of one waterfall, at most. */
const SPECTRA_MAX = 100;

const MEASUREMENT_LIST = {
  path: "/api/v1/sensors/{code}/measurements",
  method: "get",
  summary: "Measurements of a sensor with samples, young and kept, newest first.",
  params: SENSOR_CODE,
  query: input({
    ...RANGE,
    kept: flag("Leaves out those that are stored only because they are young."),
    cursor: CURSOR,
    limit: integer(1, 500, 100),
  }),
  also: { 404: "No sensor of this code." },
  response: "A page; `next` is the `cursor` of the next one, null on the last page.",
  schema: MEASUREMENTS,
} as const satisfies Operation;

const DAY_LIST = {
  path: "/api/v1/sensors/{code}/measurements/days",
  method: "get",
  summary: "Days on which a sensor has measurements.",
  params: SENSOR_CODE,
  query: RANGE_QUERY,
  also: { 404: "No sensor of this code." },
  response: "The days, oldest first.",
  schema: MEASUREMENT_DAYS,
} as const satisfies Operation;

const AROUND = {
  path: "/api/v1/sensors/{code}/measurements/{reading}",
  method: "get",
  summary: "One measurement with its reading and its neighbours, also of one that is gone.",
  params: MEASUREMENT_ID,
  query: input({
    at: { ...INSTANT, description: "Its time, to name the neighbours of one that is gone." },
  }),
  also: { 404: "No measurement of this reading, and no time to find its neighbours by." },
  response: "The measurement, null if it is gone, and the ones before and after it.",
  schema: MEASUREMENT_AROUND,
} as const satisfies Operation;

const WATERFALL = {
  path: "/api/v1/sensors/{code}/spectra",
  method: "get",
  summary: "Spectra of a channel for a waterfall, evenly chosen from a range, newest first.",
  params: SENSOR_CODE,
  query: input({
    ...RANGE,
    channel: integer(1, 3, 1),
    unit: SIGNAL_UNIT,
    count: integer(1, SPECTRA_MAX, SPECTRA_MAX),
  }),
  also: { 404: "No sensor of this code." },
  response: "At most `count` spectra of the `total` in the range.",
  schema: SPECTRA,
} as const satisfies Operation;

export const MEASUREMENTS_OPERATIONS: readonly Operation[] = [
  MEASUREMENT_LIST,
  DAY_LIST,
  AROUND,
  WATERFALL,
];

/** Measurements with samples, young and kept. */
export function registerMeasurementsApi(
  app: FastifyInstance,
  parts: MeasurementParts,
  { timezone }: { readonly timezone: string },
): void {
  const { measurements } = parts;
  serve(app, MEASUREMENT_LIST, (request, reply) => {
    const { kept, cursor, limit } = request.query;
    const range = rangeOf(request.params.code, request.query, parts);
    if (typeof range === "string") return refuse(reply, 400, range);
    if (!isKnown(range.sensor, parts)) return unknownSensor(reply);
    const [timeMs, reading] = cursor?.split(".") ?? [];
    const before = reading === undefined ? null : { timeMs: Number(timeMs), reading };
    const found = measurements.list({ ...range, onlyKept: kept, before, limit: limit + 1 });
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return reply.send({
      measurements: shown.map((one) => measurementJson(one, turnsAt(parts, range.sensor))),
      next: last === undefined ? null : `${last.timeMs}.${last.reading}`,
    });
  });
  serve(app, DAY_LIST, (request, reply) => {
    const range = rangeOf(request.params.code, request.query, parts);
    if (typeof range === "string") return refuse(reply, 400, range);
    if (!isKnown(range.sensor, parts)) return unknownSensor(reply);
    const days = new Set(measurements.times(range).map((timeMs) => dayOf(timeMs, timezone)));
    return reply.send({ days: [...days].sort() });
  });
  serve(app, AROUND, (request, reply) => {
    const { code, reading } = request.params;
    const found = IS_READING_ID.test(reading) ? measurements.find(code, reading) : null;
    const atMs = found?.timeMs ?? instantMs(request.query.at, Number.NaN);
    if (atMs === null || Number.isNaN(atMs)) return measurementGone(reply);
    return reply.type(JSON_UTF8).send(aroundJson(parts, code, found, atMs));
  });
  registerSpectra(app, parts);
}

/** A measurement with its reading and its neighbours, also one that is gone. */
function aroundJson(
  parts: MeasurementParts,
  sensor: string,
  found: Measurement | null,
  atMs: number,
): string {
  const { measurements, history } = parts;
  const shaft = turnsAt(parts, sensor);
  const all = { sensor, fromMs: -8.64e15, toMs: 8.64e15 };
  const before = { timeMs: atMs, reading: found?.reading ?? "" };
  const [older] = measurements.list({ ...all, before, limit: 1 });
  // Of one millisecond the one with the higher id is newer.
  const alike =
    found === null ? [] : measurements.list({ sensor, fromMs: atMs, toMs: atMs + 1, limit: 100 });
  const after = alike.filter(({ reading }) => reading > (found?.reading ?? "")).at(-1);
  const newer = after ?? measurements.next(sensor, atMs);
  const since = measurements.extent(all)?.oldestMs;
  const at = { sensor, kind: "accel", fromMs: atMs, toMs: atMs + 1 } as const;
  const stored =
    found === null
      ? null
      : (measurements.readingOf(sensor, found.reading) ??
        history
          .page({ ...at, order: "ascending", after: null, limit: 100 })
          .find(({ id }) => id === found.reading) ??
        null);
  const head = JSON.stringify({
    measurement: found && measurementJson(found, shaft),
    older: older === undefined ? null : measurementJson(older, shaft),
    newer: newer && measurementJson(newer, shaft),
    since: since === undefined ? null : new Date(since).toISOString(),
  });
  return `${head.slice(0, -1)},"reading":${stored === null ? "null" : readingJson(stored)}}`;
}

function registerSpectra(app: FastifyInstance, parts: MeasurementParts): void {
  serve(app, WATERFALL, (request, reply) => {
    const { channel, unit, count } = request.query;
    const range = rangeOf(request.params.code, request.query, parts);
    if (typeof range === "string") return refuse(reply, 400, range);
    if (!isKnown(range.sensor, parts)) return unknownSensor(reply);
    const { total, chosen } = evenly(parts, range, count);
    const head = { sensor: range.sensor, channel, unit, label: UNIT_LABELS[unit], total };
    async function* pieces(): AsyncGenerator<string> {
      yield `${JSON.stringify(head).slice(0, -1)},"detection":"peak","spectra":[`;
      let isFirst = true;
      for (const measurement of chosen) {
        if (request.raw.destroyed) return;
        const part = spectrumJson(parts, measurement, channel, unit);
        if (part === null) continue;
        yield isFirst ? part : `,${part}`;
        isFirst = false;
        await yieldToLoop();
      }
      yield "]}";
    }
    return reply.type(JSON_UTF8).send(Readable.from(pieces()));
  });
}

/** Where there are more measurements than wanted: the newest of each of so many equal stretches of time. */
function evenly(
  { measurements }: MeasurementParts,
  range: { readonly sensor: string; readonly fromMs: number; readonly toMs: number },
  count: number,
): { readonly total: number; readonly chosen: readonly Measurement[] } {
  const extent = measurements.extent(range);
  if (extent === null) return { total: 0, chosen: [] };
  const { oldestMs, newestMs, count: total } = extent;
  if (total <= count) return { total, chosen: measurements.list({ ...range, limit: count }) };
  const stepMs = (newestMs + 1 - oldestMs) / count;
  const chosen = Array.from({ length: count }, (_, n) => {
    const toMs = newestMs + 1 - n * stepMs;
    const [newest] = measurements.list({ ...range, fromMs: toMs - stepMs, toMs, limit: 1 });
    return newest ?? null;
  });
  return { total, chosen: chosen.filter((one) => one !== null) };
}

function spectrumJson(
  parts: MeasurementParts,
  measurement: Measurement,
  channel: number,
  unit: SignalUnit,
): string | null {
  const { series, site, waveforms } = parts;
  const { channels, timeMs, reading, running, speedRpm } = measurement;
  const ref = channels.find((one) => one.channel === channel);
  const stored = ref === undefined ? null : waveforms.read(ref.fileId);
  if (stored === null) return null;
  const code = normalCode(stored.sensor);
  const sensor = site.current.sensors.find((one) => normalCode(one.code) === code) ?? null;
  const { values, step, doubt } = series.spectrum(stored, unit, sensor);
  const head = JSON.stringify({
    time: new Date(timeMs).toISOString(),
    timeMs,
    reading,
    fileId: stored.fileId,
    axis: stored.axis,
    running,
    speedRpm,
    ...shaftInSpectrum(parts, sensor, measurement),
    step,
    doubt,
    count: values.length,
  });
  return `${head.slice(0, -1)},"base64":"${[...packFloats(values)].join("")}"}`;
}

function measurementJson(measurement: Measurement, shaft: Shaft | null) {
  const { timeMs, reading, channels, running, speedRpm, kept } = measurement;
  const time = new Date(timeMs).toISOString();
  const turning = shaftThere(shaft, measurement);
  return { time, timeMs, reading, channels, running, speedRpm, ...turning, kept };
}

function unknownSensor(reply: FastifyReply): FastifyReply {
  return refuse(reply, 404, "no sensor in the site file or the store has this code");
}

/** One that left the site file is known by what is stored of it. */
function isKnown(sensor: string, { history, measurements, site }: MeasurementParts): boolean {
  const code = normalCode(sensor);
  return (
    site.current.sensors.some((one) => normalCode(one.code) === code) ||
    history.latest(sensor, "accel") !== null ||
    measurements.extent({ sensor, fromMs: -8.64e15, toMs: 8.64e15 }) !== null
  );
}

function rangeOf(
  sensor: string,
  query: Of<typeof RANGE_QUERY>,
  { gatewayNow }: Pick<MeasurementParts, "gatewayNow">,
) {
  // Two days ahead: a sensor whose clock is fast is included.
  const toMs = instantMs(query.to, gatewayNow() + 2 * DAY_MS);
  const fromMs = instantMs(query.from, 0);
  if (toMs === null || fromMs === null) return "from or to: this time does not exist";
  return fromMs <= toMs ? { sensor, fromMs, toMs } : "from is after to";
}
