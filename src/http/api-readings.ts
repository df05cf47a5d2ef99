import type { FastifyInstance } from "fastify";
import { firstReadingMs, type PlaceSpan, placeSpans } from "../core/query/place.ts";
import type { HistoryPosition, HourQuery } from "../core/query/ports.ts";
import {
  type Resolution,
  resolutionFor,
  SPAN_MS,
  type Trend,
  TrendBuckets,
  type TrendRange,
} from "../core/query/trend.ts";
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
  readonly resolution: Resolution | "auto";
}

const DAY_MS = 86_400_000;
/** Hours or days read before other work gets its turn. */
const POINTS_PER_TURN = 200;
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
    resolution: {
      ...choice(["auto", "readings", "hours", "days"], "auto"),
      description:
        "auto: UTC days where a bucket is at least a day, UTC hours where it is at least an hour, else readings; coarser where the finer ones of the range are gone.",
    },
  },
  ["sensor", "kind"],
);

/** Stored readings, in pages or downsampled for a plot. */
export function registerReadingsApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "history" | "hours" | "gatewayNow" | "site">,
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
      const given = rangeOf(request.query, parts.gatewayNow());
      if (typeof given === "string") return reply.code(400).send(problem(400, given)) as never;
      const names = values?.split(",").map((name) => name.trim()) ?? null;
      const spans = placeSpans(parts.site.current.sensors, sensor, (code) =>
        firstReadingMs(parts, code),
      );
      const range = { ...given, kind, buckets, names };
      const resolution =
        request.query.resolution === "auto"
          ? resolutionHeld(parts.hours, range, spans)
          : request.query.resolution;
      const trend = new TrendBuckets(resolution, range);
      for (const span of spans) {
        const part = { ...range, sensor: span.sensor, ...spanWithin(span, range, resolution) };
        // The client has disconnected: nobody needs the rest.
        const isOver = () => request.raw.destroyed;
        if (resolution === "readings") await addReadings(parts.history, part, trend, isOver);
        else {
          const query = { ...part, span: resolution, values: names };
          await addPoints(parts.hours, query, trend, isOver);
        }
      }
      const formers = spans.slice(0, -1);
      const formerSensors = formers.map((span) => ({ sensor: span.sensor, untilMs: span.toMs }));
      return {
        sensor,
        kind,
        ...(formers.length === 0 ? {} : { formerSensors }),
        sinceMs: parts.hours.sinceMs(),
        ...trend.result(),
      };
    },
  );
}

type PartQuery = TrendRange & Pick<HourQuery, "sensor" | "kind">;

/** What fits the range, or coarser where a part of that is gone. */
function resolutionHeld(
  hours: HttpParts["hours"],
  range: TrendRange & Pick<HourQuery, "kind">,
  spans: readonly PlaceSpan[],
): Resolution {
  const fitting = resolutionFor(range);
  const isGone = (finer: "readings" | "hours") =>
    spans.some((span) => {
      const part = spanWithin(span, range, finer);
      return hours.isGone(finer, { sensor: span.sensor, kind: range.kind, ...part });
    });
  if (fitting === "days" || !isGone(fitting)) return fitting;
  return fitting === "readings" && !isGone("hours") ? "hours" : "days";
}

/** The hour, or day, in which a sensor begins to count is its own. */
function spanWithin(
  span: PlaceSpan,
  range: Pick<TrendRange, "fromMs" | "toMs">,
  resolution: Resolution,
): Pick<TrendRange, "fromMs" | "toMs"> {
  const startMs = Math.floor(span.fromMs / SPAN_MS[resolution]) * SPAN_MS[resolution];
  return {
    fromMs: Math.max(range.fromMs, startMs),
    toMs: Math.min(range.toMs, span.toMs),
  };
}

async function addReadings(
  history: HttpParts["history"],
  { sensor, kind, fromMs, toMs }: PartQuery,
  trend: TrendBuckets,
  isOver: () => boolean,
): Promise<void> {
  const range = { sensor, kind, fromMs, toMs, order: "ascending" } as const;
  for await (const reading of walk(history, range, breathe)) {
    if (isOver()) return;
    trend.addReading(reading);
  }
}

async function addPoints(
  hours: HttpParts["hours"],
  query: HourQuery,
  trend: TrendBuckets,
  isOver: () => boolean,
): Promise<void> {
  let count = 0;
  for (const point of hours.points({ ...query, takesDays: trend.takesDays })) {
    trend.addPoint(point);
    count += 1;
    if (count % POINTS_PER_TURN === 0) await breathe();
    if (isOver()) return;
  }
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
