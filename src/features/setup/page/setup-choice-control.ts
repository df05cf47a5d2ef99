/** Choosing from what there is; "another …" opens a field for what there is not yet. */
import { h, replaceAnew, setAttribute } from "../../../dashboard/dom.ts";
import { numberOrText } from "../../../dashboard/setup-controls.ts";
import {
  type Control,
  type FormField,
  group,
  labelled,
  newId,
} from "../../../dashboard/setup-schema.ts";
import type { Choice } from "./setup-choices.ts";

export interface ChoiceControl extends Control {
  /** Other members of the form may have changed what there is. */
  refresh(): void;
}

type Offer = () => readonly Choice[];

const ANOTHER = "another";
/** With more, a field narrows them down. */
const FILTER_FROM = 20;

/** One of them. */
export function choiceControl(
  field: FormField,
  isRequired: boolean,
  offer: Offer,
  isNumber: boolean,
): ChoiceControl {
  const { value } = field;
  const name = field.schema.title ?? field.name;
  const select = h("select", { id: newId() });
  const other = h("input", {
    type: "text",
    autocomplete: "off",
    "aria-label": `${name}: another`,
    hidden: true,
    ...(isNumber && { inputmode: "decimal" }),
  });
  let choices: readonly Choice[] = [];
  const follow = (): void => {
    other.hidden = select.value !== ANOTHER;
  };
  const refresh = (): void => {
    const chosen = read();
    choices = offer();
    const isNew = replaceAnew(select, JSON.stringify(choices), () => [
      h("option", { value: "" }, "–"),
      ...choices.map(({ label }, at) => h("option", { value: at }, label)),
      h("option", { value: ANOTHER }, "another …"),
    ]);
    if (isNew) choose(chosen);
  };
  const choose = (wanted: unknown): void => {
    const at = choices.findIndex((one) => one.value === wanted);
    select.value = wanted === undefined || wanted === "" ? "" : at < 0 ? ANOTHER : String(at);
    if (select.value === ANOTHER) other.value = String(wanted);
    follow();
  };
  const read = (): unknown => {
    if (select.options.length === 0) return value;
    if (select.value !== ANOTHER) return choices[Number(select.value || -1)]?.value;
    const text = other.value.trim();
    if (text === "") return undefined;
    return isNumber ? numberOrText(text) : text;
  };
  refresh();
  select.addEventListener("change", () => {
    follow();
    if (!other.hidden) other.focus();
  });
  const root = labelled(field, select, isRequired);
  select.after(other);
  return { root, read, refresh };
}

/** Several of them. */
export function choicesListControl(
  field: FormField,
  offer: Offer,
  isNumber: boolean,
): ChoiceControl {
  const { value, path } = field;
  const before: readonly unknown[] = Array.isArray(value) ? value : [];
  const list = h("div", { class: "set-checks set-many" });
  const narrow = h("input", {
    type: "search",
    autocomplete: "off",
    placeholder: "Narrow down",
    "aria-label": `Narrow down: ${field.schema.title ?? field.name}`,
    input: () => showMatches(),
  });
  const other = h("input", {
    id: newId(),
    type: "text",
    autocomplete: "off",
    "data-path": path,
    ...(isNumber && { inputmode: "decimal" }),
  });
  const opened = h(
    "div",
    { class: "set-field", hidden: true },
    h("label", { for: other.id }, "Others, separated by commas"),
    other,
  );
  const open = h(
    "button",
    {
      type: "button",
      click: () => {
        opened.hidden = false;
        open.hidden = true;
        other.focus();
      },
    },
    "another …",
  );
  let boxes: {
    readonly choice: Choice;
    readonly box: HTMLInputElement;
    readonly row: HTMLElement;
  }[] = [];
  let picked = new Set<unknown>(before);
  let isTouched = false;
  const showMatches = (): void => {
    const text = narrow.value.trim().toLowerCase();
    for (const { choice, box, row } of boxes)
      row.hidden = !box.checked && !choice.label.toLowerCase().includes(text);
  };
  const refresh = (): void => {
    const choices = offer();
    const isNew = replaceAnew(list, JSON.stringify(choices), () => {
      boxes = choices.map((choice) => {
        const box = h("input", {
          id: newId(),
          type: "checkbox",
          "data-path": path,
          change: () => {
            isTouched = true;
            if (box.checked) picked.add(choice.value);
            else picked.delete(choice.value);
          },
        });
        box.checked = picked.has(choice.value);
        const row = h(
          "div",
          { class: "set-check" },
          box,
          h("label", { for: box.id }, choice.label),
        );
        return { choice, box, row };
      });
      return boxes.map(({ row }) => row);
    });
    if (!isNew) return;
    narrow.hidden = choices.length < FILTER_FROM;
    showMatches();
  };
  refresh();
  const offered = new Set<unknown>(boxes.map(({ choice }) => choice.value));
  const rest = before.filter((one) => !offered.has(one));
  other.value = rest.map(String).join(", ");
  // What is typed below is not kept twice.
  picked = new Set(before.filter((one) => offered.has(one)));
  opened.hidden = rest.length === 0 && boxes.length > 0;
  open.hidden = !opened.hidden;
  const typed = other.value;
  const root = group(field, before.length === 0 && boxes.length > 8, narrow, list, open, opened);
  setAttribute(root, "data-choices", path);
  return {
    root,
    refresh,
    read: () => {
      if (!isTouched && other.value === typed) return value;
      const others =
        other.value === typed
          ? rest
          : other.value
              .split(",")
              .map((word) => word.trim())
              .filter((word) => word !== "")
              .map((word) => (isNumber ? numberOrText(word) : word));
      const all = [...picked, ...others];
      return all.length === 0 ? undefined : all;
    },
  };
}
