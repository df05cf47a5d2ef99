/** The measurement that is drawn over the current one: a pinned reference, one of the list, or one of any date. */
import type { ShownMeasurement } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import { h, replace } from "./dom.ts";
import type { MeasurementPicker } from "./measurement-picker.ts";
import { placeNow, remember } from "./place.ts";
import { labelled } from "./spectrum-tools.ts";

const PINS_SHOWN = 500;

export class Comparison {
  readonly control: HTMLElement;
  readonly #api: Api;
  readonly #code: string;
  readonly #picker: MeasurementPicker;
  readonly #select: HTMLSelectElement;
  readonly #load: () => void;
  #pinned: readonly ShownMeasurement[] = [];
  /** Chosen, also if it is in no list. */
  #chosen: ShownMeasurement | null = null;
  /** Of the link, until it is known. */
  #wanted = placeNow().query.get("against");

  /** `load` requests again. */
  constructor(api: Api, code: string, picker: MeasurementPicker, load: () => void) {
    this.#api = api;
    this.#code = code;
    this.#picker = picker;
    this.#load = load;
    this.#select = h("select", {
      id: "signal-against",
      change: () => {
        const { value } = this.#select;
        const known = [...this.#pinned, ...picker.items];
        this.#choose(known.find(({ reading }) => reading === value) ?? null);
      },
    });
    this.control = h(
      "div",
      { class: "field wide" },
      labelled("Compare with", this.#select, "bare"),
      picker.dayPicker("Compare with a date…", (day) => void this.#ofDay(day)),
    );
  }

  get other(): ShownMeasurement | null {
    return this.#chosen;
  }

  /** The lists have changed. */
  async offer(): Promise<void> {
    this.#show();
    try {
      const page = await this.#api.measurements(this.#code, { kept: true, limit: PINS_SHOWN });
      this.#pinned = page.measurements.filter(({ kept }) => kept.some(({ why }) => why === "pin"));
      if (this.#wanted !== null) {
        const around = await this.#api.measurement(this.#code, this.#wanted, null);
        this.#wanted = null;
        this.#chosen = around?.measurement ?? null;
        if (this.#chosen !== null) this.#load();
      }
    } catch {
      // Without them, the list of measurements can be compared.
    }
    this.#show();
  }

  async #ofDay(day: string): Promise<void> {
    const found = await this.#picker.ofDay(day).catch(() => null);
    if (found !== null) this.#choose(found);
  }

  #choose(one: ShownMeasurement | null): void {
    this.#wanted = null;
    this.#chosen = one;
    remember({ against: one?.reading ?? null });
    this.#show();
    this.#load();
  }

  #show(): void {
    const option = (one: ShownMeasurement) =>
      h("option", { value: one.reading }, this.#picker.nameOf(one));
    const known = [...this.#pinned, ...this.#picker.items];
    const chosen = this.#chosen;
    const isListed = known.some(({ reading }) => reading === chosen?.reading);
    const others = this.#picker.items.filter(
      ({ reading }) => !this.#pinned.some((pin) => pin.reading === reading),
    );
    replace(
      this.#select,
      h("option", { value: "" }, "nothing"),
      chosen !== null && !isListed && option(chosen),
      this.#pinned.length > 0 && h("optgroup", { label: "Pinned" }, ...this.#pinned.map(option)),
      ...others.map(option),
    );
    this.#select.value = chosen?.reading ?? "";
  }
}
