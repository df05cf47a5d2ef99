/** A sensor's values over hours to weeks: lowest and highest as a band, the mean as a line, holes as holes. */
import { VELOCITY_LIMITS } from "../core/signal/severity.ts";
import type { Api, ApiSensor, Trend } from "./api.ts";
import { Chart, type ChartLevel, type ChartSeries } from "./chart.ts";
import { chartTools } from "./chart-tools.ts";
import { type Cleanup, h, replace, setText } from "./dom.ts";
import { number } from "./format.ts";
import { legend } from "./legend.ts";
import type { Model } from "./model.ts";
import type { Theme } from "./theme.ts";
import { alignTrend } from "./trend-data.ts";
import { groupLabel, type TrendGroup, trendGroups } from "./trend-groups.ts";

const HOUR_MS = 3_600_000;
const SPANS = [
  [6, "6 h"],
  [24, "24 h"],
  [72, "3 days"],
  [168, "7 days"],
  [720, "30 days"],
] as const;
/** While the plot follows the present, it is drawn again this often. */
const FOLLOW_MS = 10_000;
const BUCKETS_MAX = 800;
const RANGE_MS_MIN = 60_000;

export class TrendPanel {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #model: Model;
  readonly #code: string;
  readonly #chart: Chart;
  readonly #select: HTMLSelectElement;
  readonly #legend = h("ul", { class: "legend" });
  readonly #note = h("p", { class: "hint" });
  readonly #buttons: HTMLButtonElement[];
  readonly #timer: ReturnType<typeof setInterval>;
  #groups: readonly TrendGroup[] = [];
  #spanHours = 24;
  #range: readonly [number, number] | null = null;
  #asking = new AbortController();

  constructor(api: Api, model: Model, theme: Theme, sensor: ApiSensor) {
    this.#api = api;
    this.#model = model;
    this.#code = sensor.code;
    this.#chart = new Chart(
      theme,
      () => (innerWidth < 700 ? 240 : 300),
      (range) => this.#zoom(range),
    );
    this.#select = h("select", { id: "trend-value", change: () => void this.#draw() });
    this.#buttons = SPANS.map(([hours, text]) =>
      h("button", { type: "button", click: () => this.#choose(hours), "data-hours": hours }, text),
    );
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": "trend-title" },
      h("div", { class: "panel-head" }, h("h2", { id: "trend-title" }, "Trend")),
      h(
        "div",
        { class: "controls" },
        h(
          "div",
          { class: "field wide" },
          h("label", { for: "trend-value" }, "Value"),
          this.#select,
        ),
        h("div", { class: "spans", role: "group", "aria-label": "Time span" }, ...this.#buttons),
        chartTools(this.#chart, "trend"),
      ),
      this.#legend,
      this.#chart.root,
      this.#note,
    );
    this.offer(sensor);
    this.#timer = setInterval(() => {
      if (this.#range === null && this.#model.isLive && !document.hidden) void this.#draw();
    }, FOLLOW_MS);
    this.#choose(this.#spanHours);
  }

  readonly stop: Cleanup = () => {
    clearInterval(this.#timer);
    this.#asking.abort();
    this.#chart.destroy();
  };

  /** Values may appear with the first reading. */
  offer(sensor: ApiSensor): void {
    const groups = trendGroups(sensor);
    if (groups.map(({ key }) => key).join() === this.#groups.map(({ key }) => key).join()) return;
    const isFirst = this.#groups.length === 0;
    const kept = this.#select.value;
    this.#groups = groups;
    const withKind = sensor.kinds.length > 1;
    replace(
      this.#select,
      ...groups.map((group) => h("option", { value: group.key }, groupLabel(group, withKind))),
    );
    if (groups.some(({ key }) => key === kept)) this.#select.value = kept;
    if (!isFirst || groups.length > 0) void this.#draw();
  }

  #choose(hours: number): void {
    this.#spanHours = hours;
    this.#range = null;
    void this.#draw();
  }
  #zoom(range: readonly [number, number] | null): void {
    if (range === null) this.#range = null;
    else {
      const [fromMs, toMs] = [range[0] * 1000, range[1] * 1000];
      if (toMs - fromMs < RANGE_MS_MIN || fromMs < 0) return;
      this.#range = [fromMs, toMs];
    }
    void this.#draw();
  }

