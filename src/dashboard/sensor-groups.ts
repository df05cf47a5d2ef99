/** Layout of the sensor table: by machine, folded if there are many, or in the order of a column. */
import type { ShownSensor } from "../core/query/shown.ts";
import { h } from "./dom.ts";
import { badge, zoneBadge } from "./marks.ts";
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

/** The heading of a machine. With `onToggle` it folds and unfolds. */
export function groupRow(
  { area, machine, machineId, sensors }: SensorGroup,
  columns: number,
  fold: { readonly isOpen: boolean; readonly onToggle: () => void } | null,
): HTMLElement {
  const zones = sensors.map(({ zone }) => zone).filter((zone) => zone !== null);
  const worst = zones.sort().at(-1) ?? null;
  const silent = sensors.filter(({ state, enabled }) => enabled && state === "silent").length;
  const name = machine === "" ? area : machine;
  return h(
    "tr",
    { role: "row", class: "group" },
    h(
      "th",
      { role: "rowheader", scope: "rowgroup", colspan: columns },
      fold !== null &&
        h(
          "button",
          {
            type: "button",
            class: "fold",
            "aria-expanded": String(fold.isOpen),
            "aria-label": `${name}, ${sensors.length} sensors`,
            click: fold.onToggle,
          },
          fold.isOpen ? "▾" : "▸",
        ),
      h("span", { class: "area" }, area),
      machine !== "" &&
        (machineId === null
          ? h("span", { class: "machine" }, machine)
          : h("a", { class: "machine", href: linkTo("machine", String(machineId)) }, machine)),
      fold !== null && h("span", { class: "group-zone" }, `${sensors.length} sensors`),
      fold !== null &&
        silent > 0 &&
        h("span", { class: "group-zone" }, badge("bad", `${silent} silent`)),
      worst !== null && h("span", { class: "group-zone" }, "worst zone ", zoneBadge(worst)),
    ),
  );
}
