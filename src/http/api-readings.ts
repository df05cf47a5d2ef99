import type { FastifyInstance } from "fastify";
import { firstReadingMs, placeSpans } from "../core/query/place.ts";
import type { HistoryPosition } from "../core/query/ports.ts";
import { type Trend, TrendBuckets } from "../core/query/trend.ts";
import { walk } from "../core/query/walk.ts";
import type { Kind } from "../core/sensor.ts";
import {
  choice,
  INSTANT,
  instantMs,
  integer,
  KIND,
  objectOf,
  SENSOR,
  text,
} from "./api-schemas.ts";
import { breathe } from "./breath.ts";
import type { HttpParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { readingJson } from "./reading-json.ts";

interface RangeQuery {
  readonly sensor: string;
  readonly kind: Kind;
  readonly from?: string;
  readonly to?: string;
}
interface ReadingsQuery extends RangeQuery {
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly cursor?: string;
}
interface TrendQuery extends RangeQuery {
  readonly values?: string;
  readonly buckets: number;
}

const DAY_MS = 86_400_000;
const RANGE = { sensor: SENSOR, kind: KIND, from: INSTANT, to: INSTANT };
const CURSOR = {
  ...text(40, "`next` of the previous page."),
  pattern: "^-?\\d{1,15}\\.\\d{1,15}$",
};

export const READINGS_QUERY = objectOf(
  {
    ...RANGE,
    limit: integer(1, 1000, 100),
    order: choice(["asc", "desc"], "desc"),
    cursor: CURSOR,
  },
  ["sensor", "kind"],
);
export const TREND_QUERY = objectOf(
  {
    ...RANGE,
    values: text(400, "Value names, comma-separated; by default all numeric ones."),
    buckets: integer(1, 2000, 400),
  },
  ["sensor", "kind"],
);

/** Stored readings, in pages or downsampled for a plot. */
export function registerReadingsApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "history" | "gatewayNow" | "site">,
): void {
  app.get<{ Querystring: ReadingsQuery }>(
    "/api/v1/readings",
    { schema: { querystring: READINGS_QUERY } },
    async (request, reply) => {
      const { sensor, kind, limit, order, cursor } = request.query;
      const range = rangeOf(request.query, parts.gatewayNow());
      if (typeof range === "string") return reply.code(400).send(problem(400, range));
      const page = parts.history.page({
        ...range,
        sensor,
        kind,
        order: order === "asc" ? "ascending" : "descending",
        after: positionOf(cursor),
        limit: limit + 1,
      });
      const shown = page.slice(0, limit);
      const last = page.length > limit ? shown.at(-1) : undefined;
      const next = last === undefined ? null : `${last.timeMs}.${last.seq}`;
      return reply
        .type("application/json; charset=utf-8")
        .send(`{"next":${JSON.stringify(next)},"readings":[${shown.map(readingJson).join(",")}]}`);
    },
  );

  app.get<{ Querystring: TrendQuery }>(
    "/api/v1/trend",
    { schema: { querystring: TREND_QUERY } },
    async (request, reply): Promise<Trend> => {
      const { sensor, kind, values, buckets } = request.query;
      const range = rangeOf(request.query, parts.gatewayNow());
      if (typeof range === "string") return reply.code(400).send(problem(400, range)) as never;
      const names = values?.split(",").map((name) => name.trim());
      const trend = new TrendBuckets(range.fromMs, range.toMs, buckets, names ?? null);
      const spans = placeSpans(parts.site.current.sensors, sensor, (code) =>
        firstReadingMs(parts.history, code),
      );
      for (const span of spans) {
        const fromMs = Math.max(range.fromMs, span.fromMs);
        const toMs = Math.min(range.toMs, span.toMs);
        const part = { sensor: span.sensor, kind, fromMs, toMs, order: "ascending" } as const;
        for await (const reading of walk(parts.history, part, breathe)) {
          // The client has disconnected: nobody needs the rest.
          if (request.raw.destroyed) break;
          trend.add(reading);
        }
      }
      const formers = spans.slice(0, -1);
      const formerSensors = formers.map((span) => ({ sensor: span.sensor, untilMs: span.toMs }));
      return {
        sensor,
        kind,
        ...(formers.length === 0 ? {} : { formerSensors }),
        ...trend.result(),
      };
    },
  );
}

/** The last day if no range is given. */
function rangeOf(
  query: RangeQuery,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } | string {
  // One minute ahead: a sensor's clock may be a little fast.
  const toMs = instantMs(query.to, nowMs + 60_000);
  if (toMs === null) return "to: this time does not exist";
  const fromMs = instantMs(query.from, toMs - DAY_MS);
  if (fromMs === null) return "from: this time does not exist";
  return fromMs <= toMs ? { fromMs, toMs } : "from is after to";
}

function positionOf(cursor: string | undefined): HistoryPosition | null {
  if (cursor === undefined) return null;
  const [timeMs, seq] = cursor.split(".").map(Number);
  return { timeMs: timeMs ?? 0, seq: seq ?? 0 };
}
