/** The controls of a filter: each writes its member and applies it. */
import { h } from "./dom.ts";
import type { Filter } from "./sensor-filter.ts";

export function searchField(filter: Filter, apply: () => void): HTMLElement {
  const search = h("input", {
    id: "search",
    type: "search",
    placeholder: "Name, code, machine …",
    autocomplete: "off",
    value: filter.text,
    input: () => {
      filter.text = search.value.trim();
      apply();
    },
  });
  return h("div", { class: "field grow" }, h("label", { for: "search" }, "Search"), search);
}

export function labelled(label: string, control: HTMLElement): HTMLElement {
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control);
}

/** A choice of one member of the filter; empty for all. */
export function select(
  label: string,
  filter: Filter,
  key: Exclude<keyof Filter, "text">,
  choices: readonly (readonly [string, string])[],
  apply: () => void,
): HTMLSelectElement {
  const element = h(
    "select",
    {
      id: `filter-${label.toLowerCase()}`,
      change: () => {
        filter[key] = element.value;
        apply();
      },
    },
    ...options(choices),
  );
  element.value = filter[key];
  return element;
}

/** For all, and for each choice. */
export function options(choices: readonly (readonly [string, string])[]): HTMLElement[] {
  return [["", "All"] as const, ...choices].map(([value, text]) => h("option", { value }, text));
}
