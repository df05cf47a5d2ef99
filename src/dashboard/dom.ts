/** The helpers that replace a framework: they create elements in one call, and write only what changed. */

export type Child = Node | string | number | null | undefined | false;
type Attribute = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Readonly<Record<string, Attribute>>;

const SVG = "http://www.w3.org/2000/svg";

/** An element. `true` sets a bare attribute, `false` and null none; a function listens to the event of its name. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes | null = null,
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill<E extends Element>(
  element: E,
  attributes: Attributes | null,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else setAttribute(element, name, value);
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children: readonly Child[]): (Node | string)[] {
  const shown: (Node | string)[] = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    shown.push(typeof child === "number" ? String(child) : child);
  }
  return shown;
}

export function setAttribute(
  element: Element,
  name: string,
  value: string | number | boolean | null | undefined,
): void {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Writes only changes: an unchanged text costs no layout and is not announced again. */
export function setText(node: Node, text: string): boolean {
  if (node.textContent === text) return false;
  node.textContent = text;
  return true;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...nodes(children));
}

const KEYS = new WeakMap<Element, string>();

/** Replaces the children where `key` differs from the last one: what is under a hand, focused or selected stays. */
export function replaceAnew(parent: Element, key: string, make: () => readonly Child[]): boolean {
  if (KEYS.get(parent) === key) return false;
  KEYS.set(parent, key);
  replace(parent, ...make());
  return true;
}

/** Puts elements into an order. The one that holds the focus is never taken out: the others move around it. */
export function arrange(parent: Element, wanted: readonly Element[]): void {
  const kept = new Set(wanted);
  for (const child of Array.from(parent.children)) if (!kept.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const element of wanted) {
    if (element === at) {
      at = at.nextElementSibling;
      continue;
    }
    if (element.parentElement === parent && element.contains(document.activeElement)) {
      while (at !== null && at !== element) {
        const next: Element | null = at.nextElementSibling;
        parent.append(at);
        at = next;
      }
      at = element.nextElementSibling;
    } else parent.insertBefore(element, at);
  }
}

/** What stands for one item of a list. */
interface Entry<T> {
  readonly root: Element;
  update?(item: T): void;
  readonly stop?: Cleanup;
}

/**
 * A list whose elements are made once for each key and then only written: what is under a hand, focused or selected stays. A key that
 * comes twice has two elements.
 */
export function keptList<T>(
  parent: Element,
  keyOf: (item: T) => string,
  make: (item: T) => Entry<T>,
): (items: readonly T[]) => void {
  let entries = new Map<string, Entry<T>>();
  return (items) => {
    const seen = new Map<string, Entry<T>>();
    for (const item of items) {
      let key = keyOf(item);
      while (seen.has(key)) key += " again";
      const entry = entries.get(key) ?? make(item);
      seen.set(key, entry);
      entry.update?.(item);
    }
    for (const [key, entry] of entries) if (!seen.has(key)) entry.stop?.();
    entries = seen;
    arrange(
      parent,
      [...seen.values()].map(({ root }) => root),
    );
  };
}

/** The choices of a list, by value and words: one that is open stays so. */
export function keptOptions(
  select: HTMLSelectElement,
): (choices: readonly (readonly [value: string, text: string])[]) => void {
  return keptList<readonly [string, string]>(
    select,
    ([value]) => value,
    ([value]) => {
      const root = h("option", { value });
      return { root, update: ([, text]) => void setText(root, text) };
    },
  );
}

/** Calls `work` once before the next paint, however often it is requested. */
export function oncePerFrame(work: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    const run = (): void => {
      isDue = false;
      work();
    };
    // A hidden page paints nothing, but must be right when it is shown again.
    if (document.hidden) setTimeout(run, 500);
    else requestAnimationFrame(run);
  };
}

/** Text for screen readers only. */
export const hidden = (text: string): HTMLElement => h("span", { class: "sr" }, text);

/** Removes what a view attached, when the view closes. */
export type Cleanup = () => void;
