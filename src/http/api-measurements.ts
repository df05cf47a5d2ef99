import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Measurement, PinOutcome } from "../core/kept/ports.ts";
import { packFloats } from "../core/query/packed.ts";
import { UNIT_LABELS } from "../core/query/units.ts";
import { walk } from "../core/query/walk.ts";
import { normalCode } from "../core/sensor.ts";
import { DAY_MS } from "../core/time-units.ts";
import { dayOf } from "../core/time-zone.ts";
import type { SignalUnit } from "../core/unit.ts";
import { INSTANT, instantMs, integer, objectOf, type Schema, SENSOR, text } from "./api-schemas.ts";
import { SIGNAL_UNIT } from "./api-waveforms.ts";
import { breathe } from "./breath.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { readingJson } from "./reading-json.ts";

type Parts = Pick<
  HttpParts,
  "measurements" | "waveforms" | "series" | "site" | "history" | "gatewayNow"
>;

interface RangeQuery {
  readonly from?: string;
  readonly to?: string;
}
interface ListQuery extends RangeQuery {
  readonly kept: boolean;
  readonly cursor?: string;
  readonly limit: number;
}
interface SpectraQuery extends RangeQuery {
  readonly channel: number;
  readonly unit: SignalUnit;
  readonly count: number;
}

const ONE: Schema = {
  type: "string",
  pattern: "^[0-9a-f]{32}$",
  description: "Id of its reading.",
};
const CURSOR = {
  ...text(60, "`next` of the previous page."),
  pattern: "^-?\\d{1,15}\\.[0-9a-f]{32}$",
};
const RANGE = { from: INSTANT, to: INSTANT };
export const SENSOR_CODE = objectOf({ code: SENSOR }, ["code"]);
export const MEASUREMENT_ID = objectOf({ code: SENSOR, reading: ONE }, ["code", "reading"]);
export const MEASUREMENTS_QUERY = objectOf({
  ...RANGE,
  kept: {
    type: "boolean",
    default: false,
    description: "Leaves out those that are stored only because they are young.",
  },
  cursor: CURSOR,
  limit: integer(1, 500, 100),
});
export const DAYS_QUERY = objectOf(RANGE);
export const AROUND_QUERY = objectOf({
  at: { ...INSTANT, description: "Its time, to name the neighbours of one that is gone." },
});
/** Spectra of one waterfall, at most. */
const SPECTRA_MAX = 100;
export const SPECTRA_QUERY = objectOf({
  ...RANGE,
  channel: integer(1, 3, 1),
  unit: SIGNAL_UNIT,
  count: integer(1, SPECTRA_MAX, SPECTRA_MAX),
});
export const PIN_BODY = objectOf({ note: { type: "string", maxLength: 500, default: "" } });

const BASE = "/api/v1/sensors/:code/measurements";

/** Measurements with samples, young and kept, and pins on them. */
export function registerMeasurementsApi(
  app: FastifyInstance,
  parts: Parts,
  { timezone }: { readonly timezone: string },
): void {
  const { measurements } = parts;
  app.get<{ Params: { code: string }; Querystring: ListQuery }>(
    BASE,
    { schema: { params: SENSOR_CODE, querystring: MEASUREMENTS_QUERY } },
    (request, reply) => {
      const { kept, cursor, limit } = request.query;
      const range = rangeOf(request.params.code, request.query, parts);
      if (typeof range === "string") return reply.code(400).send(problem(400, range));
      if (!isKnown(range.sensor, parts)) return unknownSensor(reply);
      const [timeMs, reading] = cursor?.split(".") ?? [];
      const before = reading === undefined ? null : { timeMs: Number(timeMs), reading };
      const found = measurements.list({ ...range, onlyKept: kept, before, limit: limit + 1 });
      const shown = found.slice(0, limit);
      const last = found.length > limit ? shown.at(-1) : undefined;
      return reply.send({
        measurements: shown.map(measurementJson),
        next: last === undefined ? null : `${last.timeMs}.${last.reading}`,
      });
    },
  );
  app.get<{ Params: { code: string }; Querystring: RangeQuery }>(
    `${BASE}/days`,
    { schema: { params: SENSOR_CODE, querystring: DAYS_QUERY } },
    (request, reply) => {
      const range = rangeOf(request.params.code, request.query, parts);
      if (typeof range === "string") return reply.code(400).send(problem(400, range));
      if (!isKnown(range.sensor, parts)) return unknownSensor(reply);
      const days = new Set(measurements.times(range).map((timeMs) => dayOf(timeMs, timezone)));
      return reply.send({ days: [...days].sort() });
    },
  );
  app.get<{ Params: { code: string; reading: string }; Querystring: { at?: string } }>(
    `${BASE}/:reading`,
    { schema: { params: MEASUREMENT_ID, querystring: AROUND_QUERY } },
    (request, reply) => {
      const { code, reading } = request.params;
      const found = measurements.find(code, reading);
      const atMs = found?.timeMs ?? instantMs(request.query.at, Number.NaN);
      if (atMs === null || Number.isNaN(atMs)) return gone(reply);
      return reply
        .type("application/json; charset=utf-8")
        .send(aroundJson(parts, code, found, atMs));
    },
  );
  for (const method of ["POST", "DELETE"] as const) {
    app.route<{ Params: { code: string; reading: string }; Body: { note: string } | null }>({
      method,
      url: `${BASE}/:reading/pin`,
      schema: {
        params: MEASUREMENT_ID,
        ...(method === "POST" && { body: { ...PIN_BODY, type: ["object", "null"] } }),
      },
      handler: async (request, reply) => {
        const { code, reading } = request.params;
        const note = method === "POST" ? (request.body?.note ?? "") : null;
        request.auditDetail = note ?? "";
        const outcome =
          note === null ? measurements.unpin(code, reading) : measurements.pin(code, reading, note);
        return pinned(reply, await outcomeOf(outcome, parts, code, reading), note);
      },
    });
  }
  registerSpectra(app, parts);
}

