/** The head of the table of sensors, which sorts it; on a telephone a box does. */
import { h, setAttribute, setText } from "./dom.ts";
import { SORTS, type SortKey } from "./sensor-groups.ts";

export const COLUMNS: readonly (readonly [string, string, SortKey | null])[] = [
  ["c-name", "Sensor", "name"],
  ["c-state", "State", "state"],
  ["c-zone", "Zone", "zone"],
  ["c-values", "Latest values", null],
  ["c-spark", "Last 24 h", null],
  ["c-age", "Age", "age"],
  ["c-battery", "Battery", "battery"],
];
/** Worst zone first, oldest reading first, lowest battery first. */
const FIRST_UP: Readonly<Record<SortKey, boolean>> = {
  name: true,
  state: true,
  zone: false,
  age: true,
  battery: true,
};

export class SensorsHead {
  readonly root: HTMLElement;
  readonly box: HTMLSelectElement;
  readonly #changed: () => void;
  /** Null: by machine. */
  sort: { readonly by: SortKey; readonly isUp: boolean } | null = null;

  constructor(changed: () => void) {
    this.#changed = changed;
    this.root = head((by) => this.#sortBy(by));
    this.box = h(
      "select",
      {
        id: "sort",
        change: () => {
          const by = SORTS.find((key) => key === this.box.value);
          this.sort = by === undefined ? null : { by, isUp: FIRST_UP[by] };
          changed();
        },
      },
      h("option", { value: "" }, "Machine"),
      ...COLUMNS.flatMap(([, text, key]) =>
        key === null ? [] : [h("option", { value: key }, text)],
      ),
    );
  }

  /** First the useful direction, then the other, then by machine again. */
  #sortBy(by: SortKey): void {
    const { by: old, isUp } = this.sort ?? { by: null, isUp: false };
    if (old !== by) this.sort = { by, isUp: FIRST_UP[by] };
    else this.sort = isUp === FIRST_UP[by] ? { by, isUp: !isUp } : null;
    this.box.value = this.sort?.by ?? "";
    this.#changed();
  }

  /** Which column, and which way. */
  write(): void {
    for (const [name, text, key] of COLUMNS) {
      if (key === null) continue;
      const isSorted = this.sort?.by === key;
      const isUp = this.sort?.isUp === true;
      const cell = this.root.querySelector(`.${name}`);
      const button = cell?.querySelector("button");
      if (!cell || !button) continue;
      setAttribute(cell, "aria-sort", isSorted ? (isUp ? "ascending" : "descending") : null);
      setText(button, `${text}${isSorted ? (isUp ? " ▲" : " ▼") : ""}`);
    }
  }
}

function head(sortBy: (by: SortKey) => void): HTMLElement {
  return h(
    "thead",
    { role: "rowgroup" },
    h(
      "tr",
      { role: "row" },
      ...COLUMNS.map(([name, text, key]) =>
        h(
          "th",
          { role: "columnheader", scope: "col", class: name },
          key === null
            ? text
            : h(
                "button",
                { type: "button", class: "sort", "data-sort": key, click: () => sortBy(key) },
                text,
              ),
        ),
      ),
    ),
  );
}
