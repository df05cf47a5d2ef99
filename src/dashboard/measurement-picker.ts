/** Which measurement is shown: the newest, one of any date, or the one of a link, with its neighbours. */

import type { MeasurementAround, ShownMeasurement } from "../core/query/shown.ts";
import { dayEndMs, dayOf, dayStartMs } from "../core/time/time-zone.ts";
import type { Api } from "./api.ts";
import { dayPicker } from "./day-picker.ts";
import { h, keptOptions, setText } from "./dom.ts";
import { MEASUREMENT_ACTIONS } from "./features.ts";
import { showGone } from "./gone-notice.ts";
import type { Model } from "./model.ts";
import { type Asking, Refresh } from "./refresh.ts";
import type { MeasurementAction } from "./section.ts";
import { turningWords } from "./spectrum-markers.ts";
import { labelled } from "./spectrum-tools.ts";

const PAGE = 100;

interface Page {
  readonly items: readonly ShownMeasurement[];
  readonly next: string | null;
  readonly hasNewest: boolean;
}

export interface PickerParts {
  readonly api: Api;
  readonly model: Model;
  readonly code: string;
  /** Another one is selected; `byHand` by a person. */
  readonly onSelect: (byHand: boolean) => void;
  readonly onFailure: (error: unknown) => void;
}

export class MeasurementPicker {
  readonly select: HTMLElement;
  readonly controls: readonly HTMLElement[];
  /** Says that a measurement is gone, and offers its neighbours. */
  readonly gone = h("div", { class: "notice", role: "status", hidden: true });
  readonly #parts: PickerParts;
  readonly #select: HTMLSelectElement;
  readonly #offer: ReturnType<typeof keptOptions>;
  readonly #older: HTMLButtonElement;
  readonly #newer: HTMLButtonElement;
  readonly #actions: readonly MeasurementAction[];
  /** A stretch without a gap, newest first. */
  #items: readonly ShownMeasurement[] = [];
  /** Cursor of what follows it. */
  #next: string | null = null;
  readonly #choices: Refresh;
  #wanted: (asking: Asking) => Promise<() => void> = () => Promise.resolve(() => {});
  /** The stretch begins with the newest measurement. */
  #hasNewest = true;

