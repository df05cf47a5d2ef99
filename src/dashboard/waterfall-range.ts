import { dayEndMs, dayStartMs } from "../core/time/time-zone.ts";
import { DAY_MS } from "../core/time-units.ts";
import { h } from "./dom.ts";
import { labelled } from "./spectrum-tools.ts";

const RANGES = [
  ["7", "last 7 days"],
  ["30", "last 30 days"],
  ["90", "last 90 days"],
  ["366", "last year"],
  ["all", "all that is kept"],
  ["dates", "between two days"],
] as const;

/** The choice of the time whose spectra are shown. */
export class WaterfallRange {
  readonly controls: readonly HTMLElement[];
  readonly #range: HTMLSelectElement;
  readonly #from: HTMLInputElement;
  readonly #to: HTMLInputElement;

  constructor(onChange: () => void) {
    const change = () => {
      dates.hidden = this.#range.value !== "dates";
      onChange();
    };
    this.#range = h(
      "select",
      { id: "waterfall-range", change },
      ...RANGES.map(([value, text]) => h("option", { value }, text)),
    );
    const day = (id: string) => h("input", { id, type: "date", change });
    this.#from = day("waterfall-from");
    this.#to = day("waterfall-to");
    const dates = h(
      "div",
      { class: "tools", hidden: true },
      labelled("From", this.#from),
      labelled("To", this.#to),
    );
    this.controls = [labelled("Range", this.#range), dates];
  }

  at(gatewayNowMs: number, zone: string): { readonly fromMs: number; readonly toMs: number } {
    // A little ahead: a sensor's clock may be fast.
    const nowMs = gatewayNowMs + DAY_MS;
    const { value } = this.#range;
    if (value === "dates") {
      const fromMs = this.#from.value === "" ? 0 : dayStartMs(this.#from.value, zone);
      const toMs = this.#to.value === "" ? nowMs : dayEndMs(this.#to.value, zone);
      return { fromMs: Math.min(fromMs, toMs), toMs };
    }
    if (value === "all") return { fromMs: 0, toMs: nowMs };
    return { fromMs: nowMs - (Number(value) + 1) * DAY_MS, toMs: nowMs };
  }
}
