/**
 * A form generated from a JSON Schema: each member a control with its title, description and place for faults. A member
 * that nobody touches stays unchanged, and a member left empty is omitted.
 *
 * In one file: objects contain lists, and lists objects, so each control builds the others.
 */

import { isJsonObject } from "../../../core/record.ts";
import { h, replace } from "../../../dashboard/dom.ts";
import { choicesControl, scalarControl, wordsControl } from "../../../dashboard/setup-controls.ts";
import {
  type Control,
  type FormField,
  group,
  type JsonSchema,
  labelOf,
  newId,
  resolved,
} from "../../../dashboard/setup-schema.ts";

/** What nobody touched is what it was, whatever the control makes of it: line ends, order, words that are not offered. */
function control(member: FormField, isRequired = false): Control {
  const { root, read } = controlFor(member, isRequired);
  const first = JSON.stringify(read());
  const readNow = (): unknown => {
    const now = read();
    return JSON.stringify(now) === first ? member.value : now;
  };
  return { root, read: readNow };
}

function controlFor(member: FormField, isRequired: boolean): Control {
  const { context } = member;
  const own = { ...resolved(member.schema, context.whole), ...context.words(member.path) };
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
      const made: Record<string, unknown> = {};
      // In the order of before; members without a control in the form stay.
      for (const member of new Set([...Object.keys(before), ...parts.keys()])) {
        const part = parts.get(member);
        const read = part === undefined ? before[member] : part.read();
        if (read !== undefined) made[member] = read;
      }
      return Object.keys(made).length === 0 && !options.isBare ? undefined : made;
    },
  };
}

function listControl(field: FormField, of: JsonSchema): Control {
  const { value, path, name, context } = field;
  const items = { ...of, ...context.words(`${path}[]`) };
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
