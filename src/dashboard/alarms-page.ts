/** Alarms as a table: by machine, with filters, and actions on what is selected; their history and what people did. */

import type { AlarmAction, ShownAlarm } from "../core/alarm/shown.ts";
import { messageOf } from "../core/thrown.ts";
import { actionItem } from "./action-item.ts";
import { ApiError } from "./agent-access.ts";
import { ALARM_FILTERS, type AlarmFilter, alarmGroups, isAsked, machineOf } from "./alarm-list.ts";
import { AlarmTable } from "./alarm-table.ts";
import type { Api } from "./api.ts";
import { type Cleanup, h, keptList, replace, replaceAnew, setText } from "./dom.ts";
import { type KnownEvents, withNewest, withOlder } from "./known-events.ts";
import type { Model } from "./model.ts";
import { placeNow, remember } from "./place.ts";
import { READ_ONLY } from "./read-only.ts";
import { type Asking, Refresh } from "./refresh.ts";

const LISTS = [
  ["active", "Active"],
  ["acknowledged", "Acknowledged"],
  ["shelved", "Shelved"],
  ["history", "History"],
  ["said", "Action log"],
] as const;
type ListName = (typeof LISTS)[number][0];

const EMPTY: Readonly<Record<ListName, string>> = {
  active: "No active alarms.",
  acknowledged: "No acknowledged alarms.",
  shelved: "No alarms are shelved.",
  history: "There is no alarm history.",
  said: "No actions yet.",
};
const HISTORY_PAGE = 100;
const ACTIONS = 200;
/** Most changes show in the alarm counts of the status; this interval catches the rest. */
const REFRESH_MS = 10_000;

export function alarmsPage(parent: HTMLElement, api: Api, model: Model): Cleanup {
  const page = new AlarmsPage(api, model);
  replace(parent, page.root);
  return page.stop;
}

type Lists = Awaited<ReturnType<Api["alarms"]>>;

