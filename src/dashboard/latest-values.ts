/** Everything in a sensor's newest readings, with the quality of each value in words. */
import { grouped } from "../core/lists/grouped.ts";
import type { ShownReading, ShownSensor } from "../core/query/shown.ts";
import type { Kind } from "../core/sensor.ts";
import { h, keptList, replaceAnew, setAttribute, setText } from "./dom.ts";
import { doubtLines } from "./doubt-lines.ts";
import { unitSign } from "./format.ts";
import { type ShownValue, valuesOf } from "./headline.ts";
import { isLive } from "./machine-now.ts";
import { timeNode, writeTime } from "./marks.ts";
import { flagsOf } from "./merge-sensor.ts";
import type { Model } from "./model.ts";
import { valueNode } from "./value-node.ts";
import { flagWords, KIND_WORDS, QUANTITY_ORDER, valueWords } from "./words.ts";

export class LatestValues {
  readonly root: HTMLElement;
  readonly #model: Model;
  readonly #blocks: (sensor: readonly Latest[]) => void;
  #shown = "";

  constructor(model: Model) {
    this.#model = model;
    const place = h("div", { class: "latest" });
    this.#blocks = keptList<Latest>(
      place,
      ({ kind, reading }) => `${kind} ${reading === undefined}`,
      ({ kind, reading }) =>
        reading === undefined
          ? { root: h("p", { class: "hint" }, `${KIND_WORDS[kind]}: no reading yet.`) }
          : block(model, kind),
    );
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": "latest-title" },
      h("div", { class: "panel-head" }, h("h2", { id: "latest-title" }, "Latest values")),
      place,
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
    if (key === this.#shown) return;
    this.#shown = key;
    this.#blocks(sensor.kinds.map((kind) => ({ sensor, kind, reading: sensor.latest[kind] })));
  }
}

interface Latest {
  readonly sensor: ShownSensor;
  readonly kind: Kind;
  readonly reading: ShownReading | undefined;
}

/** Built once, so that it keeps the focus, what is selected and how far it is scrolled. */
function block(model: Model, kind: Kind) {
  const time = timeNode(model, 0);
  const head = h("thead");
  const body = h("tbody");
  const table = h("table", { class: "plain values" }, head, body);
  const facts = h("dl", { class: "facts" });
  const doubts = h("ul", { class: "doubts" });
  const showRows = keptList<Row>(body, ({ quantity }) => quantity, valueRow);
  const showFacts = keptList<readonly [string, ShownValue]>(
    facts,
    ([, { name }]) => name,
    () => {
      const [label, place] = [h("dt"), h("dd")];
      return {
        root: h("div", null, label, place),
        update([words, value]) {
          setText(label, words);
          replaceAnew(place, JSON.stringify(value), () => [valueNode(value, false)]);
        },
      };
    },
  );
  const root = h(
    "div",
    null,
    h("h3", null, KIND_WORDS[kind], h("span", { class: "sub" }, " at ", time)),
    h(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "group",
        "aria-label": `${KIND_WORDS[kind]}, values`,
      },
      table,
    ),
    facts,
    doubts,
  );
  return {
    root,
    update({ sensor, reading }: Latest): void {
      if (reading === undefined) return;
      setAttribute(root, "class", isLive(model, sensor) ? "kind" : "kind not-live");
      writeTime(time, model, reading.timeMs);
      const values = valuesOf(sensor, reading);
      const wordsOf = (name: string) => valueWords(sensor, kind, name);
      const channels = [
        ...new Set(values.map(({ label }) => label).filter((label) => label !== "")),
      ];
      const rows = [...grouped(values, ({ name }) => wordsOf(name).quantity)].sort(
        ([a], [b]) => QUANTITY_ORDER.indexOf(a) - QUANTITY_ORDER.indexOf(b),
      );
      const isSingle = (own: readonly ShownValue[]) => own.every(({ label }) => label === "");
      table.hidden = channels.length === 0;
      replaceAnew(head, JSON.stringify(channels), () => [
        h("tr", null, h("td", null), ...channels.map((label) => h("th", { scope: "col" }, label))),
      ]);
      showRows(
        rows
          .filter(([, own]) => !isSingle(own))
          .map(([quantity, own]) => {
            const label = own[0] === undefined ? "" : wordsOf(own[0].name).quantityLabel;
            return { quantity, label, values: own, channels };
          }),
      );
      showFacts(
        rows
          .filter(([, own]) => isSingle(own))
          .flatMap(([, own]) =>
            own.map((value) => [wordsOf(value.name).quantityLabel, value] as const),
          ),
      );
      const lines = doubtsOf(sensor, reading);
      doubts.hidden = lines.length === 0;
      replaceAnew(doubts, lines.join("\n"), () => lines.map((line) => h("li", null, line)));
    },
  };
}

interface Row {
  readonly quantity: string;
  readonly label: string;
  readonly values: readonly ShownValue[];
  readonly channels: readonly string[];
}

function valueRow() {
  const root = h("tr");
  return {
    root,
    update({ label, values, channels }: Row): void {
      // A unit common to the whole row is shown once, so that the figures fit on a small screen.
      const units = new Set(values.map(({ unit }) => unit));
      const sign = units.size === 1 ? unitSign(values[0]?.unit) : "";
      replaceAnew(root, JSON.stringify([label, sign, channels]), () => [
        h("th", { scope: "row" }, label, sign !== "" && h("span", { class: "unit" }, ` ${sign}`)),
        ...channels.map(() => h("td", { class: "number" })),
      ]);
      for (const [i, channel] of channels.entries()) {
        const value = values.find((one) => one.label === channel);
        const cell = root.children[i + 1];
        if (cell === undefined) continue;
        replaceAnew(cell, JSON.stringify(value ?? null), () => [
          value === undefined ? "–" : valueNode(value, false, sign === ""),
        ]);
      }
    },
  };
}

/** Quality and flags as sentences: a sign in a cell does not say why. */
const doubtsOf = (sensor: ShownSensor, reading: ShownReading): string[] => [
  ...doubtLines(sensor, reading),
  ...flagsOf(reading).map(flagWords),
];
