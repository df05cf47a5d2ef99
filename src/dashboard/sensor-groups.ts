/** Layout of the sensor table: by machine, folded if there are many, or in the order of a column. */
import type { ShownSensor } from "../core/query/shown.ts";
import { h, replaceAnew, setAttribute, setText } from "./dom.ts";
import { isLive } from "./machine-now.ts";
import { badge, notLiveWords, zoneBadge } from "./marks.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";
import { areaName, machineName, sensorName } from "./sensor-filter.ts";

/** From this many sensors on, machines are folded until they are opened. */
export const FOLD_MIN = 50;

export const SORTS = ["name", "state", "zone", "age", "battery"] as const;
export type SortKey = (typeof SORTS)[number];

export interface SensorGroup {
  readonly key: string;
  readonly area: string;
  readonly machine: string;
  readonly machineId: number | null;
  readonly sensors: readonly ShownSensor[];
}

export function groupsOf(sensors: readonly ShownSensor[]): SensorGroup[] {
  const groups = new Map<string, SensorGroup & { readonly sensors: ShownSensor[] }>();
  for (const sensor of sensors) {
    const [area, machine] = [areaName(sensor), machineName(sensor)];
    const machineId = sensor.location?.machine ?? null;
    const key = `${area}\n${machine}\n${machineId ?? ""}`;
    let group = groups.get(key);
    if (group === undefined)
      groups.set(key, (group = { key, area, machine, machineId, sensors: [] }));
    group.sensors.push(sensor);
  }
  return [...groups.values()];
}

const STATE_RANK = { silent: 0, unknown: 1, online: 2, removed: 3 } as const;

/** The most urgent come first; sensors without the value come last in either direction. */
export function sorted(sensors: readonly ShownSensor[], by: SortKey, isUp: boolean): ShownSensor[] {
  const keyed = sensors.map((sensor) => ({ sensor, key: keyOf(sensor, by) }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null);
    const order =
      typeof a.key === "string" && typeof b.key === "string"
        ? a.key.localeCompare(b.key, "en", { numeric: true })
        : Number(a.key) - Number(b.key);
    return isUp ? order : -order;
  });
  return keyed.map(({ sensor }) => sensor);
}

function keyOf(sensor: ShownSensor, by: SortKey): string | number | null {
  switch (by) {
    case "name":
      return sensorName(sensor);
    case "state":
      return STATE_RANK[sensor.state];
    case "zone":
      return sensor.zone;
    case "age":
      return sensor.lastReadingMs;
    case "battery":
      return sensor.batteryV;
  }
}

/** The heading of a machine: built once, then only changes are written. It folds and unfolds where there are many. */
export class GroupRow {
  readonly root: HTMLTableRowElement;
  readonly body: HTMLTableSectionElement;
  readonly #fold: HTMLButtonElement;
  readonly #count = h("span", { class: "group-zone" });
  readonly #silent = h("span", { class: "group-zone" });
  readonly #zone = h("span", { class: "group-zone" });

  constructor({ area, machine, machineId }: SensorGroup, columns: number, onToggle: () => void) {
    this.#fold = h("button", { type: "button", class: "fold", click: onToggle });
    this.root = h(
      "tr",
      { role: "row", class: "group" },
      h(
        "th",
        { role: "rowheader", scope: "rowgroup", colspan: columns },
        this.#fold,
        h("span", { class: "area" }, area),
        machine !== "" &&
          (machineId === null
            ? h("span", { class: "machine" }, machine)
            : h("a", { class: "machine", href: linkTo("machine", String(machineId)) }, machine)),
        this.#count,
        this.#silent,
        this.#zone,
      ),
    );
    this.body = h("tbody", { role: "rowgroup" }, this.root);
  }

  /** @param isOpen null where it does not fold */
  update({ area, machine, sensors }: SensorGroup, isOpen: boolean | null, model: Model): void {
    const zones = sensors.map(({ zone }) => zone).filter((zone) => zone !== null);
    const worst = zones.sort().at(-1) ?? null;
    const of = sensors.filter(({ zone }) => zone === worst);
    const isNow = of.some((sensor) => isLive(model, sensor));
    const notLive = isNow || of[0] === undefined ? "" : notLiveWords(model, of[0]);
    const silent = sensors.filter(({ state, enabled }) => enabled && state === "silent").length;
    const mayFold = isOpen !== null;
    const fold = this.#fold;
    fold.hidden = !mayFold;
    setAttribute(fold, "aria-expanded", String(isOpen === true));
    setAttribute(
      fold,
      "aria-label",
      `${machine === "" ? area : machine}, ${sensors.length} sensors`,
    );
    setText(fold, isOpen === true ? "▾" : "▸");
    this.#count.hidden = !mayFold;
    setText(this.#count, `${sensors.length} sensors`);
    this.#silent.hidden = !mayFold || silent === 0;
    replaceAnew(this.#silent, String(silent), () => [badge("bad", `${silent} silent`)]);
    this.#zone.hidden = worst === null;
    replaceAnew(this.#zone, `${worst} ${notLive}`, () => [
      "worst zone ",
      zoneBadge(worst, notLive),
    ]);
  }
}
