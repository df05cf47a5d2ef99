/** Building blocks of the form: the schema, labels and boxes, and the place where each fault is shown. */
import { h, setAttribute, setText } from "./dom.ts";

export interface JsonSchema {
  readonly $ref?: string;
  readonly allOf?: readonly JsonSchema[];
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly (string | number)[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly maxLength?: number;
  readonly format?: string;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
}
/** Part of a form. `read` returns undefined for a part to omit. */
export interface Control {
  readonly root: HTMLElement;
  read(): unknown;
}

/** Shared by all controls: the schema's definitions, the places of faults, and special controls by path. */
export interface FormContext {
  readonly whole: JsonSchema;
  readonly places: FaultPlaces;
  /** A custom control for a member; null creates the usual one. */
  readonly special: (field: FormField, isRequired: boolean) => Control | null;
  /** What the form calls a member by itself; nothing: as the schema does. */
  readonly words: (path: string) => Pick<JsonSchema, "title" | "description">;
}

/** A member of the form. */
export interface FormField {
  readonly schema: JsonSchema;
  /** As it is in the file. */
  readonly value: unknown;
  readonly path: string;
  /** Its label where the schema has no title. */
  readonly name: string;
  readonly context: FormContext;
}

interface FaultPlace {
  readonly root: HTMLElement;
  readonly control: HTMLElement;
  readonly text: HTMLElement;
}

let ids = 0;
export const newId = (): string => `set-${++ids}`;

/** Where the fault of each path is shown. */
export class FaultPlaces {
  readonly #places = new Map<string, FaultPlace>();

  add(path: string, place: FaultPlace): void {
    this.#places.set(path, place);
  }
  drop(prefix: string): void {
    for (const path of this.#places.keys()) if (path.startsWith(prefix)) this.#places.delete(path);
  }
  clear(): void {
    for (const { text, control } of this.#places.values()) {
      setText(text, "");
      setAttribute(control, "aria-invalid", null);
    }
  }
  /** Beside the field, or the nearest one around it; null if the form has none. */
  show(path: string, text: string): HTMLElement | null {
    for (let at = path; ; at = at.replace(/(\.[^.[]*|\[[^[]*)$/, "")) {
      const place = this.#places.get(at);
      if (place?.root.isConnected) {
        const before = place.text.textContent ?? "";
        setText(place.text, before === "" ? text : `${before} · ${text}`);
        setAttribute(place.control, "aria-invalid", "true");
        for (let up = place.root.parentElement; up !== null; up = up.parentElement)
          if (up instanceof HTMLDetailsElement) up.open = true;
        return place.control;
      }
      const shorter = at.replace(/(\.[^.[]*|\[[^[]*)$/, "");
      if (shorter === at) return null;
    }
  }
}

export function resolved(schema: JsonSchema, whole: JsonSchema): JsonSchema {
  const { allOf, ...rest } = schema;
  if (allOf?.[0] !== undefined) return { ...resolved(allOf[0], whole), ...rest };
  if (schema.$ref === undefined) return schema;
  const target = whole.definitions?.[schema.$ref.replace("#/definitions/", "")] ?? {};
  const { $ref: _ref, ...own } = schema;
  return { ...resolved(target, whole), ...own };
}

/** A value as a person writes it; empty for objects and lists. */
export function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

export function defaultWords({ default: usual, examples }: JsonSchema, none = "–"): string {
  if (usual !== undefined && usual !== null)
    return typeof usual === "boolean" ? `default (${usual ? "Yes" : "No"})` : wordOf(usual);
  return examples?.[0] === undefined ? none : none === "" ? `such as ${wordOf(examples[0])}` : none;
}

/** What a person is asked for: numbers without a unit need no word about that. */
export function labelOf({ schema, name }: Pick<FormField, "schema" | "name">): string {
  const title = schema.title ?? name;
  return title.replace(/ \((?:[a-z]+, )?no unit\)$/, "");
}

/** The member of the file that a control writes; the items of a list have none. */
function memberOf({ path }: Pick<FormField, "path">): HTMLElement | null {
  const name = /(?:^|\.)([A-Za-z]\w*)$/.exec(path)?.[1];
  // For whoever also edits the file: a screen reader names the control by its label alone.
  return name === undefined ? null : h("code", { class: "member", "aria-hidden": "true" }, name);
}

/** Names of members as code, without the signs that documents mark them with. */
function said(text: string): (string | HTMLElement)[] {
  return text.split("`").map((part, at) => (at % 2 === 0 ? part : h("code", null, part)));
}

/** Label, control, explanation and error. */
export function labelled(
  field: Omit<FormField, "value">,
  input: HTMLElement,
  isRequired = false,
): HTMLElement {
  const { schema, path, context } = field;
  const hint = h("p", { class: "hint", id: `${input.id}-hint` }, ...said(schema.description ?? ""));
  const fault = h("p", { class: "fault-text", id: `${input.id}-fault` });
  setAttribute(input, "aria-describedby", `${schema.description ? `${hint.id} ` : ""}${fault.id}`);
  setAttribute(input, "data-path", path);
  setAttribute(input, "aria-required", isRequired ? "true" : null);
  const root = h(
    "div",
    { class: "set-field" },
    h(
      "div",
      { class: "set-label" },
      h("label", { for: input.id }, labelOf(field), isRequired && requiredMark()),
      " ",
      memberOf(field),
    ),
    input,
    schema.description && hint,
    fault,
  );
  context.places.add(path, { root, control: input, text: fault });
  return root;
}

function requiredMark(): HTMLElement {
  return h("span", { class: "needed" }, " (needed)");
}

/** A box with a legend; an empty optional one is folded. */
export function group(
  field: FormField,
  folded: boolean,
  ...children: (Node | null)[]
): HTMLElement {
  const { schema, path, context } = field;
  const fault = h("p", { class: "fault-text", tabindex: -1 });
  const title = labelOf(field);
  const hint = schema.description && h("p", { class: "hint" }, ...said(schema.description));
  const root = folded
    ? h(
        "details",
        { class: "set-group" },
        h("summary", null, title, " ", memberOf(field)),
        h("div", { role: "group", "aria-label": title }, hint, fault, ...children),
      )
    : h(
        "fieldset",
        { class: "set-group" },
        h("legend", null, title, " ", memberOf(field)),
        hint,
        fault,
        ...children,
      );
  setAttribute(root, "data-group", path);
  context.places.add(path, { root, control: fault, text: fault });
  return root;
}
