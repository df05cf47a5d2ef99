/** The sensors by area and machine, with search and filter. */
import type { Api } from "./api.ts";
import { type Cleanup, h, oncePerFrame, replace, setText } from "./dom.ts";
import { zoneBadge } from "./marks.ts";
import type { Model } from "./model.ts";
import { areaName, type Filter, isShown, machineName, noFilter } from "./sensor-filter.ts";
import { SensorRow } from "./sensor-row.ts";
import { Sparks } from "./sparks.ts";
import { KIND_WORDS, STATE_WORDS } from "./words.ts";

const COLUMNS = [
  ["c-name", "Sensor"],
  ["c-state", "State"],
  ["c-zone", "Zone"],
  ["c-values", "Latest values"],
  ["c-spark", "Last 24 h"],
  ["c-age", "Age"],
  ["c-battery", "Battery"],
] as const;
const TICK_MS = 1_000;

export class SensorsTable {
  readonly root: HTMLElement;
  readonly #model: Model;
  readonly #filter: Filter;
  readonly #table: HTMLTableElement;
  readonly #found = h("p", { class: "found", role: "status" });
  readonly #area: HTMLSelectElement;
  readonly #clear: HTMLButtonElement;
  readonly #rows = new Map<string, SensorRow>();
  readonly #changed = new Set<string>();
  readonly #sparks: Sparks;
  #layout = "";
  readonly stop: Cleanup;

