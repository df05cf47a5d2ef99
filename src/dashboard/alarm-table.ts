/** The table of alarms: a body for each machine, a row for each alarm, and what is selected. */
import type { ShownAlarm } from "../core/alarm/shown.ts";
import type { AlarmGroup } from "./alarm-list.ts";
import { AlarmRow } from "./alarm-row.ts";
import { AlarmSelection } from "./alarm-selection.ts";
import type { Api } from "./api.ts";
import { arrange, h, replaceAnew } from "./dom.ts";
import type { Model } from "./model.ts";
import { linkTo } from "./place-link.ts";

export class AlarmTable {
  readonly root = h("table", { class: "plain alarm-table", "aria-labelledby": "alarms-title" });
  readonly selection: AlarmSelection;
  readonly #api: Api;
  readonly #model: Model;
  readonly #done: () => void;
  readonly #head = h("thead");
  readonly #all: HTMLInputElement;
  readonly #rows = new Map<string, AlarmRow>();
  readonly #bodies = new Map<string, HTMLTableSectionElement>();

  /** @param done something was done: the lists are others */
  constructor(api: Api, model: Model, done: () => void) {
    this.#api = api;
    this.#model = model;
    this.#done = done;
    this.#all = h("input", {
      type: "checkbox",
      "aria-label": "Select all",
      change: () => this.#selectAll(),
    });
    this.selection = new AlarmSelection(api, () => {
      for (const { check } of this.#rows.values()) if (check !== null) check.checked = false;
      done();
    });
  }

  /** Something is typed into a form of it. */
  get isTouched(): boolean {
    return [...this.#rows.values()].some((row) => row.isTouched);
  }

  clear(): void {
    this.#rows.clear();
    this.#bodies.clear();
    this.root.replaceChildren();
  }

  /**
   * @param mayAct each alarm has a box to select it
   * @param areEvents of the history
   */
  show(groups: readonly AlarmGroup[], mayAct: boolean, areEvents: boolean): void {
    this.#showHead(mayAct, areEvents);
    const seen = new Set<string>();
    const bodies = groups.map((group) => {
      const rows = group.alarms.map((alarm) => {
        seen.add(alarm.id);
        const row = this.#rows.get(alarm.id) ?? this.#row(alarm, mayAct, areEvents);
        this.#rows.set(alarm.id, row);
        row.update(alarm);
        return row.root;
      });
      const body =
        this.#bodies.get(group.key) ?? h("tbody", null, groupHead(group, mayAct ? 6 : 5));
      this.#bodies.set(group.key, body);
      const head = body.querySelector(".group");
      arrange(body, head === null ? rows : [head, ...rows]);
      return body;
    });
    for (const id of this.#rows.keys()) if (!seen.has(id)) this.#rows.delete(id);
    arrange(this.root, [this.#head, ...bodies]);
    this.#selected();
  }

  #row(alarm: ShownAlarm, mayAct: boolean, isEvent: boolean): AlarmRow {
    const done = this.#done;
    return new AlarmRow(
      this.#api,
      this.#model,
      alarm,
      done,
      mayAct ? () => this.#selected() : null,
      isEvent,
    );
  }

  #showHead(mayAct: boolean, areEvents: boolean): void {
    replaceAnew(this.#head, `${mayAct} ${areEvents}`, () => [
      h(
        "tr",
        null,
        mayAct && h("th", { scope: "col", class: "c-check" }, this.#all),
        ...["State", "What", "Sensor", areEvents ? "Time" : "Since", "Details"].map((text) =>
          h("th", { scope: "col" }, text),
        ),
      ),
    ]);
  }

  #selectAll(): void {
    for (const { check } of this.#rows.values())
      if (check !== null) check.checked = this.#all.checked;
    this.#selected();
  }
  #selected(): void {
    const rows = [...this.#rows.values()].filter(({ check }) => check?.checked === true);
    this.#all.checked = rows.length > 0 && rows.length === this.#rows.size;
    this.selection.show(
      rows.map(({ alarm, check }) => ({
        id: alarm.id,
        title: (check?.getAttribute("aria-label") ?? "").replace("Select ", ""),
      })),
    );
  }
}

function groupHead({ title, area, machineId }: AlarmGroup, columns: number): HTMLElement | null {
  if (title === "") return null;
  return h(
    "tr",
    { class: "group" },
    h(
      "th",
      { scope: "rowgroup", colspan: columns },
      area !== "" && h("span", { class: "area" }, area),
      machineId === null
        ? h("span", { class: "machine" }, title)
        : h("a", { class: "machine", href: linkTo("machine", String(machineId)) }, title),
    ),
  );
}
