/** Pins the measurement that was shown when the dialog opened, so that it stays as a reference. */

import type { ShownMeasurement } from "../../../core/query/shown.ts";
import { ApiError, refusalText } from "../../../dashboard/agent-access.ts";
import type { Api } from "../../../dashboard/api.ts";
import { attempt } from "../../../dashboard/attempt.ts";
import { h, setText } from "../../../dashboard/dom.ts";
import { READ_ONLY } from "../../../dashboard/read-only.ts";
import type { CreateMeasurementAction, MeasurementAction } from "../../../dashboard/section.ts";

const NOTE_MAX = 500;

export const pinForm: CreateMeasurementAction = (...of) => new PinForm(...of);

class PinForm implements MeasurementAction {
  readonly root: HTMLElement;
  readonly #api: Api;
  readonly #code: string;
  readonly #nameOf: (one: ShownMeasurement) => string;
  readonly #onChange: (changed: ShownMeasurement) => void;
  readonly #open: HTMLButtonElement;
  readonly #remove: HTMLButtonElement;
  readonly #note: HTMLInputElement;
  readonly #which = h("p", { class: "sub" });
  readonly #fault = h("p", { role: "alert", class: "fault-text" });
  readonly #dialog: HTMLDialogElement;
  #shown: ShownMeasurement | null = null;
  /** The one that is being pinned: what is shown may change meanwhile. */
  #pinning: ShownMeasurement | null = null;

  constructor(...[api, code, nameOf, onChange]: Parameters<CreateMeasurementAction>) {
    this.#api = api;
    this.#code = code;
    this.#nameOf = nameOf;
    this.#onChange = onChange;
    this.#note = h("input", {
      id: "signal-pin",
      maxlength: NOTE_MAX,
      placeholder: "why it is a reference",
    });
    const tell = (why: string) => void setText(this.#fault, why);
    const send = attempt(() => this.#send(false), tell);
    this.#remove = h(
      "button",
      { type: "button", click: attempt(() => this.#send(true), tell) },
      "Unpin",
    );
    this.#dialog = h(
      "dialog",
      { class: "pin-dialog", "aria-labelledby": "pin-title" },
      h("h2", { id: "pin-title" }, "Pin this measurement"),
      this.#which,
      h(
        "form",
        {
          submit: (event: Event) => {
            event.preventDefault();
            send();
          },
        },
        h("label", { for: "signal-pin" }, "Note"),
        this.#note,
        h(
          "div",
          { class: "tools" },
          h("button", { type: "submit" }, "Pin"),
          this.#remove,
          h("button", { type: "button", click: () => this.#dialog.close() }, "Cancel"),
        ),
        this.#fault,
      ),
    );
    this.#open = h("button", { type: "button", click: () => this.#begin() }, "Pin …");
    this.root = h("div", { class: "field pin" }, this.#open, this.#dialog);
    this.show(null);
  }

  show(measurement: ShownMeasurement | null): void {
    this.#shown = measurement;
    this.root.hidden = measurement === null && !this.#dialog.open;
    setText(this.#open, isPinned(measurement) ? "Pinned …" : "Pin …");
    const { mayChange } = this.#api;
    this.#open.disabled = !mayChange;
    this.#open.title = mayChange ? "" : READ_ONLY;
  }

  #begin(): void {
    const one = this.#shown;
    if (one === null) return;
    this.#pinning = one;
    setText(this.#which, this.#nameOf(one));
    this.#note.value = one.kept.find(({ why }) => why === "pin")?.note ?? "";
    this.#remove.hidden = !isPinned(one);
    setText(this.#fault, "");
    // The browser gives the focus back to where it was.
    this.#dialog.showModal();
  }

  async #send(removes: boolean): Promise<void> {
    const one = this.#pinning;
    if (one === null) return;
    const note = this.#note.value.trim();
    const path = `sensors/${encodeURIComponent(this.#code)}/measurements/${encodeURIComponent(one.reading)}/pin`;
    const { status, body } = removes
      ? await this.#api.send("DELETE", path)
      : await this.#api.send("POST", path, { note });
    if (status >= 300) throw new ApiError(status, refusalText(body));
    const others = one.kept.filter(({ why }) => why !== "pin");
    const kept = removes ? others : [...others, { why: "pin" as const, note }];
    const changed = { ...one, kept };
    this.#dialog.close();
    this.#onChange(changed);
    if (this.#shown?.reading === one.reading) this.show(changed);
  }
}

const isPinned = (one: ShownMeasurement | null): boolean =>
  one?.kept.some(({ why }) => why === "pin") ?? false;