  constructor(api: Api, model: Model, filter: Filter) {
    this.#model = model;
    this.#filter = filter;
    this.#sparks = new Sparks(api, model);
    const apply = (): void => this.#show();
    this.#clear = h(
      "button",
      { type: "button", class: "clear", hidden: true, click: () => this.#clearFilter() },
      "Show all",
    );
    this.#area = select("Area", filter, "area", [], apply);
    const search = h("input", {
      id: "search",
      type: "search",
      placeholder: "Name, code, machine …",
      autocomplete: "off",
      value: filter.text,
      input: (event: Event) => {
        filter.text = (event.target as HTMLInputElement).value.trim();
        apply();
      },
    });
    const kinds = Object.entries(KIND_WORDS);
    const zones = ["A", "B", "C", "D"].map((zone) => [zone, `Zone ${zone}`] as const);
    this.#table = h("table", {
      class: "sensors",
      role: "table",
      "aria-labelledby": "sensors-title",
    });
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": "sensors-title" },
      h("div", { class: "panel-head" }, h("h2", { id: "sensors-title" }, "Sensors"), this.#found),
      h(
        "form",
        { class: "filters", role: "search", submit: (event: Event) => event.preventDefault() },
        field("search", "Search", search),
        wrap("State", select("State", filter, "state", Object.entries(STATE_WORDS), apply)),
        wrap("Kind", select("Kind", filter, "kind", kinds, apply)),
        wrap("Area", this.#area),
        wrap("Zone", select("Zone", filter, "zone", [...zones, ["none", "No zone"]], apply)),
        this.#clear,
      ),
      this.#table,
    );
    const write = oncePerFrame(() => this.#writeChanged());
    const unsubscribe = model.subscribe((change, code) => {
      if (change === "sensors") this.#show();
      if (change === "status") for (const known of this.#rows.keys()) this.#changed.add(known);
      if (change === "reading" && code !== null) this.#changed.add(code);
      if (change === "status" || change === "reading") write();
    });
    const timer = setInterval(() => this.#tick(), TICK_MS);
    this.stop = () => {
      unsubscribe();
      clearInterval(timer);
      this.#sparks.stop();
    };
    this.#show();
  }

  /** Lays the table out anew; rows are kept. */
  #show(): void {
    const all = [...this.#model.sensors.values()];
    this.#offerAreas(all.map(areaName));
    const shown = all.filter((sensor) => isShown(sensor, this.#filter));
    this.#clear.hidden = Object.values(this.#filter).every((value) => value === "");
    const isAll = shown.length === all.length;
    const found = isAll ? `${all.length} in all` : `${shown.length} of ${all.length} shown`;
    setText(this.#found, this.#model.sensors.size === 0 ? "" : found);
    for (const sensor of shown) {
      const row = this.#rows.get(sensor.code) ?? new SensorRow(sensor);
      this.#rows.set(sensor.code, row);
      row.update(sensor, false);
      row.tick(this.#model);
    }
    const layout = shown.map(({ code }) => code).join();
    if (layout === this.#layout && this.#table.hasChildNodes()) return;
    this.#layout = layout;
    replace(this.#table, head(), ...this.#bodies(shown.map(({ code }) => code)));
    if (shown.length === 0) {
      const text =
        all.length === 0
          ? "Reading the sensors …"
          : "No sensor matches. “Show all” clears search and filters.";
      const cell = h("td", { role: "cell", colspan: COLUMNS.length, class: "empty" }, text);
      this.#table.append(h("tbody", { role: "rowgroup" }, h("tr", { role: "row" }, cell)));
    }
    this.#sparks.watch(
      shown.map(({ code }) => this.#rows.get(code)).filter((row) => row !== undefined),
    );
  }

  #clearFilter(): void {
    const { root } = this;
    Object.assign(this.#filter, noFilter());
    for (const control of root.querySelectorAll<HTMLInputElement>(".filters :is(input, select)")) {
      control.value = "";
    }
    this.#show();
    // The button has gone, and with it the place of the keyboard.
    root.querySelector<HTMLInputElement>("#search")?.focus();
  }

  /** One body per machine, each under a heading with its area and worst zone. */
  #bodies(codes: readonly string[]): HTMLElement[] {
    const bodies = new Map<string, HTMLTableSectionElement>();
    for (const code of codes) {
      const row = this.#rows.get(code);
      if (row === undefined) continue;
      const [area, machine] = [areaName(row.sensor), machineName(row.sensor)];
      const key = `${area}\n${machine}\n${row.sensor.location?.machine ?? ""}`;
      let body = bodies.get(key);
      if (body === undefined) {
        body = h("tbody", { role: "rowgroup" }, this.#groupRow(codes, area, machine));
        bodies.set(key, body);
      }
      body.append(row.root);
    }
    return [...bodies.values()];
  }

  #groupRow(codes: readonly string[], area: string, machine: string): HTMLElement {
    const zones = codes
      .map((code) => this.#model.sensors.get(code))
      .filter(
        (sensor) =>
          sensor !== undefined && areaName(sensor) === area && machineName(sensor) === machine,
      )
      .map((sensor) => sensor?.zone ?? null)
      .filter((zone) => zone !== null)
      .sort();
    const worst = zones.at(-1) ?? null;
    return h(
      "tr",
      { role: "row", class: "group" },
      h(
        "th",
        { role: "rowheader", scope: "rowgroup", colspan: COLUMNS.length },
        h("span", { class: "area" }, area),
        machine !== "" && h("span", { class: "machine" }, machine),
        worst !== null && h("span", { class: "group-zone" }, "worst zone ", zoneBadge(worst)),
      ),
    );
  }

  #writeChanged(): void {
    let isZoneNew = false;
    for (const code of this.#changed) {
      const sensor = this.#model.sensors.get(code);
      const row = this.#rows.get(code);
      if (sensor === undefined || row === undefined) continue;
      isZoneNew ||= row.sensor.zone !== sensor.zone;
      row.update(sensor, true);
      row.tick(this.#model);
    }
    this.#changed.clear();
    if (isZoneNew) this.#layout = "";
    const isFiltered = this.#filter.state !== "" || this.#filter.zone !== "";
    if (isZoneNew || isFiltered) this.#show();
  }

  #tick(): void {
    if (document.hidden) return;
    for (const row of this.#rows.values()) if (row.root.isConnected) row.tick(this.#model);
  }

  #offerAreas(names: readonly string[]): void {
    const wanted = [...new Set(names)];
    if (this.#area.options.length === wanted.length + 1) return;
    replace(this.#area, ...options(wanted.map((name) => [name, name])));
    this.#area.value = this.#filter.area;
  }
}

function head(): HTMLElement {
  return h(
    "thead",
    { role: "rowgroup" },
    h(
      "tr",
      { role: "row" },
      ...COLUMNS.map(([name, text]) =>
        h("th", { role: "columnheader", scope: "col", class: name }, text),
      ),
    ),
  );
}

function field(id: string, label: string, control: HTMLElement): HTMLElement {
  return h("div", { class: "field grow" }, h("label", { for: id }, label), control);
}
function wrap(label: string, control: HTMLElement): HTMLElement {
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control);
}

function select(
  label: string,
  filter: Filter,
  key: Exclude<keyof Filter, "text">,
  choices: readonly (readonly [string, string])[],
  apply: () => void,
): HTMLSelectElement {
  const element = h(
    "select",
    {
      id: `filter-${label.toLowerCase()}`,
      change: (event: Event) => {
        filter[key] = (event.target as HTMLSelectElement).value;
        apply();
      },
    },
    ...options(choices),
  );
  element.value = filter[key];
  return element;
}

function options(choices: readonly (readonly [string, string])[]): HTMLElement[] {
  return [["", "All"] as const, ...choices].map(([value, text]) => h("option", { value }, text));
}
