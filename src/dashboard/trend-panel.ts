/** A sensor's values over hours to years: lowest and highest as a band, the mean as a line, gaps left open. */

import type { ShownSensor, Trend } from "../core/query/shown.ts";
import { messageOf } from "../core/thrown.ts";
import { HOUR_MS } from "../core/time-units.ts";
import type { Api } from "./api.ts";
import { Chart } from "./chart.ts";
import { chartTools } from "./chart-tools.ts";
import { type Cleanup, h, keptOptions, replaceAnew, setText } from "./dom.ts";
import { legend } from "./legend.ts";
import type { Model } from "./model.ts";
import { placeNow, remember } from "./place.ts";
import { type Asking, Refresh } from "./refresh.ts";
import { sensorName } from "./sensor-filter.ts";
import type { Theme } from "./theme.ts";
import { TrendCompare } from "./trend-compare.ts";
import {
  alarmMarks,
  bandsOf,
  baselineWords,
  changeMarks,
  changesOf,
  levelsOf,
  NO_CONTEXT,
  type TrendContext,
  trendContext,
} from "./trend-context.ts";
import { centred } from "./trend-data.ts";
import { groupLabel, type TrendGroup, trendGroups } from "./trend-groups.ts";
import { inUnitOf, mergedGroup, mergedTrend } from "./trend-merged.ts";
import { trendSpec } from "./trend-spec.ts";

const SPANS = [
  [6, "6 h"],
  [24, "24 h"],
  [72, "3 days"],
  [168, "7 days"],
  [720, "30 days"],
  [8766, "1 year"],
  [87_660, "10 years"],
] as const;
/** Redraw interval while the plot follows the present. */
const FOLLOW_MS = 10_000;
/** Refresh interval of limits, baselines and alarms. */
const JUDGE_MS = 60_000;
const SPAN_HOURS = 24;
const BUCKETS_MAX = 800;
const RANGE_MS_MIN = 60_000;

export class TrendPanel {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #model: Model;
  readonly #code: string;
  readonly #chart: Chart;
  readonly #select: HTMLSelectElement;
  readonly #offered: ReturnType<typeof keptOptions>;
  readonly #legend = h("ul", { class: "legend" });
  readonly #note = h("p", { class: "hint" });
  #hasFailed = false;
  readonly #buttons: HTMLButtonElement[];
  readonly #refresh: Refresh;
  #groups: readonly TrendGroup[] = [];
  #spanHours = SPAN_HOURS;
  #context: TrendContext = NO_CONTEXT;
  #judgedMs = Number.NEGATIVE_INFINITY;
  #wanted: string | null;
  readonly #compare: TrendCompare;
  #range: readonly [number, number] | null = null;

  constructor(api: Api, model: Model, theme: Theme, sensor: ShownSensor) {
    this.#api = api;
    this.#model = model;
    this.#code = sensor.code;
    this.#chart = new Chart(
      theme,
      () => (innerWidth < 700 ? 240 : 300),
      (range) => this.#zoom(range),
    );
    const { query } = placeNow();
    this.#wanted = query.get("value");
    const hours = Number(query.get("hours"));
    if (SPANS.some(([span]) => span === hours)) this.#spanHours = hours;
    const [from, to] = [Date.parse(query.get("from") ?? ""), Date.parse(query.get("to") ?? "")];
    if (to - from >= RANGE_MS_MIN) this.#range = [from, to];
    const codes = (query.get("with") ?? "").split(",").filter((code) => code !== "");
    this.#compare = new TrendCompare(model, sensor.code, codes, () => this.#change());
    this.#select = h("select", { id: "trend-value", change: () => this.#change() });
    this.#offered = keptOptions(this.#select);
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
        this.#compare.root,
        h("div", { class: "spans", role: "group", "aria-label": "Time span" }, ...this.#buttons),
        chartTools(this.#chart, "trend"),
      ),
      this.#legend,
      this.#chart.root,
      this.#note,
    );
    this.#refresh = new Refresh(
      (asking) => this.#ask(asking),
      (error) => this.#failed(error),
      { ms: FOLLOW_MS, isDue: () => this.#isDue() && model.isLive && !document.hidden },
    );
    this.offer(sensor);
    if (this.#groups.length === 0) this.#draw();
  }

  readonly stop: Cleanup = () => {
    this.#refresh.stop();
    this.#chart.destroy();
  };

  get code(): string {
    return this.#code;
  }

  /** The agent responds again. */
  retry(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#draw();
  }

  /** A range that is over changes no more, once it was read. */
  #isDue = (): boolean => this.#range === null || this.#hasFailed;

