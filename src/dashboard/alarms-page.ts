/** Alarms by limits and baselines: active, acknowledged, shelved and past, with their notes. */

import type { AlarmAction, AlarmLists, ShownAlarm } from "../core/alarm/shown.ts";
import { parsedObject } from "../core/parsed-json.ts";
import { messageOf } from "../core/thrown.ts";
import { AlarmActionForm } from "./alarm-form.ts";
import { alarmLink, alarmName, alarmValue, severityBadge } from "./alarm-words.ts";
import { type Api, ApiError } from "./api.ts";
import { type Cleanup, h, replace, setText } from "./dom.ts";
import { quantity } from "./format.ts";
import { timedText, timeNode } from "./marks.ts";
import type { Model } from "./model.ts";
import { placeNow, remember } from "./place.ts";
import { READ_ONLY } from "./read-only.ts";
import { Refresh } from "./refresh.ts";

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

class AlarmsPage {
  readonly root: HTMLElement;
  readonly stop: Cleanup;
  readonly #api: Api;
  readonly #model: Model;
  readonly #buttons: readonly HTMLButtonElement[];
  readonly #list = h("ul", { class: "alarms" });
  readonly #note = h("p", { class: "hint", role: "status" });
  readonly #readOnly = h("p", { class: "hint", hidden: true }, READ_ONLY);
  readonly #more: HTMLButtonElement;
  #name: ListName;
  #lists: AlarmLists | null = null;
  #older: readonly ShownAlarm[] = [];
  #before: number | null = null;
  #actions: readonly AlarmAction[] = [];
  #shown = "";
  #counts = "";
  readonly #refresh: Refresh;

  constructor(api: Api, model: Model) {
    this.#api = api;
    this.#model = model;
    const requested = placeNow().query.get("list");
    this.#name = LISTS.find(([name]) => name === requested)?.[0] ?? "active";
    this.#buttons = LISTS.map(([name, text]) =>
      h("button", { type: "button", "data-list": name, click: () => this.#choose(name) }, text),
    );
    this.#more = h(
      "button",
      { type: "button", hidden: true, click: () => void this.#loadOlder() },
      "Show older",
    );
    this.root = h(
      "section",
      { class: "panel", "aria-labelledby": "alarms-title" },
      h(
        "div",
        { class: "panel-head" },
        h("h1", { id: "alarms-title", tabindex: -1 }, "Alarms"),
        h("div", { class: "spans", role: "group", "aria-label": "List" }, ...this.#buttons),
      ),
      this.#readOnly,
      this.#note,
      this.#list,
      this.#more,
    );
    this.#refresh = new Refresh(
      () => this.#ask(),
      (error) => this.#failed(error),
      { ms: REFRESH_MS, isDue: () => model.isLive && !document.hidden },
    );
    const unsubscribe = model.subscribe((change) => {
      const counts = JSON.stringify(model.status?.alarms);
      if (change === "status" && counts !== this.#counts) {
        this.#counts = counts;
        this.#refresh.change();
      }
      if (change === "sensors") this.#show();
    });
    this.stop = () => {
      this.#refresh.stop();
      unsubscribe();
    };
    this.#refresh.change();
  }

  #choose(name: ListName): void {
    this.#name = name;
    remember({ list: name === "active" ? null : name });
    this.#shown = "";
    this.#show();
    this.#refresh.choose();
  }

