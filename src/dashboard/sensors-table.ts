/** The sensors by area and machine, with search and filter. */
import type { ShownSensor } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import { arrange, type Cleanup, h, oncePerFrame, replaceAnew, setText } from "./dom.ts";
import { labelled, options, searchField, select } from "./filter-controls.ts";
import type { Model } from "./model.ts";
import { placeNow, remember } from "./place.ts";
import { areaName, FILTERS, type Filter, isShown, noFilter } from "./sensor-filter.ts";
import { FOLD_MIN, GroupRow, groupsOf, type SensorGroup, sorted } from "./sensor-groups.ts";
import { SensorRow } from "./sensor-row.ts";
import { COLUMNS, SensorsHead } from "./sensors-head.ts";
import { Sparks } from "./sparks.ts";
import { KIND_WORDS, STATE_WORDS } from "./words.ts";

const TICK_MS = 1_000;
/** In one go: a thousand rows take a small computer seconds, and as long again whenever their order changes. */
const ROWS = 200;

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
  readonly #open = new Set<string>();
  readonly #head = new SensorsHead(() => this.#show());
  readonly #first: number | null;
  #watched = "";
  readonly #groups = new Map<string, GroupRow>();
  /** The rows in the order of a column. */
  readonly #flat = h("tbody", { role: "rowgroup" });
  readonly #all = h("a", { href: "#/sensors", hidden: true }, "All sensors");
  /** Everything in the order of a column, however much it is. */
  #isWhole = false;
  readonly #others = h("button", { type: "button", hidden: true, click: () => this.#showOthers() });
  readonly #emptyText = h("td", { role: "cell", colspan: COLUMNS.length, class: "empty" });
  readonly #empty = h("tbody", { role: "rowgroup" }, h("tr", { role: "row" }, this.#emptyText));
  readonly stop: Cleanup;

  /** @param first only so many rows, without search and filters; null: the whole table, whose filters are in the address */
  constructor(api: Api, model: Model, filter: Filter, first: number | null) {
    this.#first = first;
    this.#model = model;
    this.#filter = filter;
    this.#sparks = new Sparks(api, model);
    if (first === null) readFilter(filter);
    const apply = (): void => {
      rememberFilter(filter);
      this.#show();
    };
    this.#clear = h(
      "button",
      { type: "button", class: "clear", hidden: true, click: () => this.#clearFilter() },
      "Show all",
    );
    this.#area = select("Area", filter, "area", [], apply);
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
      h(
        "div",
        { class: "panel-head" },
        h("h2", { id: "sensors-title" }, "Sensors"),
        this.#found,
        first !== null && this.#all,
      ),
      first === null &&
        h(
          "form",
          { class: "filters", role: "search", submit: (event: Event) => event.preventDefault() },
          searchField(filter, apply),
          labelled("State", select("State", filter, "state", Object.entries(STATE_WORDS), apply)),
          labelled("Kind", select("Kind", filter, "kind", kinds, apply)),
          labelled("Area", this.#area),
          labelled("Zone", select("Zone", filter, "zone", [...zones, ["none", "No zone"]], apply)),
          h(
            "div",
            { class: "field narrow-only" },
            h("label", { for: "sort" }, "Sort by"),
            this.#head.box,
          ),
          this.#clear,
        ),
      this.#table,
      this.#others,
    );
    const write = oncePerFrame(() => this.#writeChanged());
    const unsubscribe = model.subscribe((change, code) => {
      // Without any, the first status says so.
      if (change === "sensors" || (change === "status" && model.sensors.size === 0)) this.#show();
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

  /** Rebuilds the order; rows are reused. */
  #show(): void {
    const all = [...this.#model.sensors.values()];
    this.#offerAreas(all.map(areaName));
    const found = all.filter((sensor) => isShown(sensor, this.#filter));
    const { sort } = this.#head;
    const isFlat = sort !== null || this.#first !== null;
    const ordered = sort === null ? found : sorted(found, sort.by, sort.isUp);
    const most = this.#first ?? (isFlat && !this.#isWhole ? ROWS : found.length);
    const shown = ordered.slice(0, most);
    const others = this.#first === null ? found.length - shown.length : 0;
    this.#others.hidden = others === 0;
    setText(this.#others, `Show the other ${others}`);
    this.#clear.hidden = Object.values(this.#filter).every((value) => value === "");
    const isAll = shown.length === all.length;
    const words = isAll ? `${all.length} in all` : `${shown.length} of ${all.length} shown`;
    setText(this.#found, this.#model.sensors.size === 0 ? "" : words);
    this.#all.hidden = isAll;
    const mayFold = !isFlat && found.length >= (this.#clear.hidden ? FOLD_MIN : ROWS);
    const groups = isFlat ? [] : groupsOf(shown);
    const isSeen = (key: string) => !mayFold || this.#open.has(key);
    const seen = isFlat
      ? shown
      : groups.flatMap(({ key, sensors }) => (isSeen(key) ? sensors : []));
    for (const sensor of seen) {
      const row = this.#rows.get(sensor.code) ?? new SensorRow(sensor, this.#first !== null);
      this.#rows.set(sensor.code, row);
      row.update(sensor, false);
      row.tick(this.#model);
    }
    const rows = (sensors: readonly ShownSensor[]) =>
      sensors.map(({ code }) => this.#rows.get(code)?.root).filter((row) => row !== undefined);
    for (const group of groups) {
      const { root, body } = this.#groupOf(group);
      this.#groupOf(group).update(group, mayFold ? isSeen(group.key) : null, this.#model);
      arrange(body, [root, ...(isSeen(group.key) ? rows(group.sensors) : [])]);
    }
    if (isFlat) arrange(this.#flat, rows(seen));
    this.#head.write();
    setText(this.#emptyText, this.#wordsOfNone(all.length));
    arrange(this.#table, [
      this.#head.root,
      ...(isFlat ? [this.#flat] : groups.map((group) => this.#groupOf(group).body)),
      ...(shown.length === 0 ? [this.#empty] : []),
    ]);
    // Only other rows are watched anew: a watch begins with what is in view.
    const watched = seen.map(({ code }) => code).join();
    if (watched === this.#watched) return;
    this.#watched = watched;
    this.#sparks.watch(
      seen.map(({ code }) => this.#rows.get(code)).filter((row) => row !== undefined),
    );
  }

  #toggle(key: string): void {
    if (!this.#open.delete(key)) this.#open.add(key);
    this.#show();
  }

  #showOthers(): void {
    const first = this.#flat.children.length;
    this.#isWhole = true;
    this.#show();
    // The button is gone, and the keyboard focus with it.
    this.#flat.children[first]?.querySelector("a")?.focus();
  }

  #groupOf(group: SensorGroup): GroupRow {
    const known = this.#groups.get(group.key);
    if (known !== undefined) return known;
    const made = new GroupRow(group, COLUMNS.length, () => this.#toggle(group.key));
    this.#groups.set(group.key, made);
    return made;
  }

  #wordsOfNone(all: number): string {
    if (all > 0) return "No sensor matches. “Show all” clears search and filters.";
    return this.#model.status?.sensors.length === 0 ? "No sensors yet." : "Reading the sensors …";
  }

  #clearFilter(): void {
    const { root } = this;
    Object.assign(this.#filter, noFilter());
    rememberFilter(this.#filter);
    for (const control of root.querySelectorAll<HTMLInputElement>(".filters :is(input, select)")) {
      control.value = "";
    }
    this.#show();
    // The button is gone, and the keyboard focus with it.
    root.querySelector<HTMLInputElement>("#search")?.focus();
  }

  #writeChanged(): void {
    let isZoneNew = false;
    for (const code of this.#changed) {
      const sensor = this.#model.sensors.get(code);
      const row = this.#rows.get(code);
      // What is not shown is written once it is.
      if (sensor === undefined || row?.root.isConnected !== true) continue;
      isZoneNew ||= row.sensor.zone !== sensor.zone;
      row.update(sensor, true);
      row.tick(this.#model);
    }
    this.#changed.clear();
    const isFiltered = this.#filter.state !== "" || this.#filter.zone !== "";
    const isMoving = this.#head.sort !== null || this.#model.sensors.size >= FOLD_MIN;
    if (isZoneNew || isFiltered || isMoving) this.#show();
  }

  #tick(): void {
    if (document.hidden) return;
    for (const row of this.#rows.values()) if (row.root.isConnected) row.tick(this.#model);
  }

  #offerAreas(names: readonly string[]): void {
    const wanted = [...new Set(names)];
    // One that left the site file would find nothing.
    if (wanted.length > 0 && !wanted.includes(this.#filter.area)) this.#filter.area = "";
    if (
      replaceAnew(this.#area, wanted.join("\n"), () => options(wanted.map((name) => [name, name])))
    )
      this.#area.value = this.#filter.area;
  }
}

/** A link names them; without one, those chosen before stay. */
function readFilter(filter: Filter): void {
  const { query } = placeNow();
  if (!FILTERS.some((key) => query.has(key))) return rememberFilter(filter);
  for (const key of FILTERS) filter[key] = query.get(key) ?? "";
}

function rememberFilter(filter: Filter): void {
  remember(Object.fromEntries(FILTERS.map((key) => [key, filter[key]])));
}
