import { drawnLine } from "../core/drawing/drawn-line.ts";
import { frequencyScale, type ReadUnits, signalUnitAsRead } from "../core/read-units.ts";
import { h, replaceAnew } from "./dom.ts";
import { number } from "./format.ts";
import type { SpectrumSeries } from "./series.ts";
import { type PeakOrder, sortedPeaks } from "./signal-specs.ts";
import { lineName, type MarkerLine } from "./spectrum-markers.ts";

/** A peak this close to a whole multiple of the speed is labelled with it. */
const ORDER_TOLERANCE = 0.03;
const ORDER_MAX = 20;

/** The largest peaks; their frequency is interpolated between the lines. Largest first until another column is chosen. */
export class PeakTable {
  readonly #none = h("p", { class: "hint" }, "The spectrum has no peaks.");
  readonly #head = h("tr");
  readonly #body = h("tbody");
  /** Built once: a measurement that comes takes no focus away. */
  readonly #scroll = h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Largest peaks" },
    h("table", { class: "plain peaks" }, h("thead", null, this.#head), this.#body),
  );
  readonly root = h("div", null, this.#none, this.#scroll);
  #sortBy: PeakOrder = "amplitude";
  #isUp = false;
  #redraw: () => void = () => {};

  show(
    spectrum: SpectrumSeries,
    frequencyIn: ReadUnits["frequency"],
    speedHz: number | null,
    lines: readonly MarkerLine[],
    drawn: readonly MarkerLine[],
  ): void {
    const nameOf = (hz: number) => lineName(hz, spectrum.step, lines, drawn) ?? "–";
    this.#redraw = () => this.#draw(spectrum, frequencyIn, speedHz, nameOf);
    this.#redraw();
  }

  #sort(key: PeakOrder): void {
    this.#isUp = this.#sortBy === key ? !this.#isUp : key === "frequency";
    this.#sortBy = key;
    this.#redraw();
    this.root.querySelector<HTMLElement>(`[data-sort="${key}"]`)?.focus();
  }

  #draw(
    { peaks: found, label: unit, values, step }: SpectrumSeries,
    frequencyIn: ReadUnits["frequency"],
    speedHz: number | null,
    nameOf: (hz: number) => string,
  ): void {
    const peaks = found.map((peak) => {
      const drawn = drawnLine(values, step, peak.frequencyHz);
      return drawn === null ? peak : { frequencyHz: drawn.hz, amplitude: drawn.amplitude };
    });
    this.#none.hidden = peaks.length > 0;
    this.#scroll.hidden = peaks.length === 0;
    const scale = frequencyScale(frequencyIn, speedHz);
    const { digits } = scale;
    const label = signalUnitAsRead(unit);
    // The column of the multiples says it.
    const isInOrders = scale.unit === "orders";
    const plain = (text: string) => h("th", { scope: "col" }, text);
    const sortable = (key: PeakOrder, text: string) => {
      const isSorted = this.#sortBy === key;
      const order = isSorted ? (this.#isUp ? "ascending" : "descending") : "none";
      const sign = isSorted ? (this.#isUp ? " ▲" : " ▼") : "";
      return h(
        "th",
        { scope: "col", "aria-sort": order },
        h(
          "button",
          { type: "button", class: "sort", "data-sort": key, click: () => this.#sort(key) },
          `${text}${sign}`,
        ),
      );
    };
    replaceAnew(this.#head, `${scale.unit} ${label} ${this.#sortBy} ${this.#isUp}`, () => [
      plain("Peak"),
      !isInOrders && sortable("frequency", `Frequency (${scale.unit})`),
      isInOrders ? sortable("frequency", "Multiple of speed") : plain("Multiple of speed"),
      plain("Line"),
      sortable("amplitude", `Amplitude (${label} peak)`),
    ]);
    const rows = sortedPeaks(peaks, this.#sortBy, this.#isUp).map(({ frequencyHz, amplitude }) => [
      ...(isInOrders ? [] : [digits(frequencyHz)]),
      orderWords(frequencyHz, speedHz),
      nameOf(frequencyHz),
      number(amplitude),
    ]);
    replaceAnew(this.#body, JSON.stringify(rows), () =>
      rows.map((cells, i) =>
        h(
          "tr",
          null,
          h("th", { scope: "row" }, `${i + 1}`),
          ...cells.map((text) => h("td", null, text)),
        ),
      ),
    );
  }
}

function orderWords(hz: number, speedHz: number | null): string {
  if (speedHz === null) return "–";
  const order = hz / speedHz;
  const whole = Math.round(order);
  const isWhole = whole >= 1 && whole <= ORDER_MAX && Math.abs(order - whole) <= ORDER_TOLERANCE;
  return `${order.toFixed(2)}x${isWhole ? ` (harmonic ${whole})` : ""}`;
}