/** A measurement with its reading and its neighbours, also one that is gone. */
function aroundJson(
  { measurements, history }: Parts,
  sensor: string,
  found: Measurement | null,
  atMs: number,
): string {
  const all = { sensor, fromMs: -8.64e15, toMs: 8.64e15 };
  const before = { timeMs: atMs, reading: found?.reading ?? "" };
  const [older] = measurements.list({ ...all, before, limit: 1 });
  const newer = measurements.next(sensor, atMs);
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
    measurement: found && measurementJson(found),
    older: older === undefined ? null : measurementJson(older),
    newer: newer && measurementJson(newer),
    since: since === undefined ? null : new Date(since).toISOString(),
  });
  return `${head.slice(0, -1)},"reading":${stored === null ? "null" : readingJson(stored)}}`;
}

function registerSpectra(app: FastifyInstance, parts: Parts): void {
  app.get<{ Params: { code: string }; Querystring: SpectraQuery }>(
    "/api/v1/sensors/:code/spectra",
    { schema: { params: SENSOR_CODE, querystring: SPECTRA_QUERY } },
    (request, reply) => {
      const { channel, unit, count } = request.query;
      const range = rangeOf(request.params.code, request.query, parts);
      if (typeof range === "string") return reply.code(400).send(problem(400, range));
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
          await breathe();
        }
        yield "]}";
      }
      return reply.type("application/json; charset=utf-8").send(Readable.from(pieces()));
    },
  );
}

/** Where there are more measurements than wanted: the newest of each of so many equal stretches of time. */
function evenly(
  { measurements }: Parts,
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
  { series, site, waveforms }: Parts,
  { channels, timeMs, reading, running, speedRpm }: Measurement,
  channel: number,
  unit: SignalUnit,
): string | null {
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
    step,
    doubt,
    count: values.length,
  });
  return `${head.slice(0, -1)},"base64":"${[...packFloats(values)].join("")}"}`;
}

function measurementJson({ timeMs, reading, channels, running, speedRpm, kept }: Measurement) {
  const time = new Date(timeMs).toISOString();
  return { time, timeMs, reading, channels, running, speedRpm, kept };
}

/** A reading without samples is no unknown one. */
async function outcomeOf(
  outcome: PinOutcome,
  { history }: Parts,
  sensor: string,
  reading: string,
): Promise<PinOutcome> {
  if (outcome !== "unknown") return outcome;
  const all = { sensor, kind: "accel", fromMs: -8.64e15, toMs: 8.64e15 } as const;
  for await (const { id } of walk(history, { ...all, order: "descending" }, breathe))
    if (id === reading) return "gone";
  return "unknown";
}

function pinned(reply: FastifyReply, outcome: PinOutcome, note: string | null): FastifyReply {
  switch (outcome) {
    case "done":
      return reply.send({ pinned: note !== null, note });
    case "unknown":
      return gone(reply);
    case "gone":
      return reply
        .code(409)
        .send(problem(409, "the samples of this measurement are not stored any more"));
    case "full":
      return reply
        .code(507)
        .send(
          problem(
            507,
            "no room for another pin: 500 are pinned, or what must stay fills its quarter of BUFFER_MAX_MB",
          ),
        );
  }
}

function gone(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .send(problem(404, "this sensor has no measurement of this reading, or not any more"));
}

function unknownSensor(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .send(problem(404, "no sensor in the site file or the store has this code"));
}

/** One that left the site file is known by what is stored of it. */
function isKnown(sensor: string, { history, measurements, site }: Parts): boolean {
  const code = normalCode(sensor);
  return (
    site.current.sensors.some((one) => normalCode(one.code) === code) ||
    history.latest(sensor, "accel") !== null ||
    measurements.extent({ sensor, fromMs: -8.64e15, toMs: 8.64e15 }) !== null
  );
}

function rangeOf(sensor: string, query: RangeQuery, { gatewayNow }: Pick<Parts, "gatewayNow">) {
  // Two days ahead: a sensor whose clock is fast is included.
  const toMs = instantMs(query.to, gatewayNow() + 2 * DAY_MS);
  const fromMs = instantMs(query.from, 0);
  if (toMs === null || fromMs === null) return "from or to: this time does not exist";
  return fromMs <= toMs ? { sensor, fromMs, toMs } : "from is after to";
}
