/**
 * What should not grow, counted: `npm run shape`, with `--names` also what was counted, with `--since REVISION` also how many lines
 * stand in files that did not exist then. Lines, files, long files, types declared twice, casts, classes that only forward, small files with one importer, and for each feature who
 * imports it. The files that one record passes through are counted by scripts/reading-path.ts.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseSync } from "oxc-parser";
import { parsed } from "../test/walls/parsed.ts";

const { values: flags } = parseArgs({
  options: { names: { type: "boolean", default: false }, since: { type: "string" } },
});
const root = resolve(import.meta.dirname, "..");
const LONG_LINES = 300;
const LONGEST_LINES = 380;
const HEAD_LENGTH = 3_000;
const SMALL_LINES = 40;
const LISTS = [
  "features/specs.ts",
  "features/all.ts",
  "dashboard/features.ts",
  "dashboard/feature-pages.ts",
  "dashboard/setup-pages.ts",
  "cli/commands.ts",
];

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}
const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value;
const nameOf = (value: unknown) => (isNode(value) ? String(value["name"]) : "");

const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.includes("generated"))
  .map((name) => ({ name, text: readFileSync(join(root, "src", name), "utf8") }));

/** Where each type is declared; a class is one. */
const types = new Map<string, string[]>();
let casts = 0;
const forwarding: string[] = [];

function visit(node: Node, file: string): void {
  // It adds members to a type of somebody else.
  if (node.type === "TSModuleDeclaration") return;
  const isType = /^(TSInterface|TSTypeAlias|Class)Declaration$/.test(node.type);
  if (isType && isNode(node["id"])) {
    const name = nameOf(node["id"]);
    types.set(name, [...(types.get(name) ?? []), file]);
  }
  if (node.type === "TSAsExpression" && !isConst(node["typeAnnotation"])) casts += 1;
  if (node.type === "ClassDeclaration" && onlyForwards(node))
    forwarding.push(`${file} ${nameOf(node["id"])}`);
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) for (const item of child) if (isNode(item)) visit(item, file);
    if (isNode(child)) visit(child, file);
  }
}

const isConst = (type: unknown) => isNode(type) && nameOf(type["typeName"]) === "const";

/** Every method does nothing but call one of the same name on a member. */
function onlyForwards(declared: Node): boolean {
  const members = (declared["body"] as { body: Node[] }).body;
  const methods = members.filter(
    ({ type, kind }) => type === "MethodDefinition" && kind !== "constructor",
  );
  return methods.length >= 2 && methods.every(forwards);
}

function forwards(method: Node): boolean {
  const statements = (method["value"] as { body: { body: Node[] } | null }).body?.body ?? [];
  const [only] = statements;
  if (statements.length !== 1 || only === undefined) return false;
  const called = only["argument"] ?? only["expression"];
  const call = isNode(called) && called.type === "AwaitExpression" ? called["argument"] : called;
  if (!isNode(call) || call.type !== "CallExpression") return false;
  const callee = call["callee"];
  return isNode(callee) && nameOf(callee["property"]) === nameOf(method["key"]);
}

for (const { name, text } of files) visit(parseSync(name, text).program as unknown as Node, name);

const linesOf = (text: string) => text.split("\n").length - 1;
const lines = files.reduce((sum, { text }) => sum + linesOf(text), 0);
const long = files
  .map(({ name, text }) => ({ name, text, lines: linesOf(text) }))
  .filter((file) => file.lines > LONG_LINES)
  .sort((a, b) => b.lines - a.lines);
const twice = [...types].filter(([, places]) => places.length > 1);

function show(title: string, count: number | string, names: readonly string[] = []): void {
  console.log(`${title.padEnd(44)}${String(count).padStart(8)}`);
  if (flags.names) for (const name of names) console.log(`    ${name}`);
}

