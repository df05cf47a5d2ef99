/** The measurement that is drawn over the current one: a pinned reference, one of the list, or one of any date. */
import type { ShownMeasurement } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import { h, replace } from "./dom.ts";
import type { MeasurementPicker } from "./measurement-picker.ts";
import { placeNow, remember } from "./place.ts";
import { type Asking, Refresh } from "./refresh.ts";
import { labelled } from "./spectrum-tools.ts";

const PINS_SHOWN = 500;

export class Comparison {
  readonly control: HTMLElement;
  readonly #api: Api;
  readonly #code: string;
  readonly #picker: MeasurementPicker;
  readonly #select: HTMLSelectElement;
  readonly #load: () => void;
  readonly #lists: Refresh;
  readonly #dates: Refresh;
  #day = "";
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
    this.#lists = new Refresh(
      (asking) => this.#ask(asking),
      // Without them, the list of measurements can be compared.
      () => {},
    );
    this.#dates = new Refresh(
      async (asking) => {
        const found = await picker.ofDay(this.#day, asking);
        return () => {
          if (found !== null) this.#choose(found);
        };
      },
      () => {},
    );
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
      { class: "field measured" },
      labelled("Compare with", this.#select, "bare"),
      picker.dayPicker("Compare with a date…", (day) => {
        this.#day = day;
        this.#dates.choose();
      }),
    );
  }

  get other(): ShownMeasurement | null {
    return this.#chosen;
  }

  /** The lists have changed. */
  offer(): void {
    this.#show();
    this.#lists.choose();
  }

  stop(): void {
    this.#lists.stop();
    this.#dates.stop();
  }

  async #ask(asking: Asking): Promise<() => void> {
    const wanted = this.#wanted;
    const [page, around] = await Promise.all([
      this.#api.measurements(this.#code, { kept: true, limit: PINS_SHOWN }, asking),
      wanted === null ? null : this.#api.measurement(this.#code, wanted, null, asking),
    ]);
    return () => {
      this.#pinned = page.measurements.filter(({ kept }) => kept.some(({ why }) => why === "pin"));
      // Somebody may have chosen another one meanwhile.
      if (wanted !== null && wanted === this.#wanted) {
        this.#wanted = null;
        this.#chosen = around?.measurement ?? null;
        if (this.#chosen !== null) this.#load();
      }
      this.#show();
    };
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
