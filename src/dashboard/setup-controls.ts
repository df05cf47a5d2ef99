/** Controls of a form that hold no others: a text, a number, a choice, several choices, a short list on one line. */
import { converted, scaleOf } from "../core/read-units.ts";
import { h, setText } from "./dom.ts";
import { number, unitSign } from "./format.ts";
import {
  type Control,
  defaultWords,
  type FormField,
  group,
  type JsonSchema,
  labelled,
  newId,
  wordOf,
} from "./setup-schema.ts";
import { unitsKept } from "./units-kept.ts";
import { choiceWords } from "./words.ts";

export function scalarControl(field: FormField, isRequired: boolean): Control {
  const { schema, value } = field;
  const id = newId();
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const isNumber = types.includes("number") || types.includes("integer");
  const words = new Map<string, unknown>(
    types.includes("boolean")
      ? [["Yes", true] as const, ["No", false] as const]
      : (schema.enum ?? []).map((one) => [String(one), one] as const),
  );
  if (words.size > 0) {
    const select = h(
      "select",
      { id },
      h("option", { value: "" }, defaultWords(schema)),
      ...[...words.keys()].map((word) => h("option", { value: word }, choiceWords(word))),
    );
    select.value = [...words].find(([, one]) => one === value)?.[0] ?? "";
    const root = labelled(field, select, isRequired);
    return { root, read: () => words.get(select.value) };
  }
  const input = h("input", {
    id,
    // Not type="number": there, some browsers drop a decimal comma, so that 0,5 becomes 05.
    ...(isNumber && { inputmode: "decimal" }),
    ...(schema.maxLength !== undefined && { maxlength: schema.maxLength }),
    ...(schema.format === "password" && { type: "password" }),
    autocomplete: schema.format === "password" ? "new-password" : "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: defaultWords(schema, ""),
    value: wordOf(value),
  });
  const root = labelled(field, input, isRequired);
  return {
    root,
    read: () => {
      const text = input.value.trim();
      if (text === "") return undefined;
      return isNumber ? numberOrText(text) : text;
    },
  };
}

/** Several choices from a few words. */
export function choicesControl(field: FormField, words: readonly (string | number)[]): Control {
  const { value, path } = field;
  const chosen = Array.isArray(value) ? value : [];
  const boxes = words.map((word) => {
    const id = newId();
    const box = h("input", { id, type: "checkbox", "data-path": path, value: word });
    box.checked = chosen.includes(word);
    return {
      word,
      box,
      root: h(
        "div",
        { class: "set-check" },
        box,
        h("label", { for: id }, choiceWords(String(word))),
      ),
    };
  });
  const root = group(
    field,
    false,
    h("div", { class: "set-checks" }, ...boxes.map((one) => one.root)),
  );
  return {
    root,
    read: () => {
      const picked = boxes.filter(({ box }) => box.checked).map(({ word }) => word);
      return picked.length === 0 && value === undefined ? undefined : picked;
    },
  };
}

/** The same in the units of this browser, beside what is written in the unit that the title names. */
function besideAsRead({ title = "" }: JsonSchema, input: HTMLInputElement): HTMLElement[] {
  const unit = /, (\S+)$/.exec(title)?.[1] ?? "";
  const conversion = scaleOf(unit, unitsKept());
  if (conversion === null || conversion.scale === 1) return [];
  const beside = h("p", { class: "hint" });
  const show = (): void => {
    const numbers = input.value.split(",").map((word) => word.trim());
    const isRead = numbers.every((word) => word !== "" && Number.isFinite(Number(word)));
    const shown = numbers.map((word) => number(converted(Number(word), conversion)));
    setText(beside, isRead ? `= ${shown.join(", ")} ${unitSign(conversion.unit)}` : "");
  };
  input.addEventListener("input", show);
  show();
  return [beside];
}

/** A short list of texts or numbers on one line. */
export function wordsControl(field: FormField, items: JsonSchema): Control {
  const { schema, value } = field;
  const isNumber = items.type === "number" || items.type === "integer";
  const description = `${schema.description ?? ""} Separated by commas.`.trim();
  const input = h("input", {
    id: newId(),
    autocomplete: "off",
    ...(isNumber && { inputmode: "decimal" }),
    value: Array.isArray(value) ? value.join(", ") : "",
  });
  const root = labelled({ ...field, schema: { ...schema, description } }, input);
  if (isNumber) root.append(...besideAsRead(schema, input));
  return {
    root,
    read: () => {
      const words = input.value
        .split(",")
        .map((word) => word.trim())
        .filter((word) => word !== "");
      if (words.length === 0) return undefined;
      return words.map((word) => (isNumber ? numberOrText(word) : word));
    },
  };
}

/** What is no number stays as it was typed: the agent then says what is wrong with it, as with 0,5. */
export function numberOrText(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}
