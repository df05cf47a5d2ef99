/** Acknowledges all that is open on a machine: it lists what it will acknowledge, and acknowledges that alone. */
import { messageOf } from "../core/thrown.ts";
import { ApiError } from "./agent-access.ts";
import type { Api } from "./api.ts";
import { attempt } from "./attempt.ts";
import { type Child, h, replace, setText } from "./dom.ts";
import { keepName, nameKept } from "./name-kept.ts";

export interface OpenAlarm {
  readonly id: string;
  readonly title: string;
}

const NAME_MAX = 64;
const NOTE_MAX = 500;

export class AcknowledgeAll {
  readonly root = h("div", { class: "alarm-words" });
  readonly #api: Api;
  readonly #key: string;
  readonly #onDone: () => void;
  readonly #open: HTMLButtonElement;
  readonly #said = h("p", { role: "status", class: "sub" });
  #alarms: readonly OpenAlarm[] = [];

  /** @param key names its controls apart from those of other entries */
  constructor(api: Api, key: string, onDone: () => void) {
    this.#api = api;
    this.#key = key.replaceAll(/\W/g, "-");
    this.#onDone = onDone;
    this.#open = h("button", { type: "button", click: () => this.#showForm() });
    replace(this.root, this.#open, this.#said);
    this.show([]);
  }

  /** Somebody is filling it in. */
  get isOpen(): boolean {
    return this.root.querySelector("form") !== null;
  }

  /** What is open now; a form keeps what it listed. */
  show(alarms: readonly OpenAlarm[]): void {
    this.#alarms = alarms;
    setText(this.#open, labelOf(alarms.length));
    this.#open.hidden = alarms.length === 0 || !this.#api.mayChange;
  }

  #close(): void {
    const hadFocus = this.root.contains(document.activeElement);
    replace(this.root, this.#open, this.#said);
    if (hadFocus && !this.#open.hidden) this.#open.focus();
  }

  #showForm(): void {
    const alarms = this.#alarms;
    setText(this.#said, "");
    const id = (name: string) => `${name}-${this.#key}`;
    const name = h("input", {
      id: id("by"),
      maxlength: NAME_MAX,
      autocomplete: "name",
      required: true,
      value: this.#api.person ?? nameKept(),
    });
    const note = h("input", { id: id("note"), maxlength: NOTE_MAX });
    const fault = h("p", { role: "alert", class: "fault-text" });
    const send = attempt(
      () => this.#send(alarms, name.value.trim(), note.value.trim()),
      (why) => setText(fault, why === "" ? "" : `Not done: ${why}`),
    );
    const form = h(
      "form",
      {
        class: "controls",
        "aria-label": labelOf(alarms.length),
        submit: (event: Event) => {
          event.preventDefault();
          keepName(name.value.trim());
          send();
        },
        keydown: (event: KeyboardEvent) => {
          if (event.key === "Escape") this.#close();
        },
      },
      h("ul", { class: "acknowledged-list" }, ...alarms.map(({ title }) => h("li", null, title))),
      field("Your name", name),
      field("Note (optional)", note, "field wide"),
      h("button", { type: "submit", class: "main" }, labelOf(alarms.length)),
      h("button", { type: "button", click: () => this.#close() }, "Cancel"),
      fault,
    );
    replace(this.root, form);
    (name.value === "" ? name : note).focus();
  }

  async #send(alarms: readonly OpenAlarm[], by: string, note: string): Promise<void> {
    const gone: string[] = [];
    for (const { id, title } of alarms) {
      try {
        await this.#api.postAlarmAction(id, "acknowledge", { by, ...(note !== "" && { note }) });
      } catch (error) {
        // Somebody else has acknowledged it, or it has ended.
        if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409))
          throw new Error(messageOf(error), { cause: error });
        gone.push(title);
      }
    }
    const done = alarms.length - gone.length;
    const words: Child[] = [`Done for ${done}.`];
    if (gone.length > 0) words.push(` No longer open: ${gone.join("; ")}.`);
    replace(this.#said, ...words);
    this.#close();
    this.#onDone();
  }
}

const labelOf = (count: number) => (count === 1 ? "Acknowledge" : `Acknowledge all ${count}`);

function field(label: string, control: HTMLElement, style = "field"): HTMLElement {
  return h("div", { class: style }, h("label", { for: control.id }, label), control);
}
