/** In which units this browser shows measured values. */
import { namesOf } from "../core/lists/by-name.ts";
import {
  chosenUnits,
  METRIC,
  READ_UNITS,
  type ReadUnits,
  signalUnitAsRead,
  US,
} from "../core/read-units.ts";
import { type Cleanup, h, replace } from "./dom.ts";
import { unitSign } from "./format.ts";
import { keepUnits, unitsKept } from "./units-kept.ts";

const WORDS: Readonly<Record<keyof ReadUnits, string>> = {
  velocity: "Velocity (RMS)",
  displacement: "Displacement (peak to peak)",
  acceleration: "Acceleration",
  temperature: "Temperature",
  frequency: "Frequency",
};

export function unitsPage(parent: HTMLElement): Cleanup {
  const selects = namesOf(READ_UNITS).map((name) => {
    const options = READ_UNITS[name].map((unit) =>
      h(
        "option",
        { value: unit, selected: unitsKept()[name] === unit },
        unitSign(signalUnitAsRead(unit)),
      ),
    );
    return [name, h("select", { change: () => apply(chosen()) }, ...options)] as const;
  });
  const chosen = () =>
    chosenUnits((quantity) => selects.find(([name]) => name === quantity)?.[1].value);
  const preset = (text: string, units: ReadUnits) =>
    h("button", { type: "button", click: () => apply(units) }, text);
  replace(
    parent,
    h(
      "section",
      { class: "panel", "aria-labelledby": "units-title" },
      h("div", { class: "panel-head" }, h("h1", { id: "units-title", tabindex: -1 }, "Units")),
      h(
        "div",
        { class: "units-form" },
        h("p", { class: "card-actions" }, preset("Metric", METRIC), preset("US", US)),
        ...selects.map(([name, select]) =>
          h("p", null, h("label", null, `${WORDS[name]} `, select)),
        ),
        h(
          "p",
          { class: "hint" },
          "For this browser, in pages and their CSV files. Envelope (gE), speed, currents, voltages and the units of 4–20 mA channels stay; so do notes, set-up, the API, MQTT and Modbus.",
        ),
      ),
    ),
  );
  return () => {};
}

/** Every value on the page was read in the old ones. */
function apply(units: ReadUnits): void {
  keepUnits(units);
  location.reload();
}
