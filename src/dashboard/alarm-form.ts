/** Acknowledge, shelve, unshelve, note: the buttons of an alarm and their texts. */

import { ALARM_ACTION_NAMES, type AlarmActionName, type ShownAlarm } from "../core/alarm/shown.ts";
import { withTimes } from "../core/text/times-in-text.ts";
import type { Api } from "./api.ts";
import { attempt } from "./attempt.ts";
import { h, replace, setText } from "./dom.ts";
import type { Model } from "./model.ts";
import { keepName, nameKept } from "./name-kept.ts";

export const BUTTONS: Readonly<Record<AlarmActionName, string>> = {
  acknowledge: "Acknowledge",
  shelve: "Shelve",
  unshelve: "Unshelve",
  note: "Note",
};
const SHELF_TIMES = [
  [60, "1 hour"],
  [480, "8 hours"],
  [1_440, "1 day"],
  [10_080, "7 days"],
  [43_200, "30 days"],
] as const;
const NAME_MAX = 64;
const NOTE_MAX = 500;

type FormAlarm = Pick<ShownAlarm, "id" | "state" | "acknowledged" | "shelved">;

export class AlarmActionForm {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #model: Model;
  #alarm: FormAlarm;
  readonly #onDone: () => void;
  readonly #offered: readonly AlarmActionName[];

  /** @param offered of the actions that are possible, those to offer */
  constructor(
    api: Api,
    model: Model,
    alarm: FormAlarm,
    onDone: () => void,
    offered: readonly AlarmActionName[] = ALARM_ACTION_NAMES,
  ) {
    this.#api = api;
    this.#model = model;
    this.#alarm = alarm;
    this.#onDone = onDone;
    this.#offered = offered;
    this.root = h("div", { class: "alarm-words" });
    this.#showButtons();
  }

  get isTouched(): boolean {
    return [...this.root.querySelectorAll("input")].some(
      (input) => input.value !== input.defaultValue,
    );
  }

  /** What can be done with it now; a form that is open stays. */
  update(alarm: FormAlarm): void {
    const before = this.#words().join();
    this.#alarm = alarm;
    if (this.root.querySelector("form") !== null || before === this.#words().join()) return;
    const { activeElement: active } = document;
    const focused =
      active instanceof HTMLElement && this.root.contains(active)
        ? active.dataset["word"]
        : undefined;
    this.#showButtons(ALARM_ACTION_NAMES.find((word) => word === focused));
  }

  #words(): AlarmActionName[] {
    const { state, acknowledged, shelved } = this.#alarm;
    const isShelved = shelved !== null && shelved !== undefined;
    const possible: AlarmActionName[] = [
      ...(state === "active" && acknowledged === null ? ["acknowledge" as const] : []),
      isShelved ? "unshelve" : "shelve",
      "note",
    ];
    return possible.filter((word) => this.#offered.includes(word));
  }

  #showButtons(focus?: AlarmActionName): void {
    const buttons = this.#words().map((word) =>
      h(
        "button",
        { type: "button", "data-word": word, click: () => this.#openForm(word) },
        `${BUTTONS[word]} …`,
      ),
    );
    replace(this.root, ...buttons);
    buttons.find(({ dataset }) => dataset["word"] === focus)?.focus();
  }

  #openForm(word: AlarmActionName): void {
    const { name, note, time, body } = actionFields(this.#api, this.#alarm.id, word);
    const fault = h("p", { role: "alert", class: "fault-text" });
    const send = attempt(
      async () => {
        await this.#api.postAlarmAction(this.#alarm.id, word, body());
        this.#showButtons(word);
        this.#onDone();
      },
      (why) => {
        const words = withTimes(why, (ms) => this.#model.times.full(ms));
        setText(fault, why === "" ? "" : `Not done: ${words}`);
      },
    );
    const form = h(
      "form",
      {
        class: "controls",
        "aria-label": BUTTONS[word],
        submit: (event: Event) => {
          event.preventDefault();
          keepName(name.value.trim());
          send();
        },
        keydown: (event: KeyboardEvent) => {
          if (event.key === "Escape") this.#showButtons(word);
        },
      },
      field("Your name", name),
      time !== null && field("For", time),
      field(word === "note" ? "Note" : "Note (optional)", note, "field wide"),
      h("button", { type: "submit" }, BUTTONS[word]),
      h("button", { type: "button", click: () => this.#showButtons(word) }, "Cancel"),
      fault,
    );
    replace(this.root, form);
    (name.value === "" ? name : note).focus();
  }
}

/** Name, note and, to shelve, the time. */
export function actionFields(api: Api, key: string, word: AlarmActionName) {
  const id = (name: string) => `${name}-${key}`;
  const name = h("input", {
    id: id("by"),
    maxlength: NAME_MAX,
    autocomplete: "name",
    required: true,
    value: api.person ?? nameKept(),
  });
  const note = h("input", { id: id("note"), maxlength: NOTE_MAX, required: word === "note" });
  const time =
    word === "shelve"
      ? h(
          "select",
          { id: id("time") },
          ...SHELF_TIMES.map(([minutes, text]) => h("option", { value: minutes }, text)),
        )
      : null;
  if (time !== null) time.value = "480";
  const body = (): object => {
    const remark = note.value.trim();
    return {
      by: name.value.trim(),
      ...(remark !== "" && { note: remark }),
      ...(time !== null && { minutes: Number(time.value) }),
    };
  };
  return { name, note, time, body };
}

export function field(label: string, control: HTMLElement, style = "field"): HTMLElement {
  return h("div", { class: style }, h("label", { for: control.id }, label), control);
}
