import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { packFloats } from "../core/query/packed.ts";
import type { SignalSeries } from "../core/query/ports.ts";
import { SIGNAL_UNIT_CODES, SPECTRUM, WAVEFORM, WAVEFORMS } from "../core/query/shown.ts";
import { UNIT_LABELS } from "../core/query/units.ts";
import { walk } from "../core/query/walk.ts";
import { input } from "../core/schema.ts";
import { normalCode, type Sensor } from "../core/sensor.ts";
import type { StoredWaveform } from "../core/stored-reading.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { SignalUnit } from "../core/unit.ts";
import { yieldToLoop } from "../lib/yield-to-loop.ts";
import { type Operation, serve } from "./api-operation.ts";
import { choice, INSTANT, instantMs, integer, SENSOR } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";
import { shaftInSpectrum } from "./shaft-there.ts";
import { JSON_UTF8 } from "./shared-responses.ts";

export const SIGNAL_UNIT = choice(SIGNAL_UNIT_CODES, 0);
const FILE_ID = input({ fileId: integer(1, 2_147_483_647) }, ["fileId"]);
const SERIES_QUERY = input({ unit: SIGNAL_UNIT });
/** Lines marked for the configured speed. */
const HARMONICS = 10;

const WAVEFORM_LIST = {
  path: "/api/v1/waveforms",
  method: "get",
  summary: "Measurements of a sensor whose samples are stored, newest first.",
  query: input({ sensor: SENSOR, from: INSTANT, to: INSTANT, limit: integer(1, 500, 50) }, [
    "sensor",
  ]),
  response: "The measurements.",
  schema: WAVEFORMS,
} as const satisfies Operation;

const ONE_WAVEFORM = {
  path: "/api/v1/waveform/{fileId}",
  method: "get",
  summary: "Time waveform in unit 0 G, 1 mm/s², 2 mm/s, 3 in/s, 4 µm, 5 mils, 6 GE.",
  params: FILE_ID,
  query: SERIES_QUERY,
  also: { 404: "No samples are stored under this id." },
  response: "The waveform; empty, with a `doubt`, if it cannot be computed from the record.",
  schema: WAVEFORM,
} as const satisfies Operation;

const ONE_SPECTRUM = {
  path: "/api/v1/spectrum/{fileId}",
  method: "get",
  summary:
    "Single-sided peak-amplitude spectrum in the same units, with its largest peaks and the harmonics of the configured speed.",
  params: FILE_ID,
  query: SERIES_QUERY,
  also: { 404: "No samples are stored under this id." },
  response:
    "The spectral lines; empty, with a `doubt`, if they cannot be computed from the record.",
  schema: SPECTRUM,
} as const satisfies Operation;

export const WAVEFORMS_OPERATIONS: readonly Operation[] = [
  WAVEFORM_LIST,
  ONE_WAVEFORM,
  ONE_SPECTRUM,
];

/** Stored waveforms, as time signal or spectrum in any of the seven units. */
export function registerWaveformApi(
  app: FastifyInstance,
  parts: Pick<
    HttpParts,
    "history" | "measurements" | "waveforms" | "series" | "site" | "gatewayNow"
  >,
): void {
  serve(app, WAVEFORM_LIST, async (request, reply) => {
    const { sensor, limit } = request.query;
    // Two days ahead: a sensor whose clock is fast is included.
    const toMs = instantMs(request.query.to, parts.gatewayNow() + 2 * DAY_MS);
    const fromMs = instantMs(request.query.from, 0);
    if (toMs === null || fromMs === null) {
      return refuse(reply, 400, "from or to: this time does not exist");
    }
    const found = [];
    const rows = walk(
      parts.history,
      { sensor, kind: "accel", fromMs, toMs, order: "descending" },
      yieldToLoop,
    );
    for await (const { waveforms, timeMs, id } of rows) {
      const channels = waveforms.filter(({ fileId }) => parts.waveforms.has(fileId));
      if (channels.length === 0) continue;
      const time = new Date(timeMs).toISOString();
      found.push({ time, timeMs, reading: id, channels });
      if (found.length >= limit || request.raw.destroyed) break;
    }
    return reply.send({ waveforms: found });
  });
  serve(app, ONE_WAVEFORM, (request, reply) => {
    const stored = parts.waveforms.read(request.params.fileId);
    if (stored === null) return gone(reply);
    const { unit } = request.query;
    const sensor = sensorOf(parts, stored);
    const series = parts.series.waveform(stored, unit, sensor);
    return sendSeries(reply, series, {
      ...describe(stored, unit, sensor),
      step: series.step,
      stepUnit: "s",
      firstIndex: series.firstIndex,
      overall: series.overall,
    });
  });
  serve(app, ONE_SPECTRUM, (request, reply) => {
    const stored = parts.waveforms.read(request.params.fileId);
    if (stored === null) return gone(reply);
    const { unit } = request.query;
    const sensor = sensorOf(parts, stored);
    const series = parts.series.spectrum(stored, unit, sensor);
    const measurement = parts.measurements.find(stored.sensor, stored.readingId);
    const endHz = series.step * series.values.length;
    const speedHz = sensor?.speedRpm === undefined ? null : sensor.speedRpm / 60;
    return sendSeries(reply, series, {
      ...describe(stored, unit, sensor),
      detection: "peak",
      step: series.step,
      stepUnit: "Hz",
      peaks: series.peaks,
      ...(measurement === null ? {} : shaftInSpectrum(parts, sensor, measurement)),
      speedHz,
      harmonicsHz:
        speedHz === null || speedHz <= 0
          ? []
          : Array.from({ length: HARMONICS }, (_, n) => (n + 1) * speedHz).filter(
              (hz) => hz < endHz,
            ),
    });
  });
}

function gone(reply: FastifyReply): FastifyReply {
  return refuse(
    reply,
    404,
    "no waveform has this id: it was never stored, or it was removed after WAVEFORM_DAYS",
  );
}

function sensorOf(parts: Pick<HttpParts, "site">, stored: StoredWaveform): Sensor | null {
  const code = normalCode(stored.sensor);
  return parts.site.current.sensors.find((sensor) => normalCode(sensor.code) === code) ?? null;
}

function describe(stored: StoredWaveform, unit: SignalUnit, sensor: Sensor | null): object {
  const { fileId, timeMs, readingId, channel, axis, sampleRateHz, recordingReason } = stored;
  return {
    fileId,
    sensor: stored.sensor,
    sensorName: sensor?.name ?? null,
    time: new Date(timeMs).toISOString(),
    timeMs,
    reading: readingId,
    channel,
    axis,
    sampleRateHz,
    samples: stored.samples.length,
    recordingReason,
    unit,
    label: UNIT_LABELS[unit],
  };
}

/** Numbers are sent as base64 of little-endian floats: a third of their decimal text, and no parsing in the page. */
function sendSeries(reply: FastifyReply, series: SignalSeries, head: object): FastifyReply {
  const text = JSON.stringify({ ...head, doubt: series.doubt, count: series.values.length });
  function* pieces(): Generator<string> {
    yield `${text.slice(0, -1)},"base64":"`;
    yield* packFloats(series.values);
    yield '"}';
  }
  return reply.type(JSON_UTF8).send(Readable.from(pieces()));
}