/** A file that was renamed or largely copied is not new. */
function showNewer(revision: string): void {
  const diff = ["diff", "--name-only", "--diff-filter=A", "-M40%", revision, "--", "src"];
  const added = execFileSync("git", diff, { cwd: root, encoding: "utf8" }).split("\n");
  const isNew = new Set(added.map((path) => path.replace(/^src\//, "")));
  const rooms = new Map<string, number>();
  let newer = 0;
  for (const { name, text } of files.filter((file) => isNew.has(file.name))) {
    newer += linesOf(text);
    const room = name
      .split("/")
      .slice(0, name.startsWith("core/") ? 2 : 1)
      .join("/");
    rooms.set(room, (rooms.get(room) ?? 0) + linesOf(text));
  }
  const largest = [...rooms].sort((a, b) => b[1] - a[1]);
  show(
    `  in files newer than ${revision}`,
    newer,
    largest.map(([room, count]) => `${count} ${room}`),
  );
  show("  in the others", lines - newer);
}

show("lines in src", lines);
if (flags.since !== undefined) showNewer(flags.since);
show("files in src", files.length);
show(
  `files over ${LONG_LINES} lines`,
  long.length,
  long.map((file) => `${file.lines} ${file.name}`),
);
/** A long file says at its head why it is one. */
const unexplained = long.filter(({ text }) => !text.slice(0, HEAD_LENGTH).includes("In one file:"));
show(
  "  without their reason at the head",
  unexplained.length,
  unexplained.map(({ name }) => name),
);
show(`files over ${LONGEST_LINES} lines`, long.filter((file) => file.lines > LONGEST_LINES).length);
show(
  "type names declared more than once",
  twice.length,
  twice.map(([name, places]) => `${name}: ${places.join(", ")}`),
);
show("casts (as, without as const)", casts);

const inFolder = (folder: string) => files.filter(({ name }) => name.startsWith(`${folder}/`));
const linesIn = (folder: string) =>
  inFolder(folder).reduce((sum, { text }) => sum + linesOf(text), 0);
show("lines in src/pipeline", linesIn("pipeline"));
show("  files", inFolder("pipeline").length);
show("lines in src/agent", linesIn("agent"));
show(
  "files of src/core outside its folders",
  inFolder("core").filter(({ name }) => name.split("/").length === 2).length,
);

/** By file, the files that import it. */
const importersOf = new Map<string, string[]>();
for (const { name, text } of files)
  for (const specifier of new Set(parsed(name, text).imports)) {
    if (!specifier.startsWith(".")) continue;
    const target = normalize(join(dirname(name), specifier));
    importersOf.set(target, [...(importersOf.get(target) ?? []), name]);
  }
/** Files of a list, and those that are read as such: what they hold is not their importer's. */
const STANDS_ALONE = /^features\/\w+\.ts$|\/(api|spec)\.ts$|\/rules\//;
const small = files.filter(
  ({ name, text }) =>
    linesOf(text) <= SMALL_LINES &&
    !STANDS_ALONE.test(name) &&
    importersOf.get(name)?.length === 1 &&
    !LISTS.includes(importersOf.get(name)?.[0] ?? ""),
);
show(
  `files of at most ${SMALL_LINES} lines with one importer`,
  small.length,
  small.map(({ name }) => `${name} into ${importersOf.get(name)?.[0] ?? ""}`),
);
const features = new Set(
  inFolder("features").flatMap(({ name }) => /^features\/([\w-]+)\//.exec(name)?.[1] ?? []),
);
console.log("files outside a feature that import it, its lines:");
for (const feature of features) {
  const folder = `features/${feature}`;
  const outside = inFolder(folder).flatMap(({ name }) =>
    (importersOf.get(name) ?? []).filter((other) => !other.startsWith(`${folder}/`)),
  );
  const names = [...new Set(outside)].sort();
  show(`  ${feature} (${linesIn(folder)})`, names.length, names);
}
show("classes that only forward", forwarding.length, forwarding);
try {
  show("bundle, kB", Math.round(statSync(join(root, "dist/gateside.js")).size / 1000));
} catch {
  show("bundle, kB", "not built");
}
