/** Everything in a sensor's newest readings, with the quality of each value in words. */
import { grouped } from "../core/grouped.ts";
import type { ShownReading, ShownSensor } from "../core/query/shown.ts";
import { h, replace } from "./dom.ts";
import { doubtLines } from "./doubt-lines.ts";
import { unitSign } from "./format.ts";
import { type ShownValue, valuesOf } from "./headline.ts";
import { isLive } from "./machine-now.ts";
import { timeNode } from "./marks.ts";
import { flagsOf } from "./merge-sensor.ts";
import type { Model } from "./model.ts";
import { valueNode } from "./value-node.ts";
import { flagWords, KIND_WORDS, QUANTITY_ORDER, valueWords } from "./words.ts";

export class LatestValues {
  readonly root: HTMLElement;
  readonly #place = h("div", { class: "latest" });
  readonly #model: Model;
  #shown = "";

  constructor(model: Model) {
    this.#model = model;
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": "latest-title" },
      h("div", { class: "panel-head" }, h("h2", { id: "latest-title" }, "Latest values")),
      this.#place,
    );
  }

  show(sensor: ShownSensor): void {
    // Names and units are of the reading and of the site file as it is now.
    const readings = sensor.kinds.map((kind) => {
      const reading = sensor.latest[kind];
      return [reading?.seq, reading?.units];
    });
    const isNow = isLive(this.#model, sensor);
    const key = JSON.stringify([readings, sensor.kinds, sensor.channels, isNow]);
    if (key === this.#shown && this.#place.hasChildNodes()) return;
    this.#shown = key;
    const blocks = sensor.kinds.map((kind) => {
      const reading = sensor.latest[kind];
      return reading === undefined
        ? h("p", { class: "hint" }, `${KIND_WORDS[kind]}: no reading yet.`)
        : this.#block(sensor, reading);
    });
    replace(this.#place, ...blocks);
  }

  #block(sensor: ShownSensor, reading: ShownReading): HTMLElement {
    const values = valuesOf(sensor, reading);
    const channels = [...new Set(values.map(({ label }) => label).filter((label) => label !== ""))];
    const rows = grouped(values, ({ name }) => valueWords(sensor, reading.kind, name).quantity);
    const order = [...rows.keys()].sort(
      (a, b) => QUANTITY_ORDER.indexOf(a) - QUANTITY_ORDER.indexOf(b),
    );
    const isSingle = (quantity: string) =>
      rows.get(quantity)?.every(({ label }) => label === "") === true;
    return h(
      "div",
      { class: isLive(this.#model, sensor) ? "kind" : "kind not-live" },
      h(
        "h3",
        null,
        KIND_WORDS[reading.kind],
        h("span", { class: "sub" }, " at ", timeNode(this.#model, reading.timeMs)),
      ),
      h(
        "div",
        {
          class: "scroll",
          tabindex: 0,
          role: "group",
          "aria-label": `${KIND_WORDS[reading.kind]}, values`,
        },
        channels.length > 0 &&
          h(
            "table",
            { class: "plain values" },
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                h("td", null),
                ...channels.map((label) => h("th", { scope: "col" }, label)),
              ),
            ),
            h(
              "tbody",
              null,
              ...order
                .filter((quantity) => !isSingle(quantity))
                .map((quantity) => valueRow(sensor, reading, rows.get(quantity) ?? [], channels)),
            ),
          ),
      ),
      h(
        "dl",
        { class: "facts" },
        ...order
          .filter(isSingle)
          .flatMap((quantity) => rows.get(quantity) ?? [])
          .map((value) =>
            h(
              "div",
              null,
              h("dt", null, valueWords(sensor, reading.kind, value.name).quantityLabel),
              h("dd", null, valueNode(value, false)),
            ),
          ),
      ),
      doubts(sensor, reading),
    );
  }
}

function valueRow(
  sensor: ShownSensor,
  reading: ShownReading,
  values: readonly ShownValue[],
  channels: readonly string[],
): HTMLElement {
  const [first] = values;
  // A unit common to the whole row is shown once, so that the figures fit on a small screen.
  const units = new Set(values.map(({ unit }) => unit));
  const sign = units.size === 1 ? unitSign(first?.unit) : "";
  const label =
    first === undefined ? "" : valueWords(sensor, reading.kind, first.name).quantityLabel;
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, label, sign !== "" && h("span", { class: "unit" }, ` ${sign}`)),
    ...channels.map((channel) => {
      const value = values.find((one) => one.label === channel);
      return h(
        "td",
        { class: "number" },
        value === undefined ? "–" : valueNode(value, false, sign === ""),
      );
    }),
  );
}

/** Quality and flags as sentences: a sign in a cell does not say why. */
function doubts(sensor: ShownSensor, reading: ShownReading): HTMLElement | null {
  const lines = [...doubtLines(sensor, reading), ...flagsOf(reading).map(flagWords)];
  if (lines.length === 0) return null;
  return h("ul", { class: "doubts" }, ...lines.map((line) => h("li", null, line)));
}
