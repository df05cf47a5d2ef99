/**
 * Small plots of a value: they start at zero and show the limits up to the next one above the values, so that their height says how near it is.
 */
import type { LimitView } from "../core/alarm/shown.ts";
import type { ShownSensor, Trend } from "../core/query/shown.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { Api } from "./api.ts";
import type { ChartLevel } from "./chart-spec.ts";
import { h, hidden, replace, s } from "./dom.ts";
import { number, unitSign } from "./format.ts";
import { headline, type ShownValue } from "./headline.ts";
import { InView } from "./in-view.ts";
import type { Model } from "./model.ts";
import type { Asking } from "./refresh.ts";
import type { SensorRow } from "./sensor-row.ts";
import { sparkScale } from "./spark-scale.ts";
import { levelsOf, NO_CONTEXT } from "./trend-context.ts";
import { trendGroups } from "./trend-groups.ts";

const AGAIN_MS = 120_000;
const [WIDTH, HEIGHT] = [120, 28];

export interface SparkSpan {
  readonly ms: number;
  readonly buckets: number;
  readonly words: string;
}
const DAY_SPAN: SparkSpan = { ms: DAY_MS, buckets: 72, words: "in 24 h" };
/** Daily means and maxima. */
export const MONTH_SPAN: SparkSpan = { ms: 30 * DAY_MS, buckets: 30, words: "in 30 days" };

type SparkValue = Pick<ShownValue, "kind" | "name" | "label">;

/** The last day of each row's main value. */
export class Sparks {
  readonly #api: Api;
  readonly #model: Model;
  readonly #view: InView;

  constructor(api: Api, model: Model) {
    this.#api = api;
    this.#model = model;
    this.#view = new InView(model, AGAIN_MS);
  }

  watch(rows: readonly SensorRow[]): void {
    this.#view.watch(
      rows.map((row) => ({
        root: row.root,
        key: row.code,
        draw: async (asking) => {
          const shown = headline(row.sensor).find(({ value }) => typeof value === "number");
          if (shown === undefined) return;
          const nowMs = this.#model.gatewayNowMs();
          const spark = await sparkOf(this.#api, row.sensor, shown, DAY_SPAN, nowMs, asking);
          replace(row.sparkCell, spark);
        },
      })),
    );
  }

  stop(): void {
    this.#view.stop();
  }
}

export async function sparkOf(
  api: Api,
  sensor: ShownSensor,
  shown: SparkValue,
  span: SparkSpan,
  toMs: number,
  asking: Asking,
): Promise<HTMLElement> {
  const { kind, name } = shown;
  const query = { sensor: sensor.code, kind, values: [name], buckets: span.buckets };
  const [trend, limits] = await Promise.all([
    api.trend({ ...query, fromMs: toMs - span.ms, toMs }, asking),
    // Alarms may be disabled: the zones are drawn without them.
    api.limits(sensor.code, asking).catch(() => []),
  ]);
  const levels = levelsOfValue(sensor, shown, limits);
  return sparkPicture(trend, shown, sensor, levels, span.words);
}

/** Zones and fixed limits of one value. */
function levelsOfValue(
  sensor: ShownSensor,
  { kind, name }: SparkValue,
  limits: readonly LimitView[],
): readonly ChartLevel[] {
  const group = trendGroups(sensor).find(
    (one) => one.kind === kind && one.values.some((value) => value.name === name),
  );
  if (group === undefined) return [];
  const values = group.values.filter((value) => value.name === name);
  return levelsOf({ ...group, values }, sensor, { ...NO_CONTEXT, limits });
}

function sparkPicture(
  trend: Trend,
  { name, label }: SparkValue,
  sensor: ShownSensor,
  levels: readonly ChartLevel[],
  spanWords: string,
): HTMLElement {
  const series = trend.series[name];
  if (series === undefined || series.timesMs.length < 2)
    return h("span", { class: "none" }, "–", hidden("too few readings"));
  const low = Math.min(...series.min);
  const high = Math.max(...series.max);
  const limits = levels.map((level) => level.y);
  const { foot, head, next } = sparkScale(low, high, limits);
  const span = head - foot || 1;
  const x = (ms: number) => ((ms - trend.fromMs) / (trend.toMs - trend.fromMs)) * WIDTH;
  const y = (value: number) => HEIGHT - 2 - ((value - foot) / span) * (HEIGHT - 4);
  const cadenceMs = (sensor.reads[0]?.cadenceS ?? 0) * 1000;
  const gapMs = Math.max(3 * trend.bucketMs, 3 * cadenceMs);
  const isByDay = trend.resolution === "days";
  let line = "";
  let top = "";
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const [i, ms] of series.timesMs.entries()) {
    const pen = ms - lastMs > gapMs ? "M" : "L";
    line += `${pen}${x(ms).toFixed(1)} ${y(series.mean[i] ?? low).toFixed(1)}`;
    top += `${pen}${x(ms).toFixed(1)} ${y(series.max[i] ?? low).toFixed(1)}`;
    lastMs = ms;
  }
  const unit = unitSign(series.unit);
  const limit = next === null ? "" : `, next limit ${number(next, series.unit)}`;
  const words = `${label === "" ? "" : `${label}: `}${number(low, series.unit)} to ${number(high, series.unit)} ${unit} ${spanWords}${limit}`;
  return h(
    "span",
    { class: "spark", title: words },
    s(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words },
      ...levels
        .filter((level) => level.y > foot && level.y <= head)
        .map((level) => {
          const at = y(level.y).toFixed(1);
          return s("line", { x1: 0, x2: WIDTH, y1: at, y2: at, class: level.colour });
        }),
      isByDay && s("path", { d: top, class: "highest" }),
      s("path", { d: line }),
      s("circle", {
        cx: x(lastMs).toFixed(1),
        cy: y(series.mean.at(-1) ?? low).toFixed(1),
        r: 2.2,
      }),
    ),
  );
}
