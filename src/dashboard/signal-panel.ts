/** Waveform, spectrum and waterfall of a measurement, in one place: what is chosen is shown in all of them. */

import type { ShownMeasurement, ShownSensor } from "../core/query/shown.ts";
import { messageOf } from "../core/thrown.ts";
import type { Api } from "./api.ts";
import { offerAxes } from "./axis-choice.ts";
import { Comparison } from "./comparison.ts";
import { type Cleanup, h, setText } from "./dom.ts";
import { measurementFacts } from "./measurement-facts.ts";
import { MeasurementPicker } from "./measurement-picker.ts";
import type { Model } from "./model.ts";
import { placeNow, remember } from "./place.ts";
import { type Asking, Refresh } from "./refresh.ts";
import type { SpectrumSeries, WaveformSeries } from "./series.ts";
import { SignalControls } from "./signal-controls.ts";
import { SignalPlots } from "./signal-plots.ts";
import { turningRpm } from "./spectrum-markers.ts";
import { ENVELOPE_UNIT, SpectrumTools } from "./spectrum-tools.ts";
import { TabList } from "./tab-list.ts";
import type { Theme } from "./theme.ts";
import { Waterfall } from "./waterfall.ts";

const DISPLAYED = ["spectrum", "markers", "cursor", "against", "rpm"];

export class SignalPanel {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #plots: SignalPlots;
  readonly #picker: MeasurementPicker;
  readonly #comparison: Comparison;
  /** Controls and plots of a measurement; hidden while the one asked for is gone. */
  readonly #shownPlace: HTMLElement;
  readonly #controls: SignalControls;
  readonly #note = h("p", { class: "hint" });
  #hasFailed = false;
  readonly #tools: SpectrumTools;
  readonly #waterfall: Waterfall;
  readonly #tabs: TabList;
  /** The selection in the link, until it is shown. */
  #query = placeNow().query;
  #newestReading = "";
  #isInView = false;
  readonly #loads: Refresh;
  #shown: {
    readonly wave: WaveformSeries;
    readonly spectrum: SpectrumSeries;
    readonly other: { readonly spectrum: SpectrumSeries; readonly of: ShownMeasurement } | null;
  } | null = null;

  constructor(api: Api, model: Model, theme: Theme, sensor: ShownSensor) {
    this.#api = api;
    this.#plots = new SignalPlots(theme);
    this.#loads = new Refresh(
      (asking) => this.#ask(asking),
      (error) => this.#failed("The measurement", error),
    );
    this.#picker = new MeasurementPicker({
      api,
      model,
      code: sensor.code,
      onSelect: (byHand) => this.#selected(byHand),
      onFailure: (error) => this.#failed("The measurement", error),
    });
    this.#comparison = new Comparison(api, sensor.code, this.#picker, () => this.#load());
    this.#controls = new SignalControls(sensor, this.#query, {
      changed: () => this.#change(),
      redraw: () => this.#draw(),
      frequencyChanged: () => {
        this.#draw();
        if (this.#tabs.key === "waterfall") this.#showWaterfall();
      },
      widthChanged: () => {
        this.#plots.showWhole();
        this.#draw();
      },
    });
    this.#tools = new SpectrumTools(
      { api, model, sensor },
      () => this.#change(),
      () => this.#draw(),
    );
    this.#waterfall = new Waterfall(api, model, theme, sensor.code, (one) => void this.#open(one));
    this.#tabs = new TabList(
      "Shown as",
      [
        { key: "waveform", text: "Waveform", panel: this.#plots.wave },
        { key: "spectrum", text: "Spectrum", panel: this.#plots.spectrum },
        { key: "waterfall", text: "Waterfall", panel: h("div", null, this.#waterfall.root) },
      ],
      placeNow().query.get("tab") ?? "spectrum",
      (key) => {
        remember({ tab: key === "spectrum" ? null : key });
        this.#showTab();
      },
    );
    this.#shownPlace = h(
      "div",
      null,
      this.#tabs.root,
      this.#plots.wave,
      this.#plots.spectrum,
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
        ...this.#controls.row,
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
          ...this.#controls.display,
          ...this.#tools.controls,
          this.#comparison.control,
        ),
      ),
      this.#picker.gone,
      this.#shownPlace,
    );
    this.#newestReading = sensor.latest.accel?.id ?? "";
    void this.#begin();
  }

  readonly stop: Cleanup = () => {
    this.#loads.stop();
    this.#tools.stop();
    this.#picker.stop();
    this.#comparison.stop();
    this.#plots.destroy();
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
    const place = this.#picker.selected === null ? this.#picker.gone : this.#plots.spectrumPlace;
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
    this.#shownPlace.hidden = one === null;
    if (one === null) {
      setText(
        this.#note,
        this.#picker.items.length > 0
          ? ""
          : "No waveforms are stored for this sensor. All are kept for WAVEFORM_DAYS, some for years.",
      );
      return;
    }
    this.#controls.takeSpeed(turningRpm(one));
    if (byHand) this.#change();
    else this.#load();
  }

  /** A selection by a person: it is shown, and written into the link. */
  #change(): void {
    const { isNewest, selected } = this.#picker;
    remember({
      reading: isNewest ? null : (selected?.reading ?? null),
      at: isNewest || selected === null ? null : String(selected.timeMs),
      ...this.#controls.linked,
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
    const { unit, channel, orders, frequencyIn, speedHz } = this.#controls;
    this.#waterfall.show({
      unit: this.#tools.isEnvelope ? ENVELOPE_UNIT : unit,
      channel,
      orders,
      frequencyIn,
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
    const channel = offerAxes(this.#controls.axis, measurement, this.#query.get("axis"));
    if (channel === undefined) return nothing;
    const { unit } = this.#controls;
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
      if (spectrum.shaft !== undefined) this.#controls.takeSpeed(spectrum.shaft.speedRpm);
      const hz = Number(this.#query.get("hz"));
      this.#draw(hz > 0 ? hz : undefined);
      // A link may have opened it before the axes were known.
      if (this.#tabs.key === "waterfall" && this.#waterfall.root.hidden) this.#showWaterfall();
    };
  }

  #nameOf(measurement: ShownMeasurement | null): string {
    return measurement === null ? "" : this.#picker.nameOf(measurement);
  }

  /** @param heldHz position of the cursor; if omitted, it stays */
  #draw(heldHz?: number): void {
    if (this.#shown === null) return;
    const { wave, spectrum, other } = this.#shown;
    const { speedHz } = this.#controls;
    this.#plots.show(wave, spectrum, this.#controls, {
      markers: this.#tools.markers(speedHz),
      cursor: this.#tools.cursor,
      ...(heldHz !== undefined && { heldHz }),
      name: this.#nameOf(this.#picker.selected),
      lines: this.#tools.allLines(speedHz),
      other: other && { ...other, name: this.#nameOf(other.of) },
    });
    const { selected } = this.#picker;
    setText(this.#note, measurementFacts(wave, spectrum, this.#nameOf(selected), selected));
  }
}