  async #ask(): Promise<() => void> {
    const [lists, actions] = await Promise.all([
      this.#api.alarms(this.#name === "history" ? HISTORY_PAGE : 1),
      this.#name === "said" ? this.#api.alarmActions(ACTIONS) : this.#actions,
    ]);
    return () => {
      if (this.#older.length === 0) this.#before = lists.before;
      this.#lists = lists;
      this.#actions = actions;
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

  async #loadOlder(): Promise<void> {
    try {
      const { history, before } = await this.#api.alarms(HISTORY_PAGE, this.#before);
      this.#older = [...this.#older, ...history];
      this.#before = before;
      this.#show();
    } catch (error) {
      setText(this.#note, `Older alarms could not be read: ${messageOf(error)}`);
    }
  }

  /** The first page is refreshed while older ones stay as loaded; an alarm in both is shown once. */
  #history(): readonly ShownAlarm[] {
    const known = new Set<string>();
    return [...(this.#lists?.history ?? []), ...this.#older].filter(({ id }) => {
      if (known.has(id)) return false;
      known.add(id);
      return true;
    });
  }

  #show(): void {
    const lists = this.#lists;
    for (const button of this.#buttons) {
      const name = button.dataset["list"];
      button.setAttribute("aria-pressed", String(name === this.#name));
      const text = LISTS.find(([one]) => one === name)?.[1] ?? "";
      const count =
        lists !== null && (name === "active" || name === "acknowledged" || name === "shelved")
          ? ` (${lists[name].length})`
          : "";
      setText(button, `${text}${count}`);
    }
    this.#more.hidden = this.#name !== "history" || this.#before === null;
    if (lists === null) return;
    const name = this.#name;
    const alarms = name === "said" ? [] : name === "history" ? this.#history() : lists[name];
    const log = name === "said" ? this.#actions : [];
    const { mayChange } = this.#api;
    this.#readOnly.hidden = mayChange;
    const key = JSON.stringify([name, alarms, log, this.#model.sensors.size, mayChange]);
    // A form that somebody is filling in is not removed.
    if (key === this.#shown || this.#list.querySelector("form") !== null) return;
    this.#shown = key;
    replace(
      this.#list,
      ...alarms.map((alarm) => this.#item(alarm, name !== "history" && mayChange)),
      ...log.map((action) => actionItem(this.#model, action)),
      alarms.length + log.length === 0 && h("li", { class: "empty" }, EMPTY[name]),
    );
  }

  #item(alarm: ShownAlarm, hasActions: boolean): HTMLElement {
    const model = this.#model;
    const sensor = model.sensors.get(alarm.sensor);
    const name = sensor?.name ?? alarm.name ?? `Sensor ${alarm.sensor}`;
    const what = [alarmName(alarm.alarm), alarmValue(alarm, sensor)].filter((part) => part !== "");
    return h(
      "li",
      {
        class: `alarm ${alarm.severity === "alarm" ? "severe" : (alarm.severity ?? "")}`,
        "data-alarm": alarm.id,
      },
      h(
        "div",
        { class: "alarm-head" },
        severityBadge(alarm),
        h("a", { href: alarmLink(alarm) }, name),
        h("span", { class: "sub" }, what.join(" · ")),
        alarm.historical === true && h("span", { class: "sub" }, "from history"),
      ),
      alarm.text !== undefined && h("p", null, timedText(model, alarm.text)),
      h("p", { class: "sub" }, ...factsOf(model, alarm)),
      hasActions &&
        new AlarmActionForm(this.#api, model, alarm, () => {
          this.#shown = "";
          this.#refresh.change();
        }).root,
    );
  }
}

function factsOf(model: Model, alarm: ShownAlarm): (Node | string)[] {
  const { raised, time, worst, limit, unit, acknowledged, shelved, note } = alarm;
  const facts: (Node | string)[][] = [];
  const at = (text: string) => timeNode(model, Date.parse(text));
  if (raised !== undefined) facts.push(["raised ", at(raised)]);
  if (alarm.state === "cleared" && time !== undefined) facts.push(["ended ", at(time)]);
  if (typeof limit === "number") facts.push([`limit ${quantity(limit, unit)}`]);
  if (typeof worst?.measured === "number")
    facts.push([`worst ${quantity(worst.measured, unit)} `, at(worst.time)]);
  if (acknowledged !== null) facts.push(["acknowledged by ", ...attribution(acknowledged, at)]);
  if (shelved)
    facts.push(["shelved until ", at(shelved.until), " by ", ...attribution(shelved, at)]);
  if (note) facts.push(["note by ", ...attribution(note, at)]);
  return facts.flatMap((fact, i) => (i === 0 ? fact : [" · ", ...fact]));
}

function attribution(
  { by, time, note }: { readonly by: string; readonly time: string; readonly note: string | null },
  at: (text: string) => Node,
): (Node | string)[] {
  return [`${by}, `, at(time), note === null ? "" : `: “${note}”`];
}

const ACTION_WORDS: Readonly<Record<string, string>> = {
  acknowledge: "acknowledged",
  shelve: "shelved",
  unshelve: "unshelved",
  note: "added a note to",
  relearn: "restarted learning of",
};

function actionItem(model: Model, action: AlarmAction): HTMLElement {
  const { who, what, subject, timeMs, source } = action;
  const outcome = timedText(model, action.outcome);
  return h(
    "li",
    { class: "alarm" },
    h(
      "p",
      null,
      timeNode(model, timeMs, "full"),
      ` ${who} ${ACTION_WORDS[what] ?? what} ${subject}${noteOf(action)}`,
    ),
    h(
      "p",
      { class: "sub" },
      `by ${source}`,
      action.outcome !== "done" && ", refused: ",
      action.outcome !== "done" && outcome,
    ),
  );
}

function noteOf({ detail }: AlarmAction): string {
  const note = parsedObject(detail)?.["note"];
  return typeof note === "string" && note !== "" ? `: “${note}”` : "";
}
