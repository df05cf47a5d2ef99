/** Where a file can be broken on a single line, and the file with switches that break it. */
import { parseSync } from "oxc-parser";

/** One place and what stands there instead once it is broken. */
export interface Site {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly from: string;
  readonly to: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}
const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

const OPPOSITE = new Map(
  Object.entries({
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "===": "!==",
    "!==": "===",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "&&": "||",
    "||": "&&",
    "+=": "-=",
    "-=": "+=",
  }),
);
const OTHER_METHOD = new Map(
  Object.entries({ max: "min", min: "max", some: "every", every: "some", shift: "pop" }),
);
/** What is logged, asserted or thrown is text for people, and impossible states. */
const FOR_PEOPLE = /^(?:await )?(?:this\.#?)?(?:\w+\.)*(?:logger\.\w+|assert(?:\.\w+)?)\(/;

/** Every place of a file, in its order. */
export function sitesOf(file: string, text: string): Site[] {
  const sites: Site[] = [];
  const add = (node: Node, to: string) => {
    const from = text.slice(node.start, node.end);
    if (from.includes("\n")) return;
    const line = text.slice(0, node.start).split("\n").length;
    sites.push({ file, line, start: node.start, end: node.end, from, to });
  };
  const textOf = (node: Node) => text.slice(node.start, node.end);
  const visit = (node: Node, parent: Node | null): void => {
    if (/^TS(?!As|NonNull|Satisfies)|^ImportDeclaration|^ThrowStatement/.test(node.type)) return;
    if (/^(?:Call|ExpressionStat)/.test(node.type) && FOR_PEOPLE.test(textOf(node))) return;
    change(node, parent, add, textOf);
    for (const child of Object.values(node)) {
      if (Array.isArray(child)) for (const item of child) if (isNode(item)) visit(item, node);
      if (isNode(child)) visit(child, node);
    }
  };
  visit(parseSync(file, text).program as unknown as Node, null);
  return sites;
}

type Add = (node: Node, to: string) => void;

function change(node: Node, parent: Node | null, add: Add, textOf: (node: Node) => string): void {
  const { left, right, operator, test, argument, expression, value, callee } = node;
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression": {
      const opposite = OPPOSITE.get(String(operator));
      if (opposite === undefined || !isNode(left) || !isNode(right)) return;
      if ([left, right].some(isText)) return;
      return add(node, `${textOf(left)} ${opposite} ${textOf(right)}`);
    }
    case "UnaryExpression":
      if (operator === "!" && isNode(argument)) add(node, textOf(argument));
      return;
    case "IfStatement":
    case "ConditionalExpression":
      if (isNode(test)) add(test, `!(${textOf(test)})`);
      return;
    case "Literal":
      if (parent === null || (parent["key"] === node && parent["computed"] !== true)) return;
      if (typeof value === "boolean") add(node, String(!value));
      else if (value === 0 || value === 1 || value === 2) add(node, String(value + 1));
      return;
    case "CallExpression":
      if (isNode(callee) && callee.type === "MemberExpression")
        otherMethod(node, callee, add, textOf);
      return;
    case "ExpressionStatement":
      // The call is left out.
      if (isNode(expression) && isCall(expression)) add(expression, "undefined");
  }
}

function otherMethod(node: Node, callee: Node, add: Add, textOf: (node: Node) => string): void {
  const { object, property } = callee;
  if (!isNode(object) || !isNode(property)) return;
  const other = OTHER_METHOD.get(String(property["name"]));
  if (other === undefined) return;
  const rest = textOf(node).slice(property.end - node.start);
  add(node, `${textOf(node).slice(0, property.start - node.start)}${other}${rest}`);
}

const isText = (node: Node): boolean =>
  node.type === "TemplateLiteral" ||
  (node.type === "Literal" && typeof node["value"] === "string") ||
  (node.type === "BinaryExpression" &&
    [node["left"], node["right"]].some((n) => isNode(n) && isText(n)));

function isCall(node: Node): boolean {
  const { argument, callee } = node;
  if (node.type === "AwaitExpression") return isNode(argument) && isCall(argument);
  return node.type === "CallExpression" && !(isNode(callee) && callee.type === "Super");
}

/** The file with each place behind a switch: `globalThis.gatesideMutant(number)` says whether it is broken. */
export function switched(
  text: string,
  sites: readonly (Site & { readonly number: number })[],
): string {
  let result = text;
  for (const { start, end, from, to, number } of sites.toSorted((a, b) => b.start - a.start))
    result = `${result.slice(0, start)}(globalThis.gatesideMutant(${number}) ? (${to}) : (${from}))${result.slice(end)}`;
  return result;
}

/** `count` of them, each folder its share; no two overlap. */
export function draw(
  folders: readonly (readonly Site[])[],
  count: number,
  next: () => number,
): Site[] {
  const drawn: Site[] = [];
  for (const [i, sites] of folders.entries()) {
    const left = [...sites];
    let wanted =
      Math.floor(((i + 1) * count) / folders.length) - Math.floor((i * count) / folders.length);
    while (wanted > 0 && left.length > 0) {
      const [one] = left.splice(Math.floor(next() * left.length), 1);
      if (one === undefined || drawn.some((other) => overlaps(one, other))) continue;
      drawn.push(one);
      wanted -= 1;
    }
  }
  return drawn;
}

/** A place in a run's list of what nobody noticed, where the file has it now; null for any other line. */
export function listed(line: string, read: (file: string) => string): Site | "gone" | null {
  const [, file, at, from, to] = UNNOTICED.exec(line) ?? [];
  if (file === undefined) return null;
  const same = sitesOf(file, read(file)).filter((site) => site.from === from && site.to === to);
  const distance = (site: Site) => Math.abs(site.line - Number(at));
  return same.sort((a, b) => distance(a) - distance(b))[0] ?? "gone";
}
const UNNOTICED = /^(?:survived|no test comes here) {2}(\S+):(\d+) {2}(.*?) {2}→ {2}(.*)$/;

export const overlaps = (a: Site, b: Site): boolean =>
  a.file === b.file && a.start < b.end && b.start < a.end;
