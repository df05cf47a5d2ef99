/**
 * The form of one entry: a sensor, a machine, an alarm rule or an uplink.
 * In one file: form, checks, saving and conflicts share the entry as it is being edited.
 */

import type { JsonObject } from "../../../core/record.ts";
import { messageOf } from "../../../core/thrown.ts";
import { h, oncePerFrame, replace } from "../../../dashboard/dom.ts";
import { entriesOf } from "../../../dashboard/setup-difference.ts";
import { pathOf, type Saved, type SetupFault, SetupFile } from "../../../dashboard/setup-file.ts";
import { FaultPlaces, wordOf } from "../../../dashboard/setup-schema.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";
import { showConflict } from "./setup-conflict.ts";
import { EntryFields } from "./setup-fields.ts";
import { type ListView, showNoUplinks } from "./setup-list.ts";
import { EntryPreview } from "./setup-preview.ts";
import { trialPanel } from "./setup-trial.ts";

/** Delay after typing before the agent is asked. */
const CHECK_AFTER_MS = 400;

export async function entryView(
  view: SetupView,
  listName: string,
  list: ListView,
  key: string | null,
): Promise<void> {
  if (list.part === "uplinks" && view.about.uplinks === null) return showNoUplinks(view.place);
  const file = await SetupFile.load(view.api, list.part, view.signal);
  const { content } =
    list.part === "site" ? file : await SetupFile.load(view.api, "site", view.signal);
  if (view.signal.aborted) return;
  new EntryForm(view, listName, list, file, content ?? {}, key);
}

class EntryForm {
  readonly #view: SetupView;
  readonly #listName: string;
  readonly #list: ListView;
  #file: SetupFile;
  /** As it was in the file; null for a new one. */
  readonly #before: JsonObject | null;
  readonly #places = new FaultPlaces();
  readonly #fields: EntryFields;
  readonly #summary = h("div", { class: "set-summary", role: "alert" });
  readonly #touched = new Set<string>();
  readonly #preview = new EntryPreview();
  #isTried = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;

