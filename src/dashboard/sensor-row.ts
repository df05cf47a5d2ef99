/** One sensor in the table: built once, then only changes are written. */
import type { ShownSensor } from "../core/query/shown.ts";
import { h, replace, setAttribute, setText } from "./dom.ts";
import { sensorLink } from "./faults-panel.ts";
import { age, utc } from "./format.ts";
import { headlineLines } from "./headline.ts";
import { isNotKnown } from "./machine-now.ts";
import { badge, batteryNode, notLiveWords, stateBadge, zoneBadge } from "./marks.ts";
import type { Model } from "./model.ts";
import { machineName, sensorName } from "./sensor-filter.ts";
import { valueNode } from "./value-node.ts";
import { KIND_WORDS } from "./words.ts";

export class SensorRow {
  readonly root: HTMLTableRowElement;
  readonly sparkCell: HTMLElement;
  readonly code: string;
  readonly #withMachine: boolean;
  #sensor: ShownSensor;
  readonly #name: HTMLElement;
  readonly #facts = h("span", { class: "sub" });
  readonly #state: HTMLElement;
  readonly #zone: HTMLElement;
  readonly #values: HTMLElement;
  readonly #age: HTMLElement;
  readonly #battery: HTMLElement;
  #keys = { state: "", zone: "", values: "", battery: "" };

  /** @param withMachine where no heading names it */
  constructor(sensor: ShownSensor, withMachine: boolean) {
    this.#withMachine = withMachine;
    this.code = sensor.code;
    this.#sensor = sensor;
    this.#state = h("td", { role: "cell", class: "c-state" });
    this.#zone = h("td", { role: "cell", class: "c-zone" });
    this.#values = h("td", { role: "cell", class: "c-values" });
    this.sparkCell = h("td", { role: "cell", class: "c-spark" });
    this.#age = h("td", { role: "cell", class: "c-age" });
    this.#battery = h("td", { role: "cell", class: "c-battery" });
    this.#name = h("a", { href: sensorLink(sensor.code) });
    this.root = h(
      "tr",
      { role: "row", class: "sensor", "data-code": sensor.code },
      h("th", { role: "rowheader", scope: "row", class: "c-name" }, this.#name, this.#facts),
      this.#state,
      this.#zone,
      this.#values,
      this.sparkCell,
      this.#age,
      this.#battery,
    );
  }

  get sensor(): ShownSensor {
    return this.#sensor;
  }

  update(sensor: ShownSensor, isNew: boolean): void {
    this.#sensor = sensor;
    // Same name as on its page and in faults.
    setText(this.#name, sensorName(sensor));
    setText(this.#facts, factsOf(sensor, this.#withMachine));
    const battery = `${sensor.batteryV ?? ""}`;
    this.#write("battery", this.#battery, battery, () =>
      batteryNode(sensor.batteryV, sensor.batteryLowV),
    );
    const lines = headlineLines(sensor);
    const values = lines.flatMap((line) => line.values);
    const key = JSON.stringify(
      values.map(({ value, unit, label, doubt }) => [value, unit, label, doubt]),
    );
    if (key === this.#keys.values) return;
    const isChange = isNew && this.#keys.values !== "";
    this.#keys.values = key;
    replace(
      this.#values,
      values.length === 0 && h("span", { class: "none" }, "no reading yet"),
      ...lines.flatMap(({ heading, values: shown }) => {
        const nodes = shown.map((value) => valueNode(value, true));
        const lead = h("span", { class: "value-label lead" }, `${heading} `);
        return heading === "" ? nodes : [h("div", null, lead, ...nodes)];
      }),
    );
    if (isChange) blink(this.#values);
  }

  /** The age of the newest reading; marked once it is older than the sensor's usual interval allows. */
  tick(model: Model): void {
    const { lastReadingMs, state, enabled } = this.#sensor;
    const isRead = enabled || state === "removed";
    const isUnknown = isRead && state !== "removed" && isNotKnown(model, this.#sensor);
    this.#write("state", this.#state, isUnknown ? "not known" : isRead ? state : "off", () =>
      isUnknown ? badge("off", "Not known") : stateBadge(state, enabled),
    );
    const { zone } = this.#sensor;
    const notLive = notLiveWords(model, this.#sensor);
    this.#write("zone", this.#zone, `${zone ?? ""} ${notLive}`, () => zoneBadge(zone, notLive));
    if (lastReadingMs === null) {
      setText(this.#age, "–");
      return;
    }
    setText(this.#age, age(model.gatewayNowMs() - lastReadingMs));
    setAttribute(this.#age, "data-old", state === "silent" ? "yes" : null);
    setAttribute(
      this.#age,
      "title",
      `${model.times.full(lastReadingMs)} ${model.times.zone}\n${utc(lastReadingMs)}`,
    );
  }

  #write(
    key: "state" | "zone" | "battery",
    cell: HTMLElement,
    wanted: string,
    make: () => Node,
  ): void {
    if (this.#keys[key] === wanted && cell.hasChildNodes()) return;
    this.#keys[key] = wanted;
    cell.replaceChildren(make());
  }
}

function factsOf(sensor: ShownSensor, withMachine: boolean): string {
  const kinds = new Set(sensor.kinds.map((kind) => KIND_WORDS[kind].replace(/ \(.*/, "")));
  // Not repeated if the name contains it.
  const point = sensor.location?.names?.point ?? "";
  const place = sensorName(sensor).toLowerCase().includes(point.toLowerCase()) ? [] : [point];
  const machine = machineName(sensor);
  const isNamed = sensorName(sensor).toLowerCase().includes(machine.toLowerCase());
  const own = withMachine && !isNamed ? [machine] : [];
  return [sensor.code, ...own, ...place, [...kinds].join(", ")].join(" · ");
}

/** A short glow on new data; the style sheet disables it if reduced motion is requested. */
function blink(element: HTMLElement): void {
  element.classList.remove("fresh");
  requestAnimationFrame(() => element.classList.add("fresh"));
}
