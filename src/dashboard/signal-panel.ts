/** Waveform, spectrum and waterfall of a measurement, in one place: what is chosen is shown in all of them. */

import type { ShownMeasurement, ShownSensor } from "../core/query/shown.ts";
import { READ_UNITS, type ReadUnits, signalUnitAsRead } from "../core/read-units.ts";
import { messageOf } from "../core/thrown.ts";
import { SIGNAL_UNITS } from "../core/unit.ts";
import type { Api } from "./api.ts";
import { offerAxes } from "./axis-choice.ts";
import { Chart } from "./chart.ts";
import { chartTools } from "./chart-tools.ts";
import { Comparison } from "./comparison.ts";
import { type Cleanup, h, replace, setText } from "./dom.ts";
import { unitSign } from "./format.ts";
import { legend } from "./legend.ts";
import { measurementFacts } from "./measurement-facts.ts";
import { MeasurementPicker } from "./measurement-picker.ts";
import type { Model } from "./model.ts";
import { PeakTable } from "./peak-table.ts";
import { placeNow, remember } from "./place.ts";
import { type Asking, Refresh } from "./refresh.ts";
import type { SpectrumSeries, WaveformSeries } from "./series.ts";
import { spectrumSpec, waveformSpec } from "./signal-specs.ts";
import { turningRpm } from "./spectrum-markers.ts";
import { ENVELOPE_UNIT, labelled, SpectrumTools } from "./spectrum-tools.ts";
import { TabList } from "./tab-list.ts";
import type { Theme } from "./theme.ts";
import { unitsKept } from "./units-kept.ts";
import { Waterfall } from "./waterfall.ts";

