/** The plots of a measurement: its waveform, and its spectrum with the highest lines, with another one behind it. */
import type { ShownMeasurement } from "../core/query/shown.ts";
import { Chart } from "./chart.ts";
import { chartTools } from "./chart-tools.ts";
import { h, replace } from "./dom.ts";
import { legend } from "./legend.ts";
import { PeakTable } from "./peak-table.ts";
import type { SpectrumSeries, WaveformSeries } from "./series.ts";
import type { SignalControls } from "./signal-controls.ts";
import { spectrumSpec, waveformSpec } from "./signal-specs.ts";
import type { CursorKind } from "./spectrum-cursor.ts";
import { type MarkerLine, turningRpm } from "./spectrum-markers.ts";
import type { Theme } from "./theme.ts";

export interface Marked {
  readonly markers: readonly MarkerLine[];
  readonly cursor: CursorKind;
  /** Position of the cursor; if omitted, it stays. */
  readonly heldHz?: number;
  readonly name: string;
  /** Of all parts of the machine, for the names of peaks. */
  readonly lines: readonly MarkerLine[];
  readonly other: {
    readonly spectrum: SpectrumSeries;
    readonly of: ShownMeasurement;
    readonly name: string;
  } | null;
}

export class SignalPlots {
  readonly wave: HTMLElement;
  readonly spectrum: HTMLElement;
  readonly #wave: Chart;
  readonly #spectrum: Chart;
  /** Which line is which measurement, where two are compared. */
  readonly #legend = h("ul", { class: "legend" });
  readonly #peaks = new PeakTable();

  constructor(theme: Theme) {
    const height = () => (innerWidth < 700 ? 220 : 260);
    this.#wave = new Chart(theme, height, null);
    this.#spectrum = new Chart(theme, () => height() + 40, null);
    this.spectrum = h(
      "div",
      null,
      h("h3", { class: "paper-only" }, "Spectrum"),
      chartTools(this.#spectrum, "spectrum"),
      this.#legend,
      this.#spectrum.root,
      this.#peaks.root,
    );
    this.wave = h(
      "div",
      null,
      h("h3", { class: "paper-only" }, "Waveform"),
      chartTools(this.#wave, "waveform"),
      this.#wave.root,
    );
  }

  get spectrumPlace(): HTMLElement {
    return this.#spectrum.root;
  }

  destroy(): void {
    this.#wave.destroy();
    this.#spectrum.destroy();
  }

  /** The whole spectrum, not a part of it. */
  showWhole(): void {
    this.#spectrum.reset();
  }

  show(
    wave: WaveformSeries,
    spectrum: SpectrumSeries,
    { frequencyIn, speedHz, isLog, orders }: SignalControls,
    { other, lines, ...marked }: Marked,
  ): void {
    this.#wave.show(waveformSpec(wave));
    const spec = spectrumSpec(spectrum, {
      frequencyIn,
      speedHz,
      isLog,
      orders,
      ...marked,
      other: other && {
        label: other.name,
        spectrum: other.spectrum,
        speedHz: hzOf(other.spectrum.shaft?.speedRpm ?? turningRpm(other.of)),
      },
    });
    this.#spectrum.show(spec);
    replace(this.#legend, ...(other === null ? [] : legend(spec.series)));
    this.#peaks.show(spectrum, frequencyIn, speedHz, lines, marked.markers);
  }
}

const hzOf = (rpm: number | null) => (rpm === null ? null : rpm / 60);