  async #draw(): Promise<void> {
    const group = this.#groups.find(({ key }) => key === this.#select.value) ?? this.#groups[0];
    for (const button of this.#buttons) {
      const isChosen = this.#range === null && button.dataset["hours"] === String(this.#spanHours);
      button.setAttribute("aria-pressed", String(isChosen));
    }
    if (group === undefined) return void setText(this.#note, "No reading yet.");
    this.#asking.abort();
    this.#asking = new AbortController();
    const nowMs = this.#model.gatewayNowMs();
    const [fromMs, toMs] = this.#range ?? [nowMs - this.#spanHours * HOUR_MS, nowMs];
    // Before it is laid out the plot has no width yet.
    const widthPx = this.#chart.root.clientWidth || innerWidth / 2;
    const buckets = Math.min(BUCKETS_MAX, Math.max(120, Math.round(widthPx / 2)));
    const values = group.values.map(({ name }) => name);
    try {
      const trend = await this.#api.trend(
        { sensor: this.#code, kind: group.kind, values, fromMs, toMs, buckets },
        this.#asking.signal,
      );
      this.#show(group, trend);
    } catch (error) {
      if (this.#asking.signal.aborted) return;
      setText(this.#note, `The trend could not be read: ${(error as Error).message}`);
    }
  }

  #show(group: TrendGroup, trend: Trend): void {
    const sensor = this.#model.sensors.get(this.#code);
    const cadenceS = sensor?.reads.find(({ kind }) => kind === group.kind)?.cadenceS ?? 0;
    const { x, columns } = alignTrend(
      trend,
      group.values.map(({ name }) => name),
      cadenceS * 1000,
    );
    const series: ChartSeries[] = [];
    for (const [i, { label }] of group.values.entries()) {
      const column = columns[i];
      if (column === undefined) continue;
      series.push({
        label,
        colour: `series-${(i % 4) + 1}`,
        values: column.mean,
        ...(!group.isContact && { low: column.min, high: column.max }),
        look: group.isContact ? "steps" : "line",
        ...(i > 0 && {
          dash: [
            [7, 3],
            [2, 3],
            [9, 3, 2, 3],
          ][i - 1] ?? [7, 3],
        }),
      });
    }
    const doubtful = columns[0]?.doubtful;
    const hasDoubt = doubtful?.some((value) => typeof value === "number") === true;
    if (doubtful !== undefined && hasDoubt) {
      series.push({ label: "uncertain", colour: "warn", values: doubtful, look: "points" });
    }
    replace(this.#legend, ...legend(series));
    const times = this.#model.times;
    this.#chart.show({
      x,
      xLabel: `Time, ${times.name(trend.toMs)}`,
      yLabel: `${group.label}${group.unit === "" ? "" : ` (${group.unit})`}`,
      zone: times.zone,
      series,
      range: [trend.fromMs / 1000, trend.toMs / 1000],
      levels: group.quantity === "vel_rms" && sensor !== undefined ? zoneLevels(sensor) : [],
      summary: summaryOf(group, trend),
      readout: (index) =>
        `${times.full((x[index] ?? 0) * 1000)}   ${series
          .map(({ label, values, low, high }) =>
            readoutOf(label, group, values[index], low?.[index], high?.[index]),
          )
          .filter((text) => text !== "")
          .join("   ")}`,
    });
    setText(this.#note, summaryOf(group, trend));
  }
}

function readoutOf(
  label: string,
  { unit, isContact }: TrendGroup,
  mean: number | null | undefined,
  low: number | null | undefined,
  high: number | null | undefined,
): string {
  if (mean === null || mean === undefined || label === "uncertain") return "";
  if (isContact) return `${label}: ${mean > 0.5 ? "yes" : "no"}`;
  const spread =
    low === null || low === undefined || high === null || high === undefined || low === high
      ? ""
      : ` (${number(low)} … ${number(high)})`;
  return `${label} ${number(mean)}\u00a0${unit}${spread}`;
}

function zoneLevels({ machineClass, limits }: ApiSensor): ChartLevel[] {
  const bounds = limits ?? (machineClass === null ? null : VELOCITY_LIMITS[machineClass]);
  if (bounds === null) return [];
  return bounds.map((y, i) => {
    const [better, worse] = ["AB", "BC", "CD"][i] ?? "AB";
    return { y, label: `${better} | ${worse}`, colour: `zone-${worse?.toLowerCase() ?? "d"}` };
  });
}

function summaryOf(group: TrendGroup, trend: Trend): string {
  const parts = group.values.map(({ name, label }) => {
    const series = trend.series[name];
    if (series === undefined || group.isContact) return "";
    const [low, high] = [Math.min(...series.min), Math.max(...series.max)];
    return `${label}: ${number(low)} to ${number(high)} ${group.unit}`;
  });
  const shown = parts.filter((part) => part !== "").join(", ");
  const from = trend.readings === 1 ? "1 reading" : `${trend.readings} readings`;
  return `${group.label} from ${from}. ${shown === "" ? "" : `${shown}.`}`;
}
