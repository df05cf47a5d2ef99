/**
 * The spectra of the stored measurements one behind the other, so that growing or moving lines are visible.
 * In one file: layout, drawing, pointer and keys share the place of each spectrum.
 */

import type { ShownMeasurement } from "../core/query/shown.ts";
import { type FrequencyScale, frequencyScale, type ReadUnits } from "../core/read-units.ts";
import { messageOf } from "../core/thrown.ts";
import type { Api } from "./api.ts";
import { onPaper } from "./chart-paper.ts";
import { h, setText } from "./dom.ts";
import { niceStep, number } from "./format.ts";
import type { Model } from "./model.ts";
import type { FallSpectrum } from "./series.ts";
import { labelled } from "./spectrum-tools.ts";
import { type Pen, SvgPen } from "./svg-pen.ts";
import { colour, type Theme } from "./theme.ts";
import { saveWaterfallCsv, saveWaterfallPng } from "./waterfall-export.ts";

import { WaterfallRange } from "./waterfall-range.ts";

const COUNTS = [12, 24, 52, 100];
const LEFT = 8;
const RIGHT = 128;
const BOTTOM = 34;
/** As the other graphs on paper. */
const PAPER_WIDTH = 720;
/** Share of the height that the largest line may take above its own baseline. */
const LIFT = 0.3;

export interface WaterfallView {
  readonly unit: number;
  readonly channel: number;
  /** Highest displayed multiple of the speed; null shows all. */
  readonly orders: number | null;
  readonly frequencyIn: ReadUnits["frequency"];
  /** Of spectra without a measured one; null while unknown. */
  readonly speedHz: number | null;
  /** Shown beside it: its row is the selected one. */
  readonly selected: ShownMeasurement | null;
}

interface Layout {
  readonly width: number;
  readonly height: number;
  /** Of the rows' base lines, the newest first. */
  readonly feet: readonly number[];
  readonly lift: number;
}

