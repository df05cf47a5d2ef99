/**
 * A plot that can be read by eye, by keyboard and by a screen reader: uPlot in our own frame.
 * In one file: uPlot calls back into the state that cursor and keys change.
 */
import uPlot from "uplot";
import { chartOptions } from "./chart-options.ts";
import { chartSvg, onPaper } from "./chart-paper.ts";
import { dataOf } from "./chart-series.ts";
import type { ChartMark, ChartSpec } from "./chart-spec.ts";
import { h, setText } from "./dom.ts";
import type { Theme } from "./theme.ts";

/** Part of the width a key press zooms by. */
const ZOOM = 0.25;
/** Share of the width within which two marks are at one place. */
const SAME_PLACE = 0.004;
const HELP = "Arrow keys move the cursor, plus and minus zoom, 0 resets the view.";
const HOLD_HELP = "Enter pins and releases the cursor.";

export class Chart {
  readonly root: HTMLElement;
  readonly #plotPlace: HTMLElement;
  readonly #readout: HTMLElement;
  readonly #height: () => number;
  readonly #paper: ReturnType<typeof onPaper>;
  readonly #observer: ResizeObserver;
  readonly #stopTheme: () => void;
  readonly #onZoom: ((range: readonly [number, number] | null) => void) | null;
  #plot: uPlot | null = null;
  #spec: ChartSpec | null = null;
  /** Of the cursor; -1 before there is one. */
  #index = -1;
  #held: number | null = null;
  #isDrawn = true;

  /** With `onZoom` the owner draws the new range; without, the plot itself zooms. */
  constructor(
    theme: Theme,
    height: () => number,
    onZoom: ((range: readonly [number, number] | null) => void) | null,
  ) {
    this.#height = height;
    this.#onZoom = onZoom;
    this.#plotPlace = h("div", {
      class: "plot",
      tabindex: 0,
      role: "img",
      // A screen reader may arrive before the data does.
      "aria-label": "Nothing is drawn yet.",
      keydown: (event: KeyboardEvent) => this.#onKey(event),
      dblclick: () => this.reset(),
      click: () => {
        if ((this.#plot?.select.width ?? 0) < 1) this.#hold();
      },
    });
    this.#readout = h("p", { class: "readout screen-only", role: "status", "aria-live": "off" });
    this.#paper = onPaper(() => this.#svg());
    this.root = h("div", { class: "chart" }, this.#plotPlace, this.#paper.root, this.#readout);
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.#plotPlace);
    this.#stopTheme = theme.onChange(() => {
      if (this.#spec !== null) this.show(this.#spec);
    });
  }

  destroy(): void {
    this.#observer.disconnect();
    this.#paper.stop();
    this.#stopTheme();
    this.#plot?.destroy();
  }

  show(spec: ChartSpec): void {
    const kept = this.#spec === null || this.#onZoom !== null ? null : this.#zoomed();
    const isSameAxis = this.#spec?.xLabel === spec.xLabel;
    const turned = (spec.xPerUnit ?? 1) / (this.#spec?.xPerUnit ?? 1);
    const at = this.#cursorAt();
    if (this.#held !== null) this.#held *= turned;
    this.#plot?.destroy();
    this.#spec = spec;
    this.#plotPlace.setAttribute(
      "aria-label",
      `${spec.summary} ${HELP}${spec.cursor === undefined ? "" : ` ${HOLD_HELP}`}`,
    );
    if (spec.held !== undefined) this.#held = spec.held;
    this.#plot = new uPlot(
      chartOptions(spec, {
        width: Math.max(200, this.#plotPlace.clientWidth),
        height: this.#height(),
        zoomsItself: this.#onZoom === null,
        onSelect: (range) => this.#onZoom?.(range),
        onCursor: (plot) => this.#onCursor(plot),
        cursorMarks: (plot) => this.#cursorMarks(plot),
      }),
      dataOf(spec),
      this.#plotPlace,
    );
    const part = kept !== null && isSameAxis ? kept : spec.view;
    if (part !== undefined) this.#plot.setScale("x", { min: part[0], max: part[1] });
    // A read-out that stays is not told again.
    if (at !== null && (isSameAxis || spec.xPerUnit !== undefined))
      this.#restore(this.#plot, at * turned);
    else {
      this.#index = -1;
      this.#idle();
    }
  }

  /** Position of the cursor; null while there is none. */
  #cursorAt(): number | null {
    const { cursor, data } = this.#plot ?? {};
    if (cursor === undefined || (cursor.left ?? -1) < 0) return null;
    return data?.[0][cursor.idx ?? -1] ?? null;
  }

  /** Once the new plot has its scales. */
  #restore(plot: uPlot, at: number): void {
    queueMicrotask(() => {
      if (plot !== this.#plot) return;
      const left = plot.valToPos(at, "x");
      if (left >= 0 && left <= plot.over.clientWidth)
        plot.setCursor({ left, top: plot.over.clientHeight / 2 }, true);
      else this.#idle();
    });
  }

