/** Pins the measurement that is shown, so that it stays as a reference. */

import type { ShownMeasurement } from "../core/query/shown.ts";
import { messageOf } from "../core/thrown.ts";
import type { Api } from "./api.ts";
import { h, setText } from "./dom.ts";
import { READ_ONLY } from "./read-only.ts";

const NOTE_MAX = 500;

export class PinForm {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #code: string;
  readonly #onChange: (changed: ShownMeasurement) => void;
  readonly #button: HTMLButtonElement;
  readonly #note: HTMLInputElement;
  readonly #fault = h("p", { role: "alert", class: "fault-text" });
  #shown: ShownMeasurement | null = null;

  constructor(api: Api, code: string, onChange: (changed: ShownMeasurement) => void) {
    this.#api = api;
    this.#code = code;
    this.#onChange = onChange;
    this.#note = h("input", {
      id: "signal-pin",
      maxlength: NOTE_MAX,
      placeholder: "why it is a reference",
      keydown: (event: KeyboardEvent) => {
        if (event.key === "Enter") void this.#send(false);
      },
    });
    this.#button = h("button", { type: "button", click: () => void this.#send(this.#isPinned) });
    this.root = h(
      "div",
      { class: "field pin" },
      h("label", { for: "signal-pin" }, "Pin with a note"),
      h("div", { class: "tools" }, this.#note, this.#button),
      this.#fault,
    );
    this.show(null);
  }

  get #isPinned(): boolean {
    return this.#shown?.kept.some(({ why }) => why === "pin") ?? false;
  }

  show(measurement: ShownMeasurement | null): void {
    this.#shown = measurement;
    this.root.hidden = measurement === null;
    this.#note.value = measurement?.kept.find(({ why }) => why === "pin")?.note ?? "";
    setText(this.#button, this.#isPinned ? "Unpin" : "Pin");
    setText(this.#fault, "");
    const { mayChange } = this.#api;
    this.#button.disabled = !mayChange;
    this.#note.disabled = !mayChange;
    this.#button.title = mayChange ? "" : READ_ONLY;
  }

  async #send(removes: boolean): Promise<void> {
    const shown = this.#shown;
    if (shown === null) return;
    const note = this.#note.value.trim();
    try {
      await this.#api.pin(this.#code, shown.reading, removes ? null : note);
    } catch (error) {
      setText(this.#fault, messageOf(error));
      return;
    }
    const others = shown.kept.filter(({ why }) => why !== "pin");
    const kept = removes ? others : [...others, { why: "pin" as const, note }];
    const changed = { ...shown, kept };
    this.#onChange(changed);
    if (this.#shown === shown) this.show(changed);
  }
}