  constructor(parts: PickerParts) {
    this.#parts = parts;
    this.#select = h("select", { id: "signal-time", change: () => this.#selected(true) });
    this.#offer = keptOptions(this.#select);
    this.#older = h("button", { type: "button", click: () => void this.#step(1) }, "‹ Older");
    this.#newer = h("button", { type: "button", click: () => void this.#step(-1) }, "Newer ›");
    const nameOf = (one: ShownMeasurement) => this.nameOf(one);
    const onChange = (changed: ShownMeasurement) => this.#replace(changed);
    this.#actions = MEASUREMENT_ACTIONS.map((create) =>
      create(parts.api, parts.code, nameOf, onChange),
    );
    this.#choices = new Refresh(
      (asking) => this.#wanted(asking),
      (error) => parts.onFailure(error),
    );
    this.select = labelled("Measurement", this.#select, "field measured");
    this.controls = [
      h(
        "div",
        { class: "tools" },
        this.#older,
        this.#newer,
        this.dayPicker("Date…", (day) => void this.#toDay(day)),
      ),
      ...this.#actions.map(({ root }) => root),
    ];
  }

  /** Null while nothing is selected, as with a link to one that is gone. */
  get selected(): ShownMeasurement | null {
    return this.#items.find(({ reading }) => reading === this.#select.value) ?? null;
  }
  get items(): readonly ShownMeasurement[] {
    return this.#items;
  }
  get isNewest(): boolean {
    return this.#hasNewest && this.selected === (this.#items[0] ?? null);
  }

  dayPicker(label: string, pick: (day: string) => void): HTMLElement {
    const { api, code, model } = this.#parts;
    return dayPicker({
      label,
      pick,
      today: () => dayOf(model.gatewayNowMs(), model.times.zone),
      shown: () => {
        const { selected } = this;
        return selected === null ? null : dayOf(selected.timeMs, model.times.zone);
      },
      days: (from, to, asking) =>
        api.measurementDays(
          code,
          dayStartMs(from, model.times.zone),
          dayStartMs(to, model.times.zone),
          asking,
        ),
    });
  }

  /** The nearest measurement at or before the end of a day; null if there is none. */
  async ofDay(day: string, asking: Asking): Promise<ShownMeasurement | null> {
    const { api, code, model } = this.#parts;
    const toMs = dayEndMs(day, model.times.zone);
    return (await api.measurements(code, { limit: 1, toMs }, asking)).measurements[0] ?? null;
  }

  /** Loads the newest ones; while another one is shown, that one stays. */
  refresh(): Promise<void> {
    if (this.#items.length > 0 && !this.isNewest) return Promise.resolve();
    return this.#choose(async (asking) => {
      const page = await this.#page(asking);
      return () => {
        // Somebody may have chosen another one meanwhile.
        this.#take(page);
        this.#show(page.items[0]?.reading ?? null);
      };
    });
  }

  /** The one of a link. @param atMs its time, if the link says it */
  open(reading: string, atMs: number | null): Promise<void> {
    const { api, code } = this.#parts;
    return this.#choose(async (asking) => {
      const around = await api.measurement(code, reading, atMs, asking);
      const found = around?.measurement ?? null;
      if (found !== null) return this.#at(found, false, asking);
      const page = await this.#page(asking);
      return () => {
        this.#take(page);
        this.#show(null);
        this.#showGone(around, atMs);
      };
    });
  }

  /** One of a list elsewhere on the page. */
  choose(one: Pick<ShownMeasurement, "reading" | "timeMs">): Promise<void> {
    return this.#choose((asking) => this.#at(one, true, asking));
  }

  readonly stop = (): void => this.#choices.stop();

  #toDay(day: string): Promise<void> {
    return this.#choose(async (asking) => {
      const found = await this.ofDay(day, asking);
      if (found !== null) return this.#at(found, true, asking);
      const { api, code, model } = this.#parts;
      const around = await api.measurement(code, NONE, dayEndMs(day, model.times.zone), asking);
      return () => {
        this.#show(null, true);
        this.#showGone(around, null);
      };
    });
  }

  /** What shows one, in a stretch that holds it. */
  async #at(
    one: Pick<ShownMeasurement, "reading" | "timeMs">,
    byHand: boolean,
    asking: Asking,
  ): Promise<() => void> {
    const isIn = (items: readonly ShownMeasurement[]) =>
      items.some(({ reading }) => reading === one.reading);
    let page: Page | null = null;
    if (!isIn(this.#items)) {
      page = await this.#page(asking);
      if (!isIn(page.items)) page = await this.#page(asking, one.timeMs + 1);
    }
    return () => {
      if (page !== null) this.#take(page);
      this.#show(one.reading, byHand);
    };
  }

  async #page(asking: Asking, toMs?: number): Promise<Page> {
    const { api, code } = this.#parts;
    const query = { limit: PAGE, ...(toMs !== undefined && { toMs }) };
    const page = await api.measurements(code, query, asking);
    return { items: page.measurements, next: page.next, hasNewest: toMs === undefined };
  }

  #take({ items, next, hasNewest }: Page): void {
    this.#items = items;
    this.#next = next;
    this.#hasNewest = hasNewest;
  }

  /** @param by 1 to the next older one */
  #step(by: number): Promise<void> {
    return this.#choose(async (asking) => {
      const { api, code } = this.#parts;
      const items = this.#items;
      const at = items.findIndex(({ reading }) => reading === this.#select.value) + by;
      const next = this.#next;
      if (at === items.length && next !== null) {
        const page = await api.measurements(code, { limit: PAGE, cursor: next }, asking);
        const more = [...items, ...page.measurements];
        return () => {
          this.#take({ items: more, next: page.next, hasNewest: this.#hasNewest });
          const one = more[at];
          if (one !== undefined) this.#show(one.reading, true);
        };
      }
      const first = items[0];
      if (at < 0 && first !== undefined) {
        const around = await api.measurement(code, first.reading, null, asking);
        if (around?.newer) return this.#at(around.newer, true, asking);
      }
      return () => {
        const one = items[at];
        if (one !== undefined) this.#show(one.reading, true);
      };
    });
  }

  /** One choice after another: the answer to one that was left is not shown. */
  #choose(wanted: (asking: Asking) => Promise<() => void>): Promise<void> {
    return new Promise((resolve) => {
      this.#wanted = async (asking) => {
        asking.addEventListener("abort", () => resolve(), { once: true });
        try {
          const show = await wanted(asking);
          return () => {
            show();
            resolve();
          };
        } catch (error) {
          resolve();
          throw error;
        }
      };
      this.#choices.choose();
    });
  }

  /** @param reading null: none */
  #show(reading: string | null, byHand = false): void {
    this.#offer([
      ...(reading === null ? [["", "not stored any more"] as const] : []),
      ...this.#items.map((one) => [one.reading, this.nameOf(one)] as const),
    ]);
    this.#select.value = reading ?? "";
    this.#selected(byHand);
  }

  #selected(byHand: boolean): void {
    const one = this.selected;
    this.gone.hidden = true;
    const at = one === null ? -1 : this.#items.indexOf(one);
    this.#newer.disabled = one === null || (at === 0 && this.#hasNewest);
    this.#older.disabled = one === null || (at === this.#items.length - 1 && this.#next === null);
    for (const action of this.#actions) action.show(one);
    this.#parts.onSelect(byHand);
  }

  #replace(changed: ShownMeasurement): void {
    this.#items = this.#items.map((one) => (one.reading === changed.reading ? changed : one));
    const option = [...this.#select.options].find(({ value }) => value === changed.reading);
    if (option !== undefined) setText(option, this.nameOf(changed));
  }

  #showGone(around: MeasurementAround | null, atMs: number | null): void {
    showGone(this.gone, {
      around,
      atMs,
      items: this.#items,
      times: this.#parts.model.times,
      choose: (one) => void this.choose(one),
    });
  }

  /** With the reasons why it is kept, and whether the machine stood. */
  nameOf(measurement: ShownMeasurement): string {
    const { timeMs, running, kept } = measurement;
    const why = kept.map((one) => one.why).filter((word) => word !== "ladder");
    return [
      this.#parts.model.times.full(timeMs),
      turningWords(measurement),
      running === false ? "standing" : "",
      ...new Set(why.map((word) => (word === "pin" ? "pinned" : word))),
    ]
      .filter((part) => part !== "")
      .join(" · ");
  }
}

/** No measurement has it. */
const NONE = "0".repeat(32);