  /** The displayed data for an export; null before there is any. */
  get shown(): { readonly spec: ChartSpec; readonly canvas: HTMLCanvasElement } | null {
    if (this.#spec === null || this.#plot === null) return null;
    return { spec: this.#spec, canvas: this.#plot.ctx.canvas };
  }

  /** What is in view, as it stands on paper. */
  #svg(): string | null {
    if (this.#spec === null || this.#plot === null) return null;
    const marks = [...(this.#spec.marks ?? []), ...this.#cursorMarks(this.#plot)];
    return chartSvg({ ...this.#spec, marks }, this.#shown(this.#plot));
  }

  /** Pins the cursor's position, or releases the pinned one. */
  #hold(): void {
    const plot = this.#plot;
    const at = plot?.data[0][plot.cursor.idx ?? -1];
    if (plot === null || at === undefined || this.#spec?.cursor === undefined) return;
    this.#held = this.#held === at ? null : at;
    this.#onCursor(plot);
  }

  reset(): void {
    if (this.#onZoom !== null) return this.#onZoom(null);
    const [first, last] = this.#whole();
    this.#plot?.setScale("x", { min: first, max: last });
  }
  zoom(factor: number): void {
    const plot = this.#plot;
    if (plot === null) return;
    const [min, max] = this.#shown(plot);
    const centre = plot.data[0][plot.cursor.idx ?? -1] ?? (min + max) / 2;
    this.#setRange(centre - (centre - min) * factor, centre + (max - centre) * factor);
  }
  /** By a share of the width; negative moves left. */
  pan(share: number): void {
    if (this.#plot === null) return;
    const [min, max] = this.#shown(this.#plot);
    this.#setRange(min + share * (max - min), max + share * (max - min));
  }

  #setRange(min: number, max: number): void {
    if (!(max > min)) return;
    if (this.#onZoom !== null) return this.#onZoom([min, max]);
    const [first, last] = this.#whole();
    this.#plot?.setScale("x", { min: Math.max(first, min), max: Math.min(last, max) });
  }
  #whole(): [number, number] {
    const { range, x } = this.#spec ?? { range: undefined, x: [] };
    return range ? [range[0], range[1]] : [x[0] ?? 0, x.at(-1) ?? 1];
  }
  #shown({ scales }: uPlot): [number, number] {
    return [scales["x"]?.min ?? 0, scales["x"]?.max ?? 1];
  }
  /** The zoomed range; null while everything is shown. */
  #zoomed(): [number, number] | null {
    if (this.#plot === null) return null;
    const [[min, max], [first, last]] = [this.#shown(this.#plot), this.#whole()];
    return min > first || max < last ? [min, max] : null;
  }

  #onKey(event: KeyboardEvent): void {
    const plot = this.#plot;
    if (plot === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? 10 : 1;
    if (event.key === "ArrowLeft") this.#moveTo(plot, this.#index - step);
    else if (event.key === "ArrowRight") this.#moveTo(plot, this.#index + step);
    else if (event.key === "+" || event.key === "=") this.zoom(1 - 2 * ZOOM);
    else if (event.key === "-") this.zoom(1 / (1 - 2 * ZOOM));
    else if (event.key === "Enter" && this.#spec?.cursor !== undefined) this.#hold();
    else if (event.key === "Escape" && this.#dismiss(plot)) this.#redraw(plot);
    else if (event.key === "0" || event.key === "Escape") this.reset();
    else return;
    event.preventDefault();
  }

  #moveTo(plot: uPlot, to: number): void {
    const x = plot.data[0];
    // From nowhere: a trend is read from its newest point, a spectrum from its first line.
    const isNowhere = this.#index < 0;
    const index = isNowhere ? (this.#spec?.zone === null ? 0 : x.length - 1) : to;
    const [min, max] = this.#shown(plot);
    const from = x.findIndex((value) => value >= min);
    let last = x.length - 1;
    while (last > from && (x[last] ?? 0) > max) last -= 1;
    this.#index = Math.min(last, Math.max(from, index));
    // Only keyboard moves are announced; mouse moves would be announced continuously.
    this.#readout.setAttribute("aria-live", "polite");
    const left = plot.valToPos(x[this.#index] ?? 0, "x");
    plot.setCursor({ left, top: plot.over.clientHeight / 2 }, true);
  }

  #resize(): void {
    const width = this.#plotPlace.clientWidth;
    if (this.#plot === null || width === 0 || width === this.#plot.width) return;
    this.#plot.setSize({ width, height: this.#height() });
  }

  /** Nothing is read: its room stays. */
  #idle(): void {
    setText(this.#readout, this.#spec?.x.length === 0 ? "No data." : "");
  }

  /** Escape takes the cursor away; without one it shows everything again. */
  #dismiss(plot: uPlot): boolean {
    if ((plot.cursor.left ?? -1) < 0) return false;
    plot.setCursor({ left: -10, top: -10 }, true);
    this.#index = -1;
    this.#idle();
    return true;
  }

  #onCursor(plot: uPlot): void {
    const { idx } = plot.cursor;
    if (idx === null || idx === undefined || (plot.cursor.left ?? -1) < 0) {
      this.#readout.setAttribute("aria-live", "off");
      return this.#idle();
    }
    this.#index = idx;
    const own = this.#spec?.readout(idx) ?? "";
    const more = this.#spec?.cursor?.(plot.data[0][idx] ?? 0, this.#held).words ?? "";
    setText(this.#readout, more === "" ? own : `${own}   ${more}`);
    this.#redraw(plot);
  }

  #cursorMarks(plot: uPlot): readonly ChartMark[] {
    const at = plot.data[0][plot.cursor.idx ?? -1] ?? this.#held;
    if (at === null || at === undefined) return [];
    const marks = this.#spec?.cursor?.(at, this.#held).marks ?? [];
    const [min, max] = this.#shown(plot);
    const near = (max - min) * SAME_PLACE;
    // A line that has a name is named once.
    const named = this.#spec?.marks ?? [];
    return marks.map((mark) =>
      named.some(({ x }) => Math.abs(x - mark.x) < near) ? { ...mark, label: "" } : mark,
    );
  }

  /** Marks that follow the cursor are drawn on the canvas, so that an exported picture has them too. */
  #redraw(plot: uPlot): void {
    if (this.#spec?.cursor === undefined || !this.#isDrawn) return;
    this.#isDrawn = false;
    requestAnimationFrame(() => {
      this.#isDrawn = true;
      if (plot === this.#plot) plot.redraw(false, false);
    });
  }
}