  constructor(
    view: SetupView,
    listName: string,
    list: ListView,
    file: SetupFile,
    site: JsonObject,
    key: string | null,
  ) {
    this.#view = view;
    this.#listName = listName;
    this.#list = list;
    this.#file = file;
    const found = entriesOf(file.content, listName).find((one) => String(one[list.key]) === key);
    this.#before = found ?? null;
    this.#fields = new EntryFields(view, list, this.#before, site, this.#places);
    const follow = () => queueMicrotask(() => this.#follow());
    const form = h(
      "form",
      {
        class: "set-form",
        novalidate: true,
        "aria-label": list.word,
        submit: (event: Event) => {
          event.preventDefault();
          void this.#save();
        },
        change: (event: Event) => this.#changed(event),
        input: (event: Event) => this.#changed(event),
        // Buttons add and remove parts.
        click: follow,
      },
      this.#fields.root,
      this.#preview.root,
      this.#summary,
      this.#buttons(),
    );
    const isGone = key !== null && found === undefined;
    replace(
      view.place,
      isGone &&
        h(
          "p",
          { class: "set-note" },
          `${capital(list.word)} ${key} no longer exists. Saving adds a new one.`,
        ),
      form,
    );
    this.#follow();
    // A page that begins here has its form before the list of sensors.
    const unsubscribe = view.model.subscribe(oncePerFrame(() => this.#fields.follow()));
    view.signal.addEventListener("abort", unsubscribe);
  }

  /** What depends on the rest of the form. */
  #follow(): void {
    this.#fields.follow();
    this.#preview.show(this.#entry());
  }

  #buttons(): HTMLElement {
    const { about } = this.#view;
    const trial = trialPanel(
      this.#view,
      this.#list,
      () => this.#entry(),
      (faults) => this.#showFaults(faults, 0, true)?.focus(),
    );
    const removal = h("div", { class: "set-removal" });
    const askRemove = (): void => {
      const key = wordOf(this.#before?.[this.#list.key]);
      const yes = h(
        "button",
        { type: "button", class: "set-danger", click: () => void this.#save(true) },
        `Remove ${this.#list.word} ${key}`,
      );
      replace(
        removal,
        h("p", null, `${this.#list.removed} `),
        yes,
        h("button", { type: "button", click: () => replace(removal, remove) }, "Keep it"),
      );
      yes.focus();
    };
    const remove = h(
      "button",
      { type: "button", disabled: !about.mayChange, click: askRemove },
      `Remove this ${this.#list.word} …`,
    );
    if (this.#before !== null) replace(removal, remove);
    return h(
      "div",
      null,
      trial,
      h(
        "p",
        { class: "set-actions" },
        h("button", { type: "submit", class: "set-main", disabled: !about.mayChange }, "Save"),
        h(
          "a",
          { class: "set-button", "data-discard": "", href: `#/setup/${this.#listName}` },
          "Back without saving",
        ),
      ),
      removal,
    );
  }

  #entry(): JsonObject {
    return this.#fields.read();
  }

  /** The file with this entry inserted. */
  #content(
    file: SetupFile,
    isRemoved = false,
  ): { readonly content: JsonObject; readonly index: number } {
    const entries = [...entriesOf(file.content, this.#listName)];
    const { key } = this.#list;
    const at =
      this.#before === null ? -1 : entries.findIndex((one) => one[key] === this.#before?.[key]);
    const index = at < 0 ? entries.length : at;
    if (!isRemoved) entries[index] = this.#entry();
    else if (at >= 0) entries.splice(at, 1);
    const list: Record<string, unknown> = { ...file.content, [this.#listName]: entries };
    // Empty optional members are left out.
    if (entries.length === 0 && (this.#listName === "machines" || this.#listName === "alarms"))
      delete list[this.#listName];
    return { content: list, index };
  }

  #changed(event: Event): void {
    this.#follow();
    const path = event.target instanceof HTMLElement ? event.target.dataset["path"] : undefined;
    if (path !== undefined && event.type === "change") {
      this.#touched.add(path);
      if (path === "kinds") this.#fields.kindsChanged();
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), CHECK_AFTER_MS);
  }

  /** Faults of fields that are filled in; all of them once saving was tried. */
  async #check(): Promise<void> {
    const turn = ++this.#turn;
    const { content, index } = this.#content(this.#file);
    try {
      const faults = await this.#file.check(this.#view.api, content);
      if (turn === this.#turn && !this.#view.signal.aborted)
        this.#showFaults(faults, index, this.#isTried);
    } catch {
      // Saving reports it.
    }
  }

  /** @param index of this entry in the file that was checked @returns the first faulty field */
  #showFaults(faults: readonly SetupFault[], index: number, isWhole: boolean): HTMLElement | null {
    this.#places.clear();
    const own = `${this.#listName}[${index}]`;
    const elsewhere: HTMLElement[] = [];
    let first: HTMLElement | null = null;
    for (const fault of faults) {
      const whole = pathOf(fault);
      const isOwn = whole.startsWith(own);
      const path = isOwn ? whole.slice(own.length).replace(/^\./, "") : "";
      const text = `${fault.problem}; ${fault.remedy}`;
      if (isOwn && path !== "") {
        if (!isWhole && !this.#touched.has(path)) continue;
        const shown = this.#places.show(path, text);
        first ??= shown;
        if (shown !== null) continue;
      }
      if (isWhole) elsewhere.push(h("li", null, `${fault.place}: ${text}`));
    }
    replace(
      this.#summary,
      isWhole &&
        faults.length > 0 &&
        h(
          "p",
          { class: "fault-text" },
          elsewhere.length < faults.length ? "Not saved: correct the marked fields." : "Not saved.",
        ),
      elsewhere.length > 0 && h("ul", { class: "set-faults" }, ...elsewhere),
    );
    return first;
  }

  async #save(isRemoved = false): Promise<void> {
    clearTimeout(this.#timer);
    this.#turn += 1;
    this.#isTried = true;
    const { content } = this.#content(this.#file, isRemoved);
    const focused = document.activeElement;
    try {
      const first = this.#became(await this.#file.save(this.#view.api, content), isRemoved);
      // Whoever went on typing meanwhile, types on where they are.
      if (document.activeElement === focused) first?.focus();
    } catch (error) {
      this.#refuse(messageOf(error));
    }
  }

  /** @returns what to look at next; null for what is in view */
  #became(saved: Saved, isRemoved: boolean): HTMLElement | null {
    switch (saved.outcome) {
      case "saved": {
        const name = wordOf((isRemoved ? this.#before : this.#entry())?.[this.#list.key]);
        const did = isRemoved ? "removed" : "saved and in effect";
        this.#view.go(this.#listName, `${capital(this.#list.word)} ${name}: ${did}.`);
        return null;
      }
      case "faults":
        return this.#showFaults(saved.faults, this.#content(this.#file).index, true);
      case "changed":
        return showConflict(this.#summary, {
          mine: this.#file,
          theirs: saved.file,
          word: this.#list.word,
          listName: this.#listName,
          saveMine: () => {
            this.#file = saved.file;
            void this.#save(isRemoved);
          },
        });
      case "refused":
        this.#refuse(saved.message);
        return null;
    }
  }

  #refuse(message: string): void {
    replace(this.#summary, h("p", { class: "fault-text" }, `Not saved: ${message}`));
  }
}

const capital = (word: string): string => `${(word[0] ?? "").toUpperCase()}${word.slice(1)}`;
