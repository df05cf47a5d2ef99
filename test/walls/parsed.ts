/** What a source file names of the world outside it: every import in any form, and the globals that reach the world. */
import { parseSync } from "oxc-parser";

export interface Parsed {
  /** Specifiers as written: static, dynamic, of types alone, required. */
  readonly imports: readonly string[];
  /** Those of them that bring values when the file is loaded: neither of types alone nor dynamic. */
  readonly values: readonly string[];
  /** Those of them that are loaded later, if at all. */
  readonly lazy: readonly string[];
  /** An import whose specifier is computed, and so is unknown here. */
  readonly hasUnknownImport: boolean;
  /** Globals that reach the world: `process.env`, `Date.now`, `fetch`… */
  readonly reaches: readonly string[];
}

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

const WORLD = new Set([
  "process",
  "fetch",
  "performance",
  "globalThis",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
]);
const WORLDLY_MEMBERS = new Set(["Date.now", "Math.random", "process.env"]);

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value;

export function parsed(name: string, text: string): Parsed {
  const { program, errors } = parseSync(name, text);
  if (errors.length > 0) throw new Error(`${name}: ${errors[0]?.message}`);
  const imports: string[] = [];
  const values: string[] = [];
  const lazy: string[] = [];
  const reaches = new Set<string>();
  let hasUnknownImport = false;
  const named = (source: unknown, kind: string[] | null = values) => {
    if (isNode(source) && source.type === "Literal" && typeof source["value"] === "string") {
      imports.push(source["value"]);
      kind?.push(source["value"]);
    } else hasUnknownImport = true;
  };
  const visit = (node: Node, parent: Node | null): void => {
    if (node.type === "ImportExpression") named(node["source"], lazy);
    else if (node.type === "TSImportType") named(node["source"], null);
    else if (/^(Import|ExportNamed|ExportAll)Declaration$/.test(node.type)) {
      const isOfTypes = node["importKind"] === "type" || node["exportKind"] === "type";
      if (node["source"] !== null) named(node["source"], isOfTypes ? null : values);
    } else if (node.type === "TSExternalModuleReference") named(node["expression"]);
    else if (node.type === "CallExpression" && isRequire(node["callee"]))
      named((node["arguments"] as unknown[])[0]);
    else reach(node, parent, reaches);
    for (const child of Object.values(node)) {
      if (Array.isArray(child)) for (const item of child) if (isNode(item)) visit(item, node);
      if (isNode(child)) visit(child, node);
    }
  };
  visit(program as unknown as Node, null);
  return { imports, values, lazy, hasUnknownImport, reaches: [...reaches] };
}

function isRequire(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  if (callee.type === "MemberExpression") return isRequire(callee["object"]);
  return callee.type === "Identifier" && callee["name"] === "require";
}

function reach(node: Node, parent: Node | null, reaches: Set<string>): void {
  if (node.type === "NewExpression" && isNamed(node["callee"], "Date")) {
    if ((node["arguments"] as unknown[]).length === 0) reaches.add("new Date()");
  }
  if (node.type === "MemberExpression" && isNode(node["object"]) && isNode(node["property"])) {
    const path = `${node["object"]["name"]}.${node["property"]["name"]}`;
    if (WORLDLY_MEMBERS.has(path)) reaches.add(path);
  }
  if (node.type !== "Identifier" || !WORLD.has(String(node["name"]))) return;
  // A member or property of the same name is not the global.
  const isMember = parent?.type === "MemberExpression" && parent["property"] === node;
  const isKey = parent !== null && parent["key"] === node && parent["computed"] !== true;
  const isDeclared = parent !== null && /^TS|Param|Declarator/.test(parent.type);
  if (!isMember && !isKey && !isDeclared) reaches.add(String(node["name"]));
}

const isNamed = (node: unknown, name: string) =>
  isNode(node) && node.type === "Identifier" && node["name"] === name;
