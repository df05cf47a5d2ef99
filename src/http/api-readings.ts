import type { FastifyInstance } from "fastify";
import type { HistoryPosition } from "../core/query/ports.ts";
import { READINGS, TREND, type Trend } from "../core/query/shown.ts";
import type { TrendResult } from "../core/query/trend.ts";
import { isChangeOf, type ScaleChange } from "../core/scaling.ts";
import { input, type Schema } from "../core/schema.ts";
import type { Kind } from "../core/sensor.ts";
import { DAY_MS } from "../core/time-units.ts";
import { type Operation, serve } from "./api-operation.ts";
import { choice, INSTANT, instantMs, integer, KIND, SENSOR, text } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { placeTrend } from "./place-trend.ts";
import { refuse } from "./problem.ts";
import { readingJson } from "./reading-json.ts";
import { JSON_UTF8 } from "./shared-responses.ts";

const RANGE = { sensor: SENSOR, kind: KIND, from: INSTANT, to: INSTANT };
const CURSOR: Schema<string> = {
  ...text(40, "`next` of the previous page."),
  pattern: "^-?\\d{1,15}\\.\\d{1,15}$",
};

const READING_LIST = {
  path: "/api/v1/readings",
  method: "get",
  summary: "Stored readings of a sensor and kind, in pages. Without a time range, the last day.",
  query: input(
    {
      ...RANGE,
      limit: integer(1, 1000, 100),
      order: choice(["asc", "desc"], "desc"),
      cursor: CURSOR,
    },
    ["sensor", "kind"],
  ),
  response: "A page; `next` is the `cursor` of the next one, null on the last page.",
  schema: READINGS,
} as const satisfies Operation;

const PLOT = {
  path: "/api/v1/trend",
  method: "get",
  summary:
    "The same range reduced to buckets with minimum, maximum and mean, so that weeks plot quickly and no spike is lost.",
  query: input(
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
  ),
  response: "The buckets that contain a value; others are left out.",
  schema: TREND,
} as const satisfies Operation;

export const READINGS_OPERATIONS: readonly Operation[] = [READING_LIST, PLOT];

/** Stored readings, in pages or downsampled for a plot. */
export function registerReadingsApi(
  app: FastifyInstance,
  parts: Pick<HttpParts, "history" | "hours" | "gatewayNow" | "site" | "scaleChanges">,
): void {
  serve(app, READING_LIST, async (request, reply) => {
    const { sensor, kind, limit, order, cursor } = request.query;
    const range = rangeOf(request.query, parts.gatewayNow());
    if (typeof range === "string") return refuse(reply, 400, range);
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
      .type(JSON_UTF8)
      .send(`{"next":${JSON.stringify(next)},"readings":[${shown.map(readingJson).join(",")}]}`);
  });

  serve(app, PLOT, async (request, reply) => {
    const { sensor, kind, values, buckets } = request.query;
    const given = rangeOf(request.query, parts.gatewayNow());
    if (typeof given === "string") return refuse(reply, 400, given);
    const names = values?.split(",").map((name) => name.trim()) ?? null;
    // The client has disconnected: nobody needs the rest.
    const isOver = () => request.raw.destroyed;
    const { resolution } = request.query;
    const query = { ...given, sensor, kind, buckets, names, resolution };
    const { trend, formers } = await placeTrend(parts, query, isOver);
    const formerSensors = formers.map((span) => ({ sensor: span.sensor, untilMs: span.toMs }));
    const result = trend.result();
    const changes = changesIn(result, kind, parts.scaleChanges?.(sensor) ?? []);
    return reply.send({
      sensor,
      kind,
      ...(formers.length === 0 ? {} : { formerSensors }),
      ...(changes.length === 0 ? {} : { changes }),
      sinceMs: parts.hours.sinceMs(),
      ...result,
    });
  });
}

function changesIn(
  { fromMs, toMs, series }: TrendResult,
  kind: Kind,
  all: readonly ScaleChange[],
): NonNullable<Trend["changes"]> {
  return all.flatMap((change) => {
    const { timeMs, text } = change;
    const values = Object.keys(series).filter((value) => isChangeOf(change, kind, value));
    const isIn = timeMs >= fromMs && timeMs <= toMs;
    return isIn && values.length > 0 ? [{ timeMs, values, text }] : [];
  });
}

/** The last day if no range is given. */
function rangeOf(
  query: { readonly from?: string; readonly to?: string },
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
