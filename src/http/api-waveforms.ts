import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { packFloats } from "../core/query/packed.ts";
import type { SignalSeries } from "../core/query/ports.ts";
import { UNIT_LABELS } from "../core/query/units.ts";
import { walk } from "../core/query/walk.ts";
import { normalCode, type Sensor } from "../core/sensor.ts";
import type { StoredWaveform } from "../core/stored-reading.ts";
import type { SignalUnit } from "../core/unit.ts";
import { choice, FILE_ID, INSTANT, instantMs, integer, objectOf, SENSOR } from "./api-schemas.ts";
import { breathe } from "./breath.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";

interface ListQuery {
  readonly sensor: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
}

export const WAVEFORMS_QUERY = objectOf(
  { sensor: SENSOR, from: INSTANT, to: INSTANT, limit: integer(1, 500, 50) },
  ["sensor"],
);
export const SIGNAL_UNIT = choice([0, 1, 2, 3, 4, 5, 6], 0);
export const SERIES_QUERY = objectOf({ unit: SIGNAL_UNIT });
/** Lines marked for the configured speed. */
const HARMONICS = 10;

/** Stored waveforms, as time signal or spectrum in any of the seven units. */
export function registerWaveformApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "history" | "waveforms" | "series" | "site" | "gatewayNow">,
): void {
  app.get<{ Querystring: ListQuery }>(
    "/api/v1/waveforms",
    { schema: { querystring: WAVEFORMS_QUERY } },
    async (request, reply) => {
      const { sensor, limit } = request.query;
      // Two days ahead: a sensor whose clock is fast is included.
      const toMs = instantMs(request.query.to, parts.gatewayNow() + 2 * 86_400_000);
      const fromMs = instantMs(request.query.from, 0);
      if (toMs === null || fromMs === null) {
        return reply.code(400).send(problem(400, "from or to: this time does not exist"));
      }
      const found = [];
      const rows = walk(
        parts.history,
        { sensor, kind: "accel", fromMs, toMs, order: "descending" },
        breathe,
      );
      for await (const { waveforms, timeMs, id } of rows) {
        const channels = waveforms.filter(({ fileId }) => parts.waveforms.has(fileId));
        if (channels.length === 0) continue;
        const time = new Date(timeMs).toISOString();
        found.push({ time, timeMs, reading: id, channels });
        if (found.length >= limit || request.raw.destroyed) break;
      }
      return reply.send({ waveforms: found });
    },
  );

  const schema = { params: FILE_ID, querystring: SERIES_QUERY };
  app.get<{ Params: { fileId: number }; Querystring: { unit: SignalUnit } }>(
    "/api/v1/waveform/:fileId",
    { schema },
    (request, reply) => {
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
    },
  );
  app.get<{ Params: { fileId: number }; Querystring: { unit: SignalUnit } }>(
    "/api/v1/spectrum/:fileId",
    { schema },
    (request, reply) => {
      const stored = parts.waveforms.read(request.params.fileId);
      if (stored === null) return gone(reply);
      const { unit } = request.query;
      const sensor = sensorOf(parts, stored);
      const series = parts.series.spectrum(stored, unit, sensor);
      const endHz = series.step * series.values.length;
      const speedHz = sensor?.speedRpm === undefined ? null : sensor.speedRpm / 60;
      return sendSeries(reply, series, {
        ...describe(stored, unit, sensor),
        detection: "peak",
        step: series.step,
        stepUnit: "Hz",
        peaks: series.peaks,
        speedHz,
        harmonicsHz:
          speedHz === null || speedHz <= 0
            ? []
            : Array.from({ length: HARMONICS }, (_, n) => (n + 1) * speedHz).filter(
                (hz) => hz < endHz,
              ),
      });
    },
  );
}

function gone(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .send(
      problem(
        404,
        "no waveform has this id: it was never stored, or it was removed after WAVEFORM_DAYS",
      ),
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
  return reply.type("application/json; charset=utf-8").send(Readable.from(pieces()));
}