const VELOCITY = 2;
const DISPLAYED = ["spectrum", "markers", "cursor", "against", "rpm"];
const SPEED_RPM_MAX = 200_000;
/** Choices for the width of the spectrum: where most machine faults are visible. */
const ORDERS = [5, 12, 50];
export class SignalPanel {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #wave: Chart;
  readonly #spectrum: Chart;
  readonly #picker: MeasurementPicker;
  readonly #comparison: Comparison;
  /** Controls and plots of a measurement; hidden while the one asked for is gone. */
  readonly #plots: HTMLElement;
  readonly #axis: HTMLSelectElement;
  readonly #unit: HTMLSelectElement;
  /** What no link needs to name. */
  readonly #usualUnit: number;
  readonly #frequency: HTMLSelectElement;
  readonly #scale: HTMLSelectElement;
  readonly #orders: HTMLSelectElement;
  readonly #speed: HTMLInputElement;
  readonly #note = h("p", { class: "hint" });
  /** Which line is which measurement, where two are compared. */
  readonly #legend = h("ul", { class: "legend" });
  #hasFailed = false;
  readonly #peaks = new PeakTable();
  readonly #tools: SpectrumTools;
  readonly #waterfall: Waterfall;
  readonly #tabs: TabList;
  /** The selection in the link, until it is shown. */
  #query = placeNow().query;
  #newestReading = "";
  /** Typed by a person: no measured speed replaces it. */
  #isSpeedTyped = false;
  #isInView = false;
  readonly #loads: Refresh;
  #shown: {
    readonly wave: WaveformSeries;
    readonly spectrum: SpectrumSeries;
    readonly other: { readonly spectrum: SpectrumSeries; readonly of: ShownMeasurement } | null;
  } | null = null;

  constructor(api: Api, model: Model, theme: Theme, sensor: ShownSensor) {
    this.#api = api;
    const height = () => (innerWidth < 700 ? 220 : 260);
    this.#wave = new Chart(theme, height, null);
    this.#spectrum = new Chart(theme, () => height() + 40, null);
    this.#loads = new Refresh(
      (asking) => this.#ask(asking),
      (error) => this.#failed("The measurement", error),
    );
    const load = () => this.#change();
    const redraw = () => this.#draw();
    this.#picker = new MeasurementPicker({
      api,
      model,
      code: sensor.code,
      onSelect: (byHand) => this.#selected(byHand),
      onFailure: (error) => this.#failed("The measurement", error),
    });
    this.#comparison = new Comparison(api, sensor.code, this.#picker, () => this.#load());
    this.#axis = h("select", { id: "signal-axis", change: load });
    this.#unit = h(
      "select",
      { id: "signal-unit", change: load },
      ...SIGNAL_UNITS.map((unit, i) => h("option", { value: i }, unitSign(signalUnitAsRead(unit)))),
    );
    const unit = this.#query.get("unit");
    const unitAt = SIGNAL_UNITS.findIndex((name) => name === unit);
    const { velocity, frequency } = unitsKept();
    const usual = velocity === "in/s" ? SIGNAL_UNITS.indexOf("in/s") : VELOCITY;
    this.#usualUnit = usual;
    this.#unit.value = String(unitAt >= 0 ? unitAt : usual);
    this.#frequency = choice("signal-frequency", READ_UNITS.frequency, () => {
      redraw();
      if (this.#tabs.key === "waterfall") this.#showWaterfall();
    });
    this.#frequency.value = frequency;
    this.#scale = choice("signal-scale", ["linear", "logarithmic"], redraw);
    this.#orders = h(
      "select",
      {
        id: "signal-orders",
        change: () => {
          this.#spectrum.reset();
          this.#draw();
        },
      },
      ...ORDERS.map((orders) => h("option", { value: orders }, `${orders}x speed`)),
      h("option", { value: "" }, "all lines"),
    );
    this.#orders.value = sensor.speedRpm === null ? "" : String(ORDERS[1]);
    this.#speed = h("input", {
      id: "signal-speed",
      type: "number",
      min: 0,
      max: SPEED_RPM_MAX,
      step: "any",
      inputmode: "decimal",
      value: sensor.speedRpm ?? "",
      input: () => {
        this.#isSpeedTyped = this.#speed.value !== "";
        this.#draw();
      },
    });
    const rpm = Number(this.#query.get("rpm"));
    if (rpm > 0 && rpm <= SPEED_RPM_MAX) {
      this.#speed.value = String(rpm);
      this.#isSpeedTyped = true;
    }
    if (this.#query.has("hz")) this.#orders.value = "";
    this.#tools = new SpectrumTools(api, sensor, load, redraw);
    this.#waterfall = new Waterfall(api, model, theme, sensor.code, (one) => void this.#open(one));
    const spectrumPlot = h(
      "div",
      null,
      h("h3", { class: "paper-only" }, "Spectrum"),
      chartTools(this.#spectrum, "spectrum"),
      this.#legend,
      this.#spectrum.root,
      this.#peaks.root,
    );
    const wavePlot = h(
      "div",
      null,
      h("h3", { class: "paper-only" }, "Waveform"),
      chartTools(this.#wave, "waveform"),
      this.#wave.root,
    );
    this.#tabs = new TabList(
      "Shown as",
      [
        { key: "waveform", text: "Waveform", panel: wavePlot },
        { key: "spectrum", text: "Spectrum", panel: spectrumPlot },
        { key: "waterfall", text: "Waterfall", panel: h("div", null, this.#waterfall.root) },
      ],
      placeNow().query.get("tab") ?? "spectrum",
      (key) => {
        remember({ tab: key === "spectrum" ? null : key });
        this.#showTab();
      },
    );
    this.#plots = h(
      "div",
      null,
      this.#tabs.root,
      wavePlot,
      spectrumPlot,
      this.#waterfall.root.parentElement,
    );
    this.root = h(
      "section",
      { class: "panel signal", "aria-labelledby": "signal-title" },
      h(
        "div",
        { class: "panel-head" },
        h("h2", { id: "signal-title" }, "Waveform and spectrum"),
        this.#note,
      ),
      h(
        "div",
        { class: "signal-row" },
        this.#picker.select,
        labelled("Axis", this.#axis, "field axis"),
        labelled("Unit", this.#unit),
        h("div", { class: "tools" }, ...this.#picker.controls),
      ),
      h(
        "details",
        // A link that names one of them shows how it is set.
        { class: "display", open: DISPLAYED.some((name) => placeNow().query.has(name)) },
        h("summary", null, "Display"),
        h(
          "div",
          { class: "controls" },
          labelled("Frequency in", this.#frequency),
          labelled("Spectrum up to", this.#orders, "field orders"),
          labelled("Amplitude", this.#scale),
          labelled("Speed (rpm)", this.#speed),
          ...this.#tools.controls,
          this.#comparison.control,
        ),
      ),
      this.#picker.gone,
      this.#plots,
    );
    this.#newestReading = sensor.latest.accel?.id ?? "";
    void this.#begin();
  }

  readonly stop: Cleanup = () => {
    this.#loads.stop();
    this.#tools.stop();
    this.#picker.stop();
    this.#comparison.stop();
    this.#wave.destroy();
    this.#spectrum.destroy();
    this.#waterfall.stop();
  };

  /** A new measurement is offered; a page that shows the newest one follows it. */
  follow(sensor: ShownSensor): void {
    const newest = sensor.latest.accel;
    if (newest === undefined || newest.waveforms.length === 0) return;
    if (newest.id !== this.#newestReading) void this.#picker.refresh();
    this.#newestReading = newest.id;
  }

  /** The agent responds again. */
  retry(): void {
    this.#tools.retry();
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    void this.#begin();
  }

  #failed(what: string, error: unknown): void {
    this.#hasFailed = true;
    setText(this.#note, `${what} could not be read: ${messageOf(error)}`);
  }

  async #begin(): Promise<void> {
    const requested = this.#query.get("reading");
    if (requested === null) await this.#picker.refresh();
    else {
      const at = Number(this.#query.get("at"));
      await this.#picker.open(requested, at > 0 ? at : null);
    }
    this.#comparison.offer();
    if (requested === null || this.#isInView) return;
    // A link to a measurement refers to its spectrum, which lies below the trend.
    this.#isInView = true;
    this.#tabs.choose("spectrum");
    const place = this.#picker.selected === null ? this.#picker.gone : this.#spectrum.root;
    place.scrollIntoView({ block: "center" });
  }

  async #open(one: Pick<ShownMeasurement, "reading" | "timeMs">): Promise<void> {
    await this.#picker.choose(one);
    this.#tabs.choose("spectrum");
    this.root.scrollIntoView({ block: "start" });
    this.root.querySelector<HTMLElement>("#signal-time")?.focus();
  }

  #selected(byHand: boolean): void {
    const one = this.#picker.selected;
    this.#plots.hidden = one === null;
    if (one === null) {
      setText(
        this.#note,
        this.#picker.items.length > 0
          ? ""
          : "No waveforms are stored for this sensor. All are kept for WAVEFORM_DAYS, some for years.",
      );
      return;
    }
    const rpm = turningRpm(one);
    if (!this.#isSpeedTyped && rpm !== null && rpm > 0)
      this.#speed.value = String(Math.round(rpm * 10) / 10);
    if (byHand) this.#change();
    else this.#load();
  }

  /** A selection by a person: it is shown, and written into the link. */
  #change(): void {
    const { isNewest, selected } = this.#picker;
    remember({
      reading: isNewest ? null : (selected?.reading ?? null),
      at: isNewest || selected === null ? null : String(selected.timeMs),
      axis: this.#axis.selectedIndex <= 0 ? null : this.#axis.value,
      unit:
        Number(this.#unit.value) === this.#usualUnit
          ? null
          : (SIGNAL_UNITS[Number(this.#unit.value)] ?? null),
      hz: null,
    });
    this.#query = new URLSearchParams();
    // At once: keys that follow must meet the rows of this selection.
    if (this.#tabs.key === "waterfall") this.#showWaterfall();
    this.#load();
  }

  /** A plot is drawn at its width, which it has once it is seen. */
  #showTab(): void {
    if (this.#tabs.key === "waterfall") return this.#showWaterfall();
    this.#waterfall.hide();
  }

  #showWaterfall(): void {
    const { speedHz } = this.#speedNow();
    const orders = Number(this.#orders.value);
    this.#waterfall.show({
      unit: this.#tools.isEnvelope ? ENVELOPE_UNIT : Number(this.#unit.value),
      channel: Number(this.#axis.value),
      orders: orders > 0 ? orders : null,
      frequencyIn: this.#frequencyNow,
      speedHz,
      selected: this.#picker.selected,
      lines: (speed) => this.#tools.allLines(speed),
    });
  }

  #load(): void {
    this.#loads.choose();
  }

  async #ask(asking: Asking): Promise<() => void> {
    const nothing = () => {};
    const measurement = this.#picker.selected;
    if (measurement === null) return nothing;
    const channel = offerAxes(this.#axis, measurement, this.#query.get("axis"));
    if (channel === undefined) return nothing;
    const unit = Number(this.#unit.value);
    const spectrumUnit = this.#tools.isEnvelope ? ENVELOPE_UNIT : unit;
    const compared = this.#comparison.other;
    const beside = compared?.channels.find((one) => one.channel === channel.channel);
    const [wave, spectrum, other] = await Promise.all([
      this.#api.waveform(channel.fileId, unit, asking),
      this.#api.spectrum(channel.fileId, spectrumUnit, asking),
      beside === undefined ? null : this.#api.spectrum(beside.fileId, spectrumUnit, asking),
    ]);
    return () => {
      this.#shown = {
        wave,
        spectrum,
        other: other === null || compared === null ? null : { spectrum: other, of: compared },
      };
      // A belt's shaft shows its speed in the spectrum alone.
      if (!this.#isSpeedTyped && spectrum.shaft !== undefined)
        this.#speed.value = String(Math.round(spectrum.shaft.speedRpm * 10) / 10);
      const hz = Number(this.#query.get("hz"));
      this.#draw(hz > 0 ? hz : undefined);
      // A link may have opened it before the axes were known.
      if (this.#tabs.key === "waterfall" && this.#waterfall.root.hidden) this.#showWaterfall();
    };
  }

  get #frequencyNow(): ReadUnits["frequency"] {
    return READ_UNITS.frequency.find((unit) => unit === this.#frequency.value) ?? "Hz";
  }

  #nameOf(measurement: ShownMeasurement | null): string {
    return measurement === null ? "" : this.#picker.nameOf(measurement);
  }

  #speedNow(): { readonly speedHz: number | null } {
    const rpm = Number(this.#speed.value);
    return { speedHz: Number.isFinite(rpm) && rpm > 0 ? rpm / 60 : null };
  }

  /** @param heldHz position of the cursor; if omitted, it stays */
  #draw(heldHz?: number): void {
    if (this.#shown === null) return;
    const { wave, spectrum, other } = this.#shown;
    const frequencyIn = this.#frequencyNow;
    const { speedHz } = this.#speedNow();
    this.#wave.show(waveformSpec(wave));
    const spec = spectrumSpec(spectrum, {
      frequencyIn,
      speedHz,
      isLog: this.#scale.value === "logarithmic",
      orders: this.#orders.value === "" ? null : Number(this.#orders.value),
      markers: this.#tools.markers(speedHz),
      cursor: this.#tools.cursor,
      ...(heldHz !== undefined && { heldHz }),
      name: this.#nameOf(this.#picker.selected),
      other: other && {
        label: this.#nameOf(other.of),
        spectrum: other.spectrum,
        speedHz: hzOf(other.spectrum.shaft?.speedRpm ?? turningRpm(other.of)),
      },
    });
    this.#spectrum.show(spec);
    replace(this.#legend, ...(other === null ? [] : legend(spec.series)));
    this.#peaks.show(spectrum, frequencyIn, speedHz, this.#tools.allLines(speedHz));
    const { selected } = this.#picker;
    setText(this.#note, measurementFacts(wave, spectrum, this.#nameOf(selected), selected));
  }
}

function choice(id: string, names: readonly string[], change: () => void): HTMLSelectElement {
  return h("select", { id, change }, ...names.map((name) => h("option", { value: name }, name)));
}

const hzOf = (rpm: number | null) => (rpm === null ? null : rpm / 60);