class AlarmsPage {
  readonly root: HTMLElement;
  readonly stop: Cleanup;
  readonly #api: Api;
  readonly #model: Model;
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #filter: AlarmFilter;
  readonly #machines: HTMLSelectElement;
  readonly #grouped: HTMLInputElement;
  readonly #groupedPlace: HTMLElement;
  readonly #note = h("p", { class: "hint", role: "status" });
  readonly #readOnly = h("p", { class: "hint", hidden: true }, READ_ONLY);
  /** By time, one that was read late would stand where nobody looks any more. */
  readonly #order = h("p", { class: "hint" }, "The last to arrive is first, whenever it happened.");
  readonly #table: AlarmTable;
  readonly #actions = h("ul", { class: "alarms" });
  readonly #showActions = keptList<AlarmAction>(
    this.#actions,
    (action) => JSON.stringify(action),
    (action) => ({ root: actionItem(this.#model, action) }),
  );
  readonly #empty = h("p", { class: "empty" });
  readonly #more: HTMLButtonElement;
  #name: ListName;
  #lists: Lists | null = null;
  #known: KnownEvents = { events: [], before: null };
  #counts = "";
  readonly #refresh: Refresh;
  readonly #older: Refresh;

  constructor(api: Api, model: Model) {
    this.#api = api;
    this.#model = model;
    const { query } = placeNow();
    this.#name = LISTS.find(([name]) => name === query.get("list"))?.[0] ?? "active";
    this.#filter = { severity: "", machine: "", text: "" };
    for (const key of ALARM_FILTERS) this.#filter[key] = query.get(key) ?? "";
    this.#buttons = LISTS.map(([name, text]) =>
      h("button", { type: "button", "data-list": name, click: () => this.#choose(name) }, text),
    );
    this.#more = h(
      "button",
      { type: "button", hidden: true, click: () => this.#older.change() },
      "Show older",
    );
    this.#machines = this.#select("machine", []);
    this.#grouped = h("input", {
      type: "checkbox",
      checked: query.get("groups") !== "no",
      change: () => {
        remember({ groups: this.#grouped.checked ? null : "no" });
        this.#show();
      },
    });
    this.#groupedPlace = h("label", { class: "check" }, this.#grouped, " by machine");
    this.#table = new AlarmTable(api, model, () => this.#refresh.change());
    const search = h("input", {
      id: "alarm-text",
      type: "search",
      autocomplete: "off",
      value: this.#filter.text,
      input: () => this.#narrow("text", search.value.trim()),
    });
    const severity = this.#select("severity", [
      ["alarm", "Alarm"],
      ["warning", "Warning"],
    ]);
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": "alarms-title" },
      h(
        "div",
        { class: "panel-head" },
        h("h1", { id: "alarms-title", tabindex: -1 }, "Alarms"),
        h("div", { class: "spans", role: "group", "aria-label": "List" }, ...this.#buttons),
      ),
      h(
        "form",
        { class: "filters", role: "search", submit: (event: Event) => event.preventDefault() },
        field("Search", search, "field grow"),
        field("Severity", severity),
        field("Machine", this.#machines),
        this.#groupedPlace,
      ),
      this.#readOnly,
      this.#order,
      this.#note,
      this.#table.selection.root,
      h("div", { class: "scroll-narrow" }, this.#table.root),
      this.#actions,
      this.#empty,
      this.#more,
    );
    this.#refresh = new Refresh(
      (asking) => this.#ask(asking),
      (error) => this.#failed(error),
      { ms: REFRESH_MS, isDue: () => model.isLive && !document.hidden },
    );
    this.#older = new Refresh(
      async (asking) => {
        const from = this.#known.before;
        const { history, before } = await api.alarms(HISTORY_PAGE, from, asking);
        return () => {
          // Those between may have gone meanwhile.
          if (this.#known.before !== from) return;
          this.#known = withOlder(this.#known, { events: history, before });
          this.#show();
        };
      },
      (error) => void setText(this.#note, `Older alarms could not be read: ${messageOf(error)}`),
    );
    const unsubscribe = model.subscribe((change) => {
      const counts = JSON.stringify([model.status?.alarms, model.status?.activeAlarms]);
      if (change === "status" && counts !== this.#counts) {
        this.#counts = counts;
        this.#refresh.change();
      }
      if (change === "sensors" || change === "machines") this.#show();
    });
    this.stop = () => {
      this.#refresh.stop();
      this.#older.stop();
      unsubscribe();
    };
    this.#refresh.change();
  }

  #select(key: "severity" | "machine", choices: readonly (readonly [string, string])[]) {
    const select = h(
      "select",
      { id: `alarm-${key}`, change: () => this.#narrow(key, select.value) },
      ...optionsOf(choices),
    );
    select.value = this.#filter[key];
    return select;
  }

  #narrow(key: keyof AlarmFilter, value: string): void {
    this.#filter[key] = value;
    remember({ [key]: value });
    this.#show();
  }

  #choose(name: ListName): void {
    if (this.#table.isTouched && !confirm("Leave what you typed?")) return;
    this.#name = name;
    this.#table.clear();
    remember({ list: name === "active" ? null : name });
    this.#show();
    this.#refresh.choose();
  }

  async #ask(asking: Asking): Promise<() => void> {
    const isLog = this.#name === "said";
    const [lists, actions] = await Promise.all([
      this.#api.alarms(this.#name === "history" ? HISTORY_PAGE : 1, null, asking),
      isLog ? this.#api.alarmActions(ACTIONS, asking) : [],
    ]);
    return () => {
      this.#lists = lists;
      if (this.#name === "history")
        this.#known = withNewest(this.#known, { events: lists.history, before: lists.before });
      if (isLog) this.#showActions(actions);
      setText(this.#note, "");
      this.#show();
    };
  }

  #failed(error: unknown): void {
    setText(
      this.#note,
      error instanceof ApiError && error.status === 501
        ? "Alarms are off: ALARMS_ENABLED is false."
        : `The alarms could not be read: ${messageOf(error)}`,
    );
  }

  #alarms(): readonly ShownAlarm[] {
    const name = this.#name;
    if (name === "said" || this.#lists === null) return [];
    return name === "history" ? this.#known.events : this.#lists[name];
  }

  #show(): void {
    const lists = this.#lists;
    const name = this.#name;
    for (const button of this.#buttons) {
      const own = LISTS.find(([one]) => one === button.dataset["list"]);
      if (own === undefined) continue;
      button.setAttribute("aria-pressed", String(own[0] === name));
      const isCounted = lists !== null && own[0] !== "history" && own[0] !== "said";
      setText(button, `${own[1]}${isCounted ? ` (${lists[own[0]].length})` : ""}`);
    }
    this.#groupedPlace.hidden = name === "history" || name === "said";
    this.#more.hidden = name !== "history" || this.#known.before === null;
    this.#order.hidden = name !== "history";
    this.#actions.hidden = name !== "said";
    this.#table.root.hidden = name === "said";
    if (lists === null) return;
    this.#readOnly.hidden = this.#api.mayChange;
    const all = this.#alarms();
    this.#offerMachines(all);
    const asked = all.filter((alarm) => isAsked(this.#model, alarm, this.#filter));
    const isFlat = name === "history" || !this.#grouped.checked;
    this.#table.show(
      name === "history"
        ? [{ key: "all", title: "", area: "", machineId: null, alarms: asked }]
        : alarmGroups(asked, this.#model, !isFlat),
      name !== "history" && this.#api.mayChange,
      name === "history",
    );
    const isEmpty = name === "said" ? !this.#actions.hasChildNodes() : asked.length === 0;
    this.#empty.hidden = !isEmpty;
    const isNarrowed = all.length > 0;
    setText(this.#empty, isNarrowed ? "No alarm matches the filters." : EMPTY[name]);
  }

  #offerMachines(alarms: readonly ShownAlarm[]): void {
    const own = alarms.map(({ sensor }) => machineOf(this.#model, sensor).title);
    const names = [...new Set([...own, this.#filter.machine])].filter((name) => name !== "").sort();
    if (
      replaceAnew(this.#machines, names.join("\n"), () =>
        optionsOf(names.map((name) => [name, name])),
      )
    )
      this.#machines.value = this.#filter.machine;
  }
}

function field(label: string, control: HTMLElement, style = "field"): HTMLElement {
  return h("div", { class: style }, h("label", { for: control.id }, label), control);
}

const optionsOf = (choices: readonly (readonly [string, string])[]) =>
  [["", "All"] as const, ...choices].map(([value, text]) => h("option", { value }, text));