export class Waterfall {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #model: Model;
  readonly #code: string;
  readonly #open: (one: FallSpectrum) => void;
  readonly #range: WaterfallRange;
  readonly #count: HTMLSelectElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #paper: ReturnType<typeof onPaper>;
  readonly #note = h("p", { class: "readout", role: "status" });
  readonly #stopTheme: () => void;
  readonly #observer: ResizeObserver;
  #rows: readonly FallSpectrum[] = [];
  #label = "";
  #total = 0;
  #view: WaterfallView = {
    unit: 0,
    channel: 1,
    orders: null,
    frequencyIn: "Hz",
    speedHz: null,
    selected: null,
  };
  #chosen = 0;
  #loading = new AbortController();

  /** `open` shows one measurement. */
  constructor(
    api: Api,
    model: Model,
    theme: Theme,
    code: string,
    open: (one: FallSpectrum) => void,
  ) {
    this.#api = api;
    this.#code = code;
    const again = () => void this.show(this.#view);
    this.#range = new WaterfallRange(again);
    this.#count = h(
      "select",
      { id: "waterfall-count", change: again },
      ...COUNTS.map((count) => h("option", { value: count }, `at most ${count}`)),
    );
    this.#count.value = "24";
    this.#model = model;
    this.#open = open;
    this.#paper = onPaper(() => this.#svg());
    this.#canvas = h("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label": "Nothing is drawn yet.",
      class: "waterfall",
      keydown: (event: KeyboardEvent) => this.#onKey(event),
      click: (event: MouseEvent) => this.#onClick(event),
    });
    const button = (text: string, label: string, act: () => void) =>
      h("button", { type: "button", "aria-label": `${label}, waterfall`, click: act }, text);
    this.root = h(
      "div",
      { class: "chart", hidden: true },
      h(
        "div",
        { class: "chart-head" },
        h("h3", null, "Waterfall"),
        h(
          "div",
          { class: "tools", role: "group", "aria-label": "View of waterfall" },
          button("CSV", "Save the numbers as CSV", () => this.#saveCsv()),
          button("PNG", "Save the picture as PNG", () => saveWaterfallPng(this.#canvas)),
        ),
      ),
      h("div", { class: "controls" }, ...this.#range.controls, labelled("Spectra", this.#count)),
      this.#canvas,
      this.#paper.root,
      this.#note,
    );
    this.#stopTheme = theme.onChange(() => this.#draw());
    this.#observer = new ResizeObserver(() => this.#draw());
    this.#observer.observe(this.root);
  }

  stop(): void {
    this.#loading.abort();
    this.#stopTheme();
    this.#paper.stop();
    this.#observer.disconnect();
  }

  hide(): void {
    this.#loading.abort();
    this.root.hidden = true;
  }

  /** The spectra of the chosen range, evenly chosen where there are more. */
  async show(view: WaterfallView): Promise<void> {
    this.#loading.abort();
    this.#loading = new AbortController();
    const { signal } = this.#loading;
    this.root.hidden = false;
    this.#view = view;
    const { channel, unit, selected } = view;
    setText(this.#note, "Reading the spectra …");
    try {
      const query = {
        ...this.#range.at(this.#model.gatewayNowMs(), this.#model.times.zone),
        channel,
        unit,
        count: Number(this.#count.value),
      };
      const { label, spectra, total } = await this.#api.spectra(this.#code, query, signal);
      this.#label = label;
      this.#total = total;
      this.#rows = spectra;
    } catch (error) {
      if (signal.aborted) return;
      setText(this.#note, `The spectra could not be read: ${messageOf(error)}`);
      return;
    }
    this.#chosen = Math.max(
      0,
      this.#rows.findIndex(({ reading }) => reading === selected?.reading),
    );
    this.#draw();
    this.#announce();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key === "ArrowUp") this.#choose(this.#chosen + 1);
    else if (event.key === "ArrowDown") this.#choose(this.#chosen - 1);
    else if (event.key === "Enter") this.#openChosen();
    else return;
    event.preventDefault();
  }

  #onClick({ offsetY }: MouseEvent): void {
    const { feet } = this.#layout(this.#width);
    const nearest = feet.map((foot) => Math.abs(foot - offsetY));
    const row = nearest.indexOf(Math.min(...nearest));
    if (row === this.#chosen) this.#openChosen();
    else this.#choose(row);
  }

  #openChosen(): void {
    const row = this.#rows[this.#chosen];
    if (row !== undefined) this.#open(row);
  }

  #choose(row: number): void {
    this.#chosen = Math.max(0, Math.min(this.#rows.length - 1, row));
    this.#draw();
    this.#announce();
  }

  #announce(): void {
    const row = this.#rows[this.#chosen];
    const help = "Arrow keys select a spectrum, Enter opens it.";
    this.#canvas.setAttribute(
      "aria-label",
      `Waterfall of ${this.#rows.length} spectra, newest in front. ${help}`,
    );
    if (row === undefined) return void setText(this.#note, "No data.");
    const line = row.values.indexOf(Math.max(...row.values));
    const top =
      line < 0
        ? ""
        : `: highest ${number(row.values[line] ?? 0)} ${this.#label} at ${this.#scaleOf(row).words(line * row.step)}`;
    const speed = row.speedRpm === null ? "" : `, ${Math.round(row.speedRpm)} rpm`;
    const stood = row.running === false ? ", the machine stood" : "";
    const shown =
      this.#total > this.#rows.length
        ? ` ${this.#rows.length} of ${this.#total} measurements, evenly chosen.`
        : ` All ${this.#rows.length} measurements of the range.`;
    const time = this.#model.times.full(row.timeMs);
    setText(this.#note, `${time}${speed}${stood}${top}.${shown} ${help}`);
  }

  /** Over orders, the speed of its own time puts a part at the same place in each spectrum. */
  #scaleOf({ speedRpm }: FallSpectrum): FrequencyScale {
    const { frequencyIn, speedHz } = this.#view;
    // One spectrum without any speed keeps all in Hz.
    const isUnknown = speedHz === null && this.#rows.some((row) => row.speedRpm === null);
    return frequencyScale(
      frequencyIn === "orders" && isUnknown ? "Hz" : frequencyIn,
      speedRpm === null ? speedHz : speedRpm / 60,
    );
  }

  #layout(width: number): Layout {
    const height = Math.min(900, 200 + 14 * this.#rows.length);
    const space = height - BOTTOM;
    const lift = space * LIFT;
    const step = (space - lift) / Math.max(1, this.#rows.length - 1);
    return { width, height, lift, feet: this.#rows.map((_, i) => space - i * step) };
  }

  get #width(): number {
    return Math.max(200, this.root.clientWidth);
  }

  #saveCsv(): void {
    const rows = this.#rows.map((row) => ({ ...row, step: row.step * this.#scaleOf(row).perHz }));
    saveWaterfallCsv(rows, this.#unit, this.#label, this.#model.times.zone);
  }

  #draw(): void {
    if (this.root.hidden || this.#rows.length === 0) return;
    const layout = this.#layout(this.#width);
    const { width, height } = layout;
    const ratio = devicePixelRatio;
    const canvas = this.#canvas;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext("2d");
    if (ctx === null) return;
    ctx.scale(ratio, ratio);
    this.#paint(ctx, layout, colour);
  }

  #svg(): string | null {
    if (this.#rows.length === 0) return null;
    const layout = this.#layout(PAPER_WIDTH);
    const pen = new SvgPen();
    this.#paint(pen, layout, (name) => `var(--${name})`);
    return pen.svg(PAPER_WIDTH, layout.height);
  }

  #paint(ctx: Pen, { width, height, feet, lift }: Layout, tint: (name: string) => string): void {
    const steps = this.#rows.map((row) => row.step * this.#scaleOf(row).perHz);
    const ends = this.#rows.map(({ values }, i) => (steps[i] ?? 0) * values.length);
    const end = Math.min(this.#wantedEnd(), Math.max(...ends));
    const inner = width - LEFT - RIGHT;
    const top =
      Math.max(...this.#rows.map(({ values }, i) => highest(values, steps[i] ?? 1, end))) || 1;
    ctx.font = "12px system-ui, sans-serif";
    for (let i = this.#rows.length - 1; i >= 0; i--) {
      const row = this.#rows[i];
      const foot = feet[i] ?? 0;
      if (row === undefined) continue;
      const { values } = row;
      const step = steps[i] ?? 1;
      const isChosen = i === this.#chosen;
      ctx.beginPath();
      ctx.moveTo(LEFT, foot);
      const count = Math.min(values.length, Math.floor(end / step) + 1);
      for (let k = 0; k < count; k++) {
        const x = LEFT + ((k * step) / end) * inner;
        ctx.lineTo(x, foot - ((values[k] ?? 0) / top) * lift);
      }
      ctx.lineTo(LEFT + inner, foot);
      // Lines in front hide those behind.
      ctx.fillStyle = tint("card");
      ctx.fill();
      ctx.lineWidth = isChosen ? 2 : 1;
      ctx.strokeStyle = tint(isChosen ? "series-2" : "series-1");
      ctx.stroke();
      const isNamed = isChosen || i % Math.ceil(16 / Math.max(4, step12(feet))) === 0;
      if (!isNamed) continue;
      ctx.fillStyle = tint(isChosen ? "series-2" : "muted");
      const time = this.#model.times.short(row.timeMs, this.#model.gatewayNowMs());
      ctx.fillText(time, LEFT + inner + 6, foot + 3, RIGHT - 8);
    }
    ctx.fillStyle = tint("muted");
    this.#axis(ctx, end, inner, height);
  }

  get #unit(): FrequencyScale["unit"] {
    const [first] = this.#rows;
    return first === undefined ? "Hz" : this.#scaleOf(first).unit;
  }

  /** In the unit of the axis. */
  #wantedEnd(): number {
    const { orders, speedHz } = this.#view;
    if (orders === null) return Number.POSITIVE_INFINITY;
    if (this.#unit === "orders") return orders;
    if (speedHz === null) return Number.POSITIVE_INFINITY;
    return orders * speedHz * frequencyScale(this.#unit, null).perHz;
  }

  #axis(ctx: Pen, end: number, inner: number, height: number): void {
    const step = niceStep(end / Math.max(3, inner / 110));
    ctx.textAlign = "center";
    for (let at = 0; at <= end; at += step) {
      const x = LEFT + (at / end) * inner;
      ctx.fillRect(x, height - BOTTOM, 1, 5);
      ctx.fillText(String(Number(at.toPrecision(6))), Math.max(x, 12), height - BOTTOM + 17);
    }
    ctx.textAlign = "left";
    // Beside the widest label of the last tick.
    ctx.fillText(this.#unit, LEFT + inner + 26, height - BOTTOM + 17);
  }
}

/** Pixels between two rows. */
function step12(feet: readonly number[]): number {
  return (feet[0] ?? 0) - (feet[1] ?? 0) || 16;
}

function highest(values: Float32Array, step: number, end: number): number {
  let most = 0;
  for (let k = 0; k < values.length && k * step <= end; k++) most = Math.max(most, values[k] ?? 0);
  return most;
}