  /** Values may appear with the first reading. */
  offer(sensor: ShownSensor): void {
    const groups = trendGroups(sensor);
    if (keyOf(groups) === keyOf(this.#groups)) return;
    // A link may name the group, or a value of it.
    const requested = groups.find(
      ({ key, kind, values }) =>
        key === this.#wanted || values.some(({ name }) => `${kind}.${name}` === this.#wanted),
    );
    if (requested !== undefined) this.#wanted = null;
    const kept = requested?.key ?? this.#select.value;
    this.#groups = groups;
    const withKind = sensor.kinds.length > 1;
    this.#offered(groups.map((group) => [group.key, groupLabel(group, withKind)]));
    if (groups.some(({ key }) => key === kept)) this.#select.value = kept;
    // Another unit has other limits.
    this.#judgedMs = Number.NEGATIVE_INFINITY;
    this.#draw();
  }

  #change(): void {
    const group = this.#groupNow();
    if (group !== undefined) this.#remember(group);
    this.#draw();
  }

  #choose(hours: number): void {
    this.#spanHours = hours;
    this.#range = null;
    this.#change();
  }
  #zoom(range: readonly [number, number] | null): void {
    if (range === null) this.#range = null;
    else {
      const [fromMs, toMs] = [range[0] * 1000, range[1] * 1000];
      if (toMs - fromMs < RANGE_MS_MIN || fromMs < 0) return;
      this.#range = [fromMs, toMs];
    }
    this.#change();
  }

  #groupNow(): TrendGroup | undefined {
    return this.#groups.find(({ key }) => key === this.#select.value) ?? this.#groups[0];
  }

  /** The current selection, as kept in the link. */
  #remember(group: TrendGroup): void {
    const [from, to] = this.#range ?? [null, null];
    remember({
      value: group === this.#groups[0] ? null : group.key,
      hours: this.#range !== null || this.#spanHours === SPAN_HOURS ? null : `${this.#spanHours}`,
      from: from === null ? null : new Date(from).toISOString(),
      to: to === null ? null : new Date(to).toISOString(),
      with: this.#compare.codes.join(","),
    });
  }

  #draw(): void {
    for (const button of this.#buttons) {
      const isChosen = this.#range === null && button.dataset["hours"] === String(this.#spanHours);
      button.setAttribute("aria-pressed", String(isChosen));
    }
    this.#refresh.choose();
  }

  async #ask(asking: Asking): Promise<() => void> {
    const group = this.#groupNow();
    if (group === undefined) return () => setText(this.#note, "No reading yet.");
    this.#compare.offer(group);
    const nowMs = this.#model.gatewayNowMs();
    const [fromMs, toMs] = this.#range ?? [nowMs - this.#spanHours * HOUR_MS, nowMs];
    // Before layout the plot has no width.
    const widthPx = this.#chart.root.clientWidth || innerWidth / 2;
    const buckets = Math.min(BUCKETS_MAX, Math.max(120, Math.round(widthPx / 2)));
    const load = async (sensor: string, { kind, values, isContact }: TrendGroup) => {
      const names = values.map(({ name }) => name);
      const query = { sensor, kind, values: names, fromMs, toMs, buckets };
      const trend = await this.#api.trend(query, asking);
      return isContact ? trend : centred(trend);
    };
    const others = this.#compare.groups(group);
    const [own, ...rest] = await Promise.all([
      load(this.#code, group),
      ...others.map((other) => load(other.sensor.code, other.group)),
      this.#judge(nowMs, asking),
    ]);
    if (own === undefined) return () => {};
    const drawn = inUnitOf(group, own);
    const beside = others.flatMap(({ sensor, group: of }, i) => {
      const trend = rest[i];
      return trend === undefined ? [] : [{ sensor, group: inUnitOf(of, trend), trend }];
    });
    // Another unit is another scale: the lines would lie.
    const [same, odd] = [true, false].map((isSame) =>
      beside.filter((one) => (one.group.unit === drawn.unit) === isSame),
    );
    const words = (odd ?? []).map(
      ({ sensor, group: { unit } }) =>
        `${sensorName(sensor)} is in ${unit || "no unit"}: not drawn.`,
    );
    if (same === undefined || same.length === 0) return () => this.#show(drawn, drawn, own, words);
    const first = { sensor: this.#model.sensors.get(this.#code), group: drawn, trend: own };
    const all = [first, ...same];
    const merged = mergedTrend(all.map(({ sensor, trend }) => [sensor?.code ?? this.#code, trend]));
    return () => merged && this.#show(drawn, mergedGroup(all, this.#code), merged, words);
  }

  #failed(error: unknown): void {
    this.#hasFailed = true;
    setText(this.#note, `The trend could not be read: ${messageOf(error)}`);
  }

  /** Limits and baselines change rarely, alarms now and then. */
  async #judge(nowMs: number, asking: Asking): Promise<undefined> {
    if (nowMs - this.#judgedMs < JUDGE_MS) return;
    const context = await trendContext(this.#api, this.#code, asking);
    // Another choice asks for them itself: it is not drawn without limits.
    if (asking.aborted) return;
    this.#judgedMs = nowMs;
    this.#context = context ?? this.#context;
  }

  #show(own: TrendGroup, group: TrendGroup, trend: Trend, more: readonly string[]): void {
    this.#hasFailed = false;
    const sensor = this.#model.sensors.get(this.#code);
    const cadenceS = sensor?.reads.find(({ kind }) => kind === group.kind)?.cadenceS ?? 0;
    const isAlone = own === group;
    const spec = trendSpec(group, trend, this.#model.times, isAlone ? cadenceS * 1000 : 0);
    const lines = spec.lanes === undefined ? spec.series : [];
    const looks = lines.map(({ label, colour, dash, look }) => [label, colour, dash, look]);
    replaceAnew(this.#legend, JSON.stringify(looks), () => legend(lines));
    const bands = isAlone ? bandsOf(own, this.#context) : [];
    const changes = changesOf(own, trend);
    this.#chart.show({
      ...spec,
      file: `${this.#code} ${own.label}`,
      levels: own.isContact ? [] : levelsOf(own, sensor, this.#context),
      bands,
      marks: [...alarmMarks(own, this.#context), ...changeMarks(changes)],
    });
    const words = isAlone ? baselineWords(own, this.#context) : "";
    const changed = changes.map(
      ({ timeMs, text }) =>
        `${this.#model.times.full(timeMs)}: ${text}; before, values are not comparable.`,
    );
    setText(
      this.#note,
      [spec.summary, words, ...changed, ...more].filter((part) => part !== "").join(" "),
    );
  }
}

const keyOf = (groups: readonly TrendGroup[]) =>
  JSON.stringify(groups.map(({ key, unit, label, values }) => [key, unit, label, values]));
