/**
 * A form generated from a JSON Schema: each member a control with its title, description and place for faults. A member
 * that nobody touches stays unchanged, and a member left empty is omitted.
 *
 * In one file: objects contain lists, and lists objects, so each control builds the others.
 */

import { converted, scaleOf } from "../core/read-units.ts";
import { isJsonObject } from "../core/record.ts";
import { h, replace, setText } from "./dom.ts";
import { number, unitSign } from "./format.ts";
import {
  type Control,
  defaultWords,
  type FormField,
  group,
  type JsonSchema,
  labelled,
  labelOf,
  newId,
  resolved,
  wordOf,
} from "./setup-schema.ts";
import { unitsKept } from "./units-kept.ts";
import { choiceWords } from "./words.ts";

function control(member: FormField, isRequired = false): Control {
  const { context } = member;
  const own = resolved(member.schema, context.whole);
  const field = { ...member, schema: own };
  const special = context.special(field, isRequired);
  if (special !== null) return special;
  const items = own.items === undefined ? null : resolved(own.items, context.whole);
  if (own.type === "object") {
    return typeof own.additionalProperties === "object"
      ? mapControl(field)
      : objectControl(field, { isRequired });
  }
  if (items?.enum !== undefined) return choicesControl(field, items.enum);
  if (items?.type === "object" || items?.properties !== undefined) return listControl(field, items);
  if (items !== null) return wordsControl(field, items);
  return scalarControl(field, isRequired);
}

function scalarControl(field: FormField, isRequired: boolean): Control {
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
  // As the browser holds it: line ends are not in it.
  const before = input.value;
  return {
    root,
    read: () => {
      if (input.value === before) return value;
      const text = input.value.trim();
      if (text === "") return undefined;
      return isNumber ? numberOrText(text) : text;
    },
  };
}

interface ObjectOptions {
  readonly isRequired?: boolean;
  /**
   * Members shown first, in this order; the others are folded under "More". By default, all members in the schema's
   * order.
   */
  readonly first?: readonly string[];
  /** Without a border around it. */
  readonly isBare?: boolean;
  /** Only these members. */
  readonly only?: readonly string[];
}

export function objectControl(field: FormField, options: ObjectOptions = {}): Control {
  const { schema, value, path, context } = field;
  const before = isJsonObject(value) ? value : {};
  const names = Object.keys(schema.properties ?? {}).filter(
    (one) => one !== "$schema" && (options.only?.includes(one) ?? true),
  );
  const parts = new Map<string, Control>();
  for (const member of names) {
    const place = path === "" ? member : `${path}.${member}`;
    const part = schema.properties?.[member] ?? {};
    const inner = { schema: part, value: before[member], path: place, name: member, context };
    parts.set(member, control(inner, schema.required?.includes(member)));
  }
  const first = options.first?.filter((one) => parts.has(one)) ?? names;
  const rest = names.filter((one) => !first.includes(one));
  const rootsOf = (members: readonly string[]) =>
    members.flatMap((one) => parts.get(one)?.root ?? []);
  const more =
    rest.length === 0
      ? null
      : h(
          "details",
          {
            class: "set-more",
            open: rest.some((one) => before[one] !== undefined && rest.length < 8),
          },
          h("summary", null, "More"),
          ...rootsOf(rest),
        );
  const children = [...rootsOf(first), more];
  const isFolded = !options.isRequired && Object.keys(before).length === 0;
  const root = options.isBare
    ? h("div", { class: "set-members" }, ...children)
    : group(field, isFolded, ...children);
  return {
    root,
    read: () => {
      // Members without a control in the form stay.
      const made: Record<string, unknown> = Object.fromEntries(
        Object.entries(before).filter(([member]) => !parts.has(member)),
      );
      for (const [member, part] of parts) {
        const read = part.read();
        if (read !== undefined) made[member] = read;
      }
      return Object.keys(made).length === 0 && !options.isBare ? undefined : made;
    },
  };
}

/** Several choices from a few words. */
function choicesControl(field: FormField, words: readonly (string | number)[]): Control {
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
function wordsControl(field: FormField, items: JsonSchema): Control {
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
  const before = input.value;
  return {
    root,
    read: () => {
      // An item may itself have a comma.
      if (input.value === before) return value;
      const words = input.value
        .split(",")
        .map((word) => word.trim())
        .filter((word) => word !== "");
      if (words.length === 0) return undefined;
      return words.map((word) => (isNumber ? numberOrText(word) : word));
    },
  };
}

function listControl(field: FormField, items: JsonSchema): Control {
  const { value, path, name, context } = field;
  const rows = h("div", { class: "set-rows" });
  const what = labelOf({ schema: items, name });
  let parts: Control[] = [];
  const show = (values: readonly unknown[]): void => {
    context.places.drop(`${path}[`);
    parts = values.map((one, i) => {
      const item = { schema: items, value: one, path: `${path}[${i}]`, name: `${what} ${i + 1}` };
      return objectControl({ ...item, context }, { isRequired: true });
    });
    replace(
      rows,
      ...parts.flatMap(({ root }, i) => [
        root,
        h(
          "button",
          {
            type: "button",
            click: () => show(parts.map((part) => part.read() ?? {}).filter((_, at) => at !== i)),
          },
          `Remove ${what} ${i + 1}`,
        ),
      ]),
    );
  };
  show(Array.isArray(value) ? value : []);
  const add = h(
    "button",
    { type: "button", click: () => show([...parts.map((part) => part.read() ?? {}), {}]) },
    `Add: ${what}`,
  );
  const root = group(field, parts.length === 0, rows, add);
  return {
    root,
    read: () =>
      parts.length === 0 && value === undefined
        ? undefined
        : parts.map((part) => part.read() ?? {}),
  };
}

/** Members with names chosen by a person. */
function mapControl(field: FormField): Control {
  const { schema, value, path, context } = field;
  const { additionalProperties: items } = schema;
  const item = typeof items === "object" ? resolved(items, context.whole) : {};
  const rows = h("div", { class: "set-rows" });
  let parts: { readonly key: HTMLInputElement; readonly part: Control }[] = [];
  const entries = (): [string, unknown][] =>
    parts.map(({ key, part }) => [key.value.trim(), part.read() ?? {}]);
  const show = (values: readonly (readonly [string, unknown])[]): void => {
    context.places.drop(`${path}.`);
    parts = values.map(([key, one]) => {
      const input = h("input", { id: newId(), value: key, autocomplete: "off" });
      const member = { schema: item, value: one, path: `${path}.${key}`, name: key, context };
      const part = objectControl(member, { isRequired: true });
      return { key: input, part };
    });
    replace(
      rows,
      ...parts.flatMap(({ key, part }, i) => [
        h("div", { class: "set-field" }, h("label", { for: key.id }, `Name ${i + 1}`), key),
        part.root,
        h(
          "button",
          { type: "button", click: () => show(entries().filter((_, at) => at !== i)) },
          `Remove name ${i + 1}`,
        ),
      ]),
    );
  };
  show(Object.entries(isJsonObject(value) ? value : {}));
  const add = h(
    "button",
    { type: "button", click: () => show([...entries(), ["", {}]]) },
    "Add a name",
  );
  const root = group(field, parts.length === 0, rows, add);
  return {
    root,
    read: () => (parts.length === 0 ? undefined : Object.fromEntries(entries())),
  };
}

/** What is no number stays as it was typed: the agent then says what is wrong with it, as with 0,5. */
export function numberOrText(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}
