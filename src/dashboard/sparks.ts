/**
 * Small plots of the last day in the table: requested only while a row is in view, a few at a time. They start at zero and
 * show the limits up to the next one above the values, so that their height says how near it is.
 */
import type { LimitView } from "../core/alarm/shown.ts";
import type { ShownSensor, Trend } from "../core/query/shown.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { Api } from "./api.ts";
import type { ChartLevel } from "./chart-spec.ts";
import { h, hidden, replace, s } from "./dom.ts";
import { number, unitSign } from "./format.ts";
import { headline, type ShownValue } from "./headline.ts";
import type { Model } from "./model.ts";
import type { SensorRow } from "./sensor-row.ts";
import { sparkScale } from "./spark-scale.ts";
import { levelsOf, NO_CONTEXT } from "./trend-context.ts";
import { trendGroups } from "./trend-groups.ts";

const SPAN_MS = DAY_MS;
const BUCKETS = 72;
const AGAIN_MS = 120_000;
/** Delay after a failure; without it, failures would loop as fast as they come. */
const RETRY_MS = 10_000;
const AT_ONCE = 2;
/** Rows about to be scrolled into view are drawn already. */
const AHEAD = { rootMargin: "300px" };
const [WIDTH, HEIGHT] = [120, 28];

export class Sparks {
  readonly #api: Api;
  readonly #model: Model;
  readonly #visible = new Map<Element, SensorRow>();
  readonly #drawnAt = new Map<string, number>();
  readonly #observer: IntersectionObserver;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #ending = new AbortController();
  #rows = new Map<Element, SensorRow>();
  #running = 0;

  constructor(api: Api, model: Model) {
    this.#api = api;
    this.#model = model;
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const row = this.#rows.get(target);
        if (isIntersecting && row !== undefined) this.#visible.set(target, row);
        else this.#visible.delete(target);
      }
      this.#next();
    }, AHEAD);
    this.#timer = setInterval(() => this.#next(), 5_000);
  }

  watch(rows: readonly SensorRow[]): void {
    this.#observer.disconnect();
    this.#visible.clear();
    this.#rows = new Map(rows.map((row) => [row.root, row]));
    for (const row of rows) this.#observer.observe(row.root);
  }

  stop(): void {
    this.#ending.abort();
    this.#observer.disconnect();
    clearInterval(this.#timer);
  }

  #next(): void {
    if (this.#ending.signal.aborted || !this.#model.isLive || document.hidden) return;
    for (const row of this.#visible.values()) {
      if (this.#running >= AT_ONCE) return;
      const drawnAt = this.#drawnAt.get(row.code) ?? Number.NEGATIVE_INFINITY;
      if (performance.now() - drawnAt < AGAIN_MS) continue;
      this.#drawnAt.set(row.code, performance.now());
      this.#running += 1;
      void this.#draw(row).finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
  }

  async #draw(row: SensorRow): Promise<void> {
    const shown = headline(row.sensor).find(({ value }) => typeof value === "number");
    if (shown === undefined) return;
    const toMs = this.#model.gatewayNowMs();
    const query = { sensor: row.code, kind: shown.kind, values: [shown.name], buckets: BUCKETS };
    try {
      const [trend, limits] = await Promise.all([
        this.#api.trend({ ...query, fromMs: toMs - SPAN_MS, toMs }, this.#ending.signal),
        // Alarms may be disabled: the zones are drawn without them.
        this.#api.limits(row.code).catch(() => []),
      ]);
      const levels = levelsOfValue(row.sensor, shown, limits);
      replace(row.sparkCell, sparkPicture(trend, shown, row.sensor, levels));
    } catch {
      this.#drawnAt.set(row.code, performance.now() - AGAIN_MS + RETRY_MS);
    }
  }
}

/** Zones and fixed limits of one value. */
function levelsOfValue(
  sensor: ShownSensor,
  { kind, name }: ShownValue,
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
  { name, label }: ShownValue,
  sensor: ShownSensor,
  levels: readonly ChartLevel[],
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
  let line = "";
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const [i, ms] of series.timesMs.entries()) {
    const pen = ms - lastMs > gapMs ? "M" : "L";
    line += `${pen}${x(ms).toFixed(1)} ${y(series.mean[i] ?? low).toFixed(1)}`;
    lastMs = ms;
  }
  const unit = unitSign(series.unit);
  const limit = next === null ? "" : `, next limit ${number(next, series.unit)}`;
  const words = `${label === "" ? "" : `${label}: `}${number(low, series.unit)} to ${number(high, series.unit)} ${unit} in 24 h${limit}`;
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
      s("path", { d: line }),
      s("circle", {
        cx: x(lastMs).toFixed(1),
        cy: y(series.mean.at(-1) ?? low).toFixed(1),
        r: 2.2,
      }),
    ),
  );
}
