/** The spectra of the stored measurements one behind the other, so that growing or moving lines are visible. */

import { type FrequencyScale, signalUnitAsRead, unitInFiles } from "../core/read-units.ts";
import { messageOf } from "../core/thrown.ts";
import type { Api } from "./api.ts";
import { saveWaterfallCsv, saveWaterfallPng } from "./chart-export.ts";
import { onPaper } from "./chart-paper.ts";
import { h, setText } from "./dom.ts";
import type { Model } from "./model.ts";
import { type Asking, Refresh } from "./refresh.ts";
import type { FallSpectrum } from "./series.ts";
import { labelled } from "./spectrum-tools.ts";
import { SvgPen } from "./svg-pen.ts";
import { colour, type Theme } from "./theme.ts";

import { type FallPicture, fallLayout, paintFall } from "./waterfall-paint.ts";
import { WaterfallRange } from "./waterfall-range.ts";
import {
  axisEnd,
  type FallReading,
  fallScale,
  rowWords,
  showFallPeaks,
  type WaterfallView,
} from "./waterfall-words.ts";

const COUNTS = [12, 24, 52, 100];
/** After a failure. */
const RETRY_MS = 10_000;
/** As the other graphs on paper. */
const PAPER_WIDTH = 720;

export class Waterfall {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #model: Model;
  readonly #code: string;
  readonly #open: (one: FallSpectrum) => void;
  readonly #range: WaterfallRange;
  readonly #count: HTMLSelectElement;
  readonly #style: HTMLSelectElement;
  readonly #peaks = h("table", { class: "plain peaks", hidden: true });
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
  readonly #loads: Refresh;
  #hasFailed = false;

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
    const again = () => this.show(this.#view);
    this.#loads = new Refresh(
      (asking) => this.#ask(asking),
      (error) => {
        this.#hasFailed = true;
        setText(this.#note, `The spectra could not be read: ${messageOf(error)}`);
      },
      {
        ms: RETRY_MS,
        isDue: () => this.#hasFailed && !this.root.hidden && model.isLive && !document.hidden,
      },
    );
    this.#range = new WaterfallRange(again);
    this.#count = h(
      "select",
      { id: "waterfall-count", change: again },
      ...COUNTS.map((count) => h("option", { value: count }, `at most ${count}`)),
    );
    this.#count.value = "24";
    this.#style = h(
      "select",
      { id: "waterfall-style", change: () => this.#draw() },
      h("option", { value: "lines" }, "lines"),
      h("option", { value: "spectrogram" }, "spectrogram"),
    );
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
        h("h3", { class: "paper-only" }, "Waterfall"),
        h(
          "div",
          { class: "tools", role: "group", "aria-label": "View of waterfall" },
          button("CSV", "Save the numbers as CSV", () => this.#saveCsv()),
          button("PNG", "Save the picture as PNG", () => saveWaterfallPng(this.#canvas)),
        ),
      ),
      h(
        "div",
        { class: "controls" },
        ...this.#range.controls,
        labelled("Spectra", this.#count),
        labelled("Drawn as", this.#style),
      ),
      this.#canvas,
      this.#paper.root,
      this.#note,
      this.#peaks,
    );
    this.#stopTheme = theme.onChange(() => this.#draw());
    this.#observer = new ResizeObserver(() => this.#draw());
    this.#observer.observe(this.root);
  }

  stop(): void {
    this.#loads.stop();
    this.#stopTheme();
    this.#paper.stop();
    this.#observer.disconnect();
  }

  hide(): void {
    this.root.hidden = true;
  }

  /** The spectra of the chosen range, evenly chosen where there are more. */
  show(view: WaterfallView): void {
    this.root.hidden = false;
    this.#view = view;
    setText(this.#note, "Reading the spectra …");
    this.#loads.choose();
  }

  async #ask(asking: Asking): Promise<() => void> {
    const { channel, unit, selected } = this.#view;
    const range = this.#range.at(this.#model.gatewayNowMs(), this.#model.times.zone);
    const query = { ...range, channel, unit, count: Number(this.#count.value) };
    const { label, spectra, total } = await this.#api.spectra(this.#code, query, asking);
    this.#hasFailed = false;
    return () => {
      this.#label = signalUnitAsRead(label);
      this.#total = total;
      this.#rows = spectra;
      const at = spectra.findIndex(({ reading }) => reading === selected?.reading);
      this.#chosen = Math.max(0, at);
      this.#draw();
      this.#announce();
    };
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key === "ArrowUp") this.#choose(this.#chosen + 1);
    else if (event.key === "ArrowDown") this.#choose(this.#chosen - 1);
    else if (event.key === "Enter") this.#openChosen();
    else return;
    event.preventDefault();
  }

  #onClick({ offsetY }: MouseEvent): void {
    const { feet } = fallLayout(this.#rows.length, this.#width);
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
    const shown =
      this.#total > this.#rows.length
        ? ` ${this.#rows.length} of ${this.#total} measurements, evenly chosen.`
        : ` All ${this.#rows.length} measurements of the range.`;
    setText(this.#note, `${rowWords(row, this.#reading())}${shown} ${help}`);
  }

  #scaleOf(row: FallSpectrum): FrequencyScale {
    return fallScale(row, this.#rows, this.#view);
  }

  #reading(): FallReading {
    return {
      label: this.#label,
      speedHz: this.#view.speedHz,
      scaleOf: (row) => this.#scaleOf(row),
      lines: (speedHz) => this.#view.lines?.(speedHz) ?? [],
      timeOf: ({ timeMs }) => this.#model.times.full(timeMs),
    };
  }

  get #width(): number {
    return Math.max(200, this.root.clientWidth);
  }

  #saveCsv(): void {
    const rows = this.#rows.map((row) => ({ ...row, step: row.step * this.#scaleOf(row).perHz }));
    saveWaterfallCsv(rows, this.#unit, unitInFiles(this.#label), this.#model.times.zone);
  }

  #draw(): void {
    if (this.root.hidden || this.#rows.length === 0) return;
    const layout = fallLayout(this.#rows.length, this.#width);
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
    paintFall(ctx, layout, this.#picture(colour));
    // What a spectrogram shows by shades alone.
    this.#peaks.hidden = this.#style.value !== "spectrogram";
    if (!this.#peaks.hidden) showFallPeaks(this.#peaks, this.#rows, this.#reading());
  }

  #svg(): string | null {
    if (this.#rows.length === 0) return null;
    const layout = fallLayout(this.#rows.length, PAPER_WIDTH);
    const pen = new SvgPen();
    paintFall(
      pen,
      layout,
      this.#picture((name) => `var(--${name})`),
    );
    return pen.svg(PAPER_WIDTH, layout.height);
  }

  #picture(tint: (name: string) => string): FallPicture {
    return {
      rows: this.#rows,
      steps: this.#rows.map((row) => row.step * this.#scaleOf(row).perHz),
      end: axisEnd(this.#view, this.#unit),
      unit: this.#unit,
      label: this.#label,
      chosen: this.#chosen,
      isSpectrogram: this.#style.value === "spectrogram",
      dateOf: ({ timeMs }) => this.#model.times.short(timeMs, this.#model.gatewayNowMs()),
      tint,
    };
  }

  get #unit(): FrequencyScale["unit"] {
    const [first] = this.#rows;
    return first === undefined ? "Hz" : this.#scaleOf(first).unit;
  }
}
