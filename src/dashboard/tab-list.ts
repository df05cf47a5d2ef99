/** One place with several views of it, by pointer and by arrow keys. */
import { h, setAttribute } from "./dom.ts";

export interface Tab {
  readonly key: string;
  readonly text: string;
  readonly panel: HTMLElement;
}

export class TabList {
  readonly root: HTMLElement;
  readonly #tabs: readonly (Tab & { readonly button: HTMLButtonElement })[];
  readonly #onChange: (key: string) => void;
  #key: string;

  /** @param name of what the tabs show, for screen readers */
  constructor(name: string, tabs: readonly Tab[], key: string, onChange: (key: string) => void) {
    this.#onChange = onChange;
    this.#tabs = tabs.map((tab) => ({
      ...tab,
      button: h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${tab.key}`,
          "aria-controls": `panel-${tab.key}`,
          click: () => this.choose(tab.key),
        },
        tab.text,
      ),
    }));
    for (const { key: own, panel } of this.#tabs) {
      panel.id = `panel-${own}`;
      setAttribute(panel, "role", "tabpanel");
      setAttribute(panel, "aria-labelledby", `tab-${own}`);
    }
    this.#key = tabs.some((tab) => tab.key === key) ? key : (tabs[0]?.key ?? "");
    this.root = h(
      "div",
      {
        class: "tab-list",
        role: "tablist",
        "aria-label": name,
        keydown: (event: KeyboardEvent) => this.#onKey(event),
      },
      ...this.#tabs.map(({ button }) => button),
    );
    this.#show();
  }

  get key(): string {
    return this.#key;
  }

  choose(key: string): void {
    if (key === this.#key) return;
    this.#key = key;
    this.#show();
    this.#onChange(key);
  }

  #show(): void {
    for (const { key, button, panel } of this.#tabs) {
      const isChosen = key === this.#key;
      setAttribute(button, "aria-selected", String(isChosen));
      setAttribute(button, "tabindex", isChosen ? 0 : -1);
      panel.hidden = !isChosen;
    }
  }

  #onKey(event: KeyboardEvent): void {
    const at = this.#tabs.findIndex(({ key }) => key === this.#key);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next =
      by === undefined ? undefined : this.#tabs[(at + by + this.#tabs.length) % this.#tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    this.choose(next.key);
    next.button.focus();
  }
}
