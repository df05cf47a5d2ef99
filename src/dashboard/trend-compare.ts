/** Other sensors in the same trend: selected from those that have the same quantity, kept in the link. */
import type { ShownSensor } from "../core/query/shown.ts";
import { h, replace } from "./dom.ts";
import type { Model } from "./model.ts";
import { machineName, sensorName } from "./sensor-filter.ts";
import { type TrendGroup, trendGroups } from "./trend-groups.ts";

/** More lines cannot be distinguished. */
const OTHERS_MAX = 4;

export class TrendCompare {
  readonly root: HTMLElement;
  readonly #model: Model;
  readonly #own: string;
  readonly #onChange: () => void;
  readonly #select: HTMLSelectElement;
  readonly #chosen = h("ul", { class: "chosen", "aria-label": "Compared with" });
  #codes: readonly string[];
  #offered = "";

  constructor(model: Model, own: string, codes: readonly string[], onChange: () => void) {
    this.#model = model;
    this.#own = own;
    this.#codes = codes.filter((code) => code !== own).slice(0, OTHERS_MAX);
    this.#onChange = onChange;
    this.#select = h("select", {
      id: "trend-with",
      change: () => {
        if (this.#select.value !== "") this.#choose([...this.#codes, this.#select.value]);
      },
    });
    this.root = h(
      "div",
      { class: "field wide" },
      h("label", { for: "trend-with" }, "Compare with"),
      this.#select,
      this.#chosen,
    );
  }

  get codes(): readonly string[] {
    return this.#codes;
  }

  /** The group of each selected sensor that shows the same quantity. */
  groups({ key }: TrendGroup): { readonly sensor: ShownSensor; readonly group: TrendGroup }[] {
    return this.#codes.flatMap((code) => {
      const sensor = this.#model.sensors.get(code);
      const group = sensor && trendGroups(sensor).find((one) => one.key === key);
      return sensor !== undefined && group !== undefined ? [{ sensor, group }] : [];
    });
  }

  offer(group: TrendGroup): void {
    const others = [...this.#model.sensors.values()].filter(
      (sensor) =>
        sensor.code !== this.#own &&
        !this.#codes.includes(sensor.code) &&
        trendGroups(sensor).some(({ key, unit }) => key === group.key && unit === group.unit),
    );
    const key = `${group.key} ${this.#codes.join()} ${others.map(({ code }) => code).join()}`;
    if (key === this.#offered) return;
    this.#offered = key;
    const isFull = this.#codes.length >= OTHERS_MAX;
    this.#select.disabled = isFull || others.length === 0;
    const first = isFull
      ? "No more"
      : others.length === 0
        ? "No other sensor has this value"
        : "Choose a sensor";
    replace(
      this.#select,
      h("option", { value: "" }, first),
      ...others.map((sensor) => h("option", { value: sensor.code }, labelOf(sensor))),
    );
    replace(
      this.#chosen,
      ...this.#codes.map((code) => {
        const sensor = this.#model.sensors.get(code);
        const name = sensor === undefined ? code : sensorName(sensor);
        const remove = () => this.#choose(this.#codes.filter((one) => one !== code));
        return h(
          "li",
          null,
          h(
            "button",
            { type: "button", "aria-label": `Without ${name}`, click: remove },
            `${name} ✕`,
          ),
        );
      }),
    );
  }

  #choose(codes: readonly string[]): void {
    this.#codes = codes.slice(0, OTHERS_MAX);
    this.#onChange();
    this.#select.focus();
  }
}

function labelOf(sensor: ShownSensor): string {
  const machine = machineName(sensor);
  return machine === "" ? sensorName(sensor) : `${machine} – ${sensorName(sensor)}`;
}
