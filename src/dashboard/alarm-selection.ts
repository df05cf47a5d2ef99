/** Acknowledges, shelves or notes what is selected in the table of alarms. */
import { ALARM_ACTION_NAMES, type AlarmActionName } from "../core/alarm/shown.ts";
import { messageOf } from "../core/thrown.ts";
import { ApiError } from "./agent-access.ts";
import { actionFields, BUTTONS, field } from "./alarm-form.ts";
import type { Api } from "./api.ts";
import { attempt } from "./attempt.ts";
import { h, replace, setText } from "./dom.ts";
import { keepName } from "./name-kept.ts";

export interface Selected {
  readonly id: string;
  readonly title: string;
}

export class AlarmSelection {
  readonly root = h("div", { class: "selection", hidden: true });
  readonly #api: Api;
  readonly #onDone: () => void;
  readonly #count = h("span", { role: "status" });
  readonly #place = h("div", { class: "alarm-words" });
  #selected: readonly Selected[] = [];

  constructor(api: Api, onDone: () => void) {
    this.#api = api;
    this.#onDone = onDone;
    replace(this.root, this.#count, this.#place);
    this.#showButtons();
  }

  show(selected: readonly Selected[]): void {
    this.#selected = selected;
    const isOpen = this.#place.querySelector("form") !== null;
    this.root.hidden = selected.length === 0 && !isOpen;
    setText(this.#count, `${selected.length} selected`);
  }

  #showButtons(said = ""): void {
    replace(
      this.#place,
      ...ALARM_ACTION_NAMES.map((word) =>
        h(
          "button",
          { type: "button", click: () => this.#openForm(word) },
          `${BUTTONS[word]} selected …`,
        ),
      ),
      said !== "" && h("p", { class: "sub", role: "status" }, said),
    );
  }

  #openForm(word: AlarmActionName): void {
    const selected = this.#selected;
    if (selected.length === 0) return;
    const { name, note, time, body } = actionFields(this.#api, "selection", word);
    const fault = h("p", { role: "alert", class: "fault-text" });
    const send = attempt(
      () => this.#send(selected, word, body()),
      (why) => setText(fault, why === "" ? "" : `Not done: ${why}`),
    );
    const label = `${BUTTONS[word]} ${selected.length}`;
    const form = h(
      "form",
      {
        class: "controls",
        "aria-label": label,
        submit: (event: Event) => {
          event.preventDefault();
          keepName(name.value.trim());
          send();
        },
      },
      h("ul", { class: "acknowledged-list" }, ...selected.map(({ title }) => h("li", null, title))),
      field("Your name", name),
      time !== null && field("For", time),
      field(word === "note" ? "Note" : "Note (optional)", note, "field wide"),
      h("button", { type: "submit" }, label),
      h("button", { type: "button", click: () => this.#showButtons() }, "Cancel"),
      fault,
    );
    replace(this.#place, form);
    (name.value === "" ? name : note).focus();
  }

  async #send(selected: readonly Selected[], word: AlarmActionName, body: object): Promise<void> {
    const gone: string[] = [];
    for (const { id, title } of selected) {
      try {
        await this.#api.postAlarmAction(id, word, body);
      } catch (error) {
        if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409))
          throw new Error(messageOf(error), { cause: error });
        gone.push(title);
      }
    }
    const done = `Done for ${selected.length - gone.length}.`;
    this.#showButtons(gone.length === 0 ? done : `${done} No longer open: ${gone.join("; ")}.`);
    this.#onDone();
  }
}
