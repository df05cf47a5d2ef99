import { firstReadingMs, type PlaceSpan, placeSpans } from "../core/query/place.ts";
import { type HourQuery, NO_HOURS } from "../core/query/ports.ts";
import type { Resolution } from "../core/query/shown.ts";
import { resolutionFor, SPAN_MS, TrendBuckets, type TrendRange } from "../core/query/trend.ts";
import { walk } from "../core/query/walk.ts";
import { yieldToLoop } from "../lib/yield-to-loop.ts";
import type { HttpParts } from "./parts.ts";

/** Hours or days read before other work gets its turn. */
const POINTS_PER_TURN = 200;

type PlaceParts = Pick<HttpParts, "history" | "hours" | "site">;

/**
 * The trend of a sensor and, before its first reading, of those that it replaced. @param isOver true once nobody needs the
 * rest @returns the spans of former sensors, too
 */
export async function placeTrend(
  { history, hours, site }: PlaceParts,
  query: PartQuery & { readonly resolution: Resolution | "auto" },
  isOver: () => boolean,
): Promise<{ readonly trend: TrendBuckets; readonly formers: readonly PlaceSpan[] }> {
  const spans = placeSpans(site.current.sensors, query.sensor, (code) =>
    firstReadingMs({ history, hours }, code),
  );
  const resolution =
    query.resolution === "auto" ? resolutionHeld(hours, query, spans) : query.resolution;
  const trend = new TrendBuckets(resolution, query);
  for (const span of spans) {
    const part = { ...query, sensor: span.sensor, ...spanWithin(span, query, resolution) };
    if (resolution === "readings") await addReadings(history, part, trend, isOver);
    else {
      const points = { ...part, span: resolution, values: query.names };
      await addPoints(hours, points, trend, isOver);
    }
  }
  const newest = history.latest(query.sensor, query.kind);
  if (newest !== null) trend.endWith(newest);
  return { trend, formers: spans.slice(0, -1) };
}

type PartQuery = TrendRange & Pick<HourQuery, "sensor" | "kind">;

/** What fits the range, or coarser where a part of that is gone. */
function resolutionHeld(
  hours: HttpParts["hours"],
  range: TrendRange & Pick<HourQuery, "kind">,
  spans: readonly PlaceSpan[],
): Resolution {
  const fitting = hours === NO_HOURS ? "readings" : resolutionFor(range);
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
  for await (const reading of walk(history, range, yieldToLoop)) {
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
    if (count % POINTS_PER_TURN === 0) await yieldToLoop();
    if (isOver()) return;
  }
}
