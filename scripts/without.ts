/**
 * Proves that features can be taken off again: `npm run without -- NAME… [--into DIR] [--tests] [--test NAME…]`. Copies the tree, removes the folders of these
 * features, their entries in the three lists, and the tests and scripts that import them; writes the generated documents anew; compiles. `all` is every
 * feature of the lists. `--into` keeps the copy, `--tests` runs what is left but the long tests and those of documents and packages, which speak of every
 * feature; `--test` runs one folder or file, `--list` says what can go. What others still import is refused, by name. `--table` prints the table of
 * docs/testing.md, and `--count` one row of it: neither compiles.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parsed } from "../test/walls/parsed.ts";

const SPECS = "src/features/specs.ts";
const RUNNING = "src/features/all.ts";
const LISTS = [
  SPECS,
  RUNNING,
  ...["features", "feature-pages", "setup-pages"].map((name) => `src/dashboard/${name}.ts`),
];
/** They look at what documents and packages say of every feature. */
const OF_ALL = ["docs", "package"];

const root = resolve(import.meta.dirname, "..");
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
    count: { type: "boolean", default: false },
    into: { type: "string" },
    tests: { type: "boolean", default: false },
    test: { type: "string", multiple: true, default: [] },
    help: { type: "boolean", default: false },
  },
});
if (flags.help) {
  console.log(`npm run without -- NAME… [options]: takes features off a copy of the tree, and compiles what is left.

  NAME          features of ${SPECS}; all: every one
  --list        which can go alone
  --into DIR    keeps the copy
  --tests       runs what is left of the tests
  --test NAME   runs one folder or file of them; may be repeated
  --table       the table of docs/testing.md
  --count       one row of it`);
  process.exit(0);
}

const listed = [...readFileSync(join(root, SPECS), "utf8").matchAll(/"\.\/([\w-]+)\/spec\.ts"/g)];
const features = listed.map(([, name = ""]) => name);
/** Those that no other imports, so that each can go alone. */
const leaves = features.filter((name) => !existsSync(join(root, `src/features/${name}/api.ts`)));
if (flags.list) {
  console.log(leaves.join("\n"));
  process.exit(0);
}
if (flags.table) {
  console.log(
    "| without | lines of `src` that go | files of tests that stay |\n| --- | --- | --- |",
  );
  for (const name of [...leaves, "all"])
    execFileSync(process.execPath, ["--import", "tsx", import.meta.filename, name, "--count"], {
      stdio: "inherit",
    });
  process.exit(0);
}
const names = positionals.includes("all") ? features : positionals;
const unknown = names.filter((name) => !features.includes(name));
if (names.length === 0 || unknown.length > 0) {
  console.error(`${unknown.join(", ") || "nothing"}: name features of ${SPECS}, or all of them:`);
  console.error(`  ${features.join(", ")}, all`);
  process.exit(2);
}
/** Tests and scripts that import what is gone. */
const removed = new Set<string>();
const isGone = (path: string) =>
  removed.has(path) ||
  names.some((name) => path.startsWith(`src/features/${name}/`)) ||
  names.some((name) => /^(test|scripts)\/features\//.test(path) && path.split("/")[2] === name);

const tree = flags.into === undefined ? mkdtempSync(join(tmpdir(), "without-")) : flags.into;
if (flags.into !== undefined && existsSync(flags.into) && readdirSync(flags.into).length > 0) {
  console.error(`${flags.into} is not empty`);
  process.exit(2);
}
process.exitCode = make();
if (flags.into === undefined) rmSync(tree, { recursive: true });

function make(): number {
  const files = copied();
  for (const list of LISTS) writeFileSync(join(tree, list), withoutEntries(list));
  const stillUsed = importers(files, "src").map(
    ([file, target]) => `${file} imports ${target}, which would be gone`,
  );
  if (stillUsed.length > 0) {
    console.error(stillUsed.join("\n"));
    return 1;
  }
  // What imports a test's helper that goes, goes too.
  for (;;) {
    const useless = [...importers(files, "test"), ...importers(files, "scripts")];
    if (useless.length === 0) break;
    for (const [file] of useless) {
      rmSync(join(tree, file));
      removed.add(file);
    }
  }
  const tests = files.filter((file) => file.endsWith(".test.ts"));
  const lines = linesOf(files.filter((file) => file.startsWith("src/") && isGone(file)));
  if (flags.count) {
    const left = tests.filter((file) => !isGone(file)).length;
    console.log(`| ${positionals.join(", ")} | ${lines} | ${left} of ${tests.length} |`);
    return 0;
  }
  console.log(`without ${names.join(", ")}: ${lines} lines of src are gone`);
  if (!runs("node", ["--import", "tsx", "scripts/write-settings-doc.ts"])) return 1;
  // What the lists handed on may be unused now.
  const unused = ["--noUnusedLocals", "false", "--noUnusedParameters", "false"];
  if (!runs("npx", ["tsc", ...unused]) || !runs("npx", ["tsc", "-p", "src/dashboard", ...unused]))
    return 1;
  console.log("  it compiles");
  const chosen = flags.tests
    ? readdirSync(join(tree, "test")).filter((name) => !OF_ALL.includes(name) && hasTests(name))
    : flags.test;
  if (chosen.length === 0) return 0;
  if (!runs("npm", ["run", "-s", "build"])) return 1;
  if (!runs("node", ["scripts/test/run.mjs", ...chosen])) return 1;
  console.log(`  its tests pass: ${chosen.join(", ")}`);
  return 0;
}

function hasTests(name: string): boolean {
  const below = readdirSync(join(tree, "test", name), { recursive: true, encoding: "utf8" });
  return below.some((file) => file.endsWith(".test.ts"));
}

function linesOf(files: readonly string[]): number {
  const texts = files.map((file) => readFileSync(join(root, file), "utf8"));
  return texts.reduce((sum, text) => sum + text.split("\n").length - 1, 0);
}

/** Everything but what goes; what no commit contains yet, too. */
function copied(): readonly string[] {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", list, { cwd: root, encoding: "utf8" }).trim().split("\n");
  const there = files.filter((file) => existsSync(join(root, file)));
  for (const file of there.filter((one) => !isGone(one))) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    cpSync(join(root, file), join(tree, file));
  }
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  return there;
}

/** Files of this folder that import something that is gone, and what. */
function importers(files: readonly string[], folder: string): [file: string, target: string][] {
  return files
    .filter((file) => file.startsWith(`${folder}/`) && file.endsWith(".ts") && !isGone(file))
    .flatMap((file) => {
      const text = readFileSync(join(tree, file), "utf8");
      const target = parsed(file, text)
        .imports.filter((specifier) => specifier.startsWith("."))
        .map((specifier) => normalize(join(dirname(file), specifier)))
        .find(isGone);
      return target === undefined ? [] : [[file, target] as [string, string]];
    });
}

/** Of specs and pages the imports and the names that they bring; of the running ones, each is null from now on. */
function withoutEntries(list: string): string {
  const text = readFileSync(join(root, list), "utf8");
  if (list === RUNNING)
    return text.replace(/^( *const (\w+)) =\n?([^;]*);\n/gm, (statement, head, _name, value) =>
      names.some((name) => value.includes(`"./${name}/`)) ? `${head} = null;\n` : statement,
    );
  return text.split("\n").reduce((rest, line) => {
    const [, words, path = ""] = /^import (?:type )?\{([^}]*)\} from "([^"]+)";$/.exec(line) ?? [];
    const target = normalize(join(dirname(list), path));
    if (words === undefined || !isGone(target)) return rest;
    const entries = words.split(",").map((word) => word.trim());
    return entries.reduce(
      (left, entry) => left.replaceAll(new RegExp(`\\b${entry}\\b,?[ \\n]*`, "g"), ""),
      rest.replace(`${line}\n`, ""),
    );
  }, text);
}

function runs(program: string, words: readonly string[]): boolean {
  const { status } = spawnSync(program, words, {
    cwd: tree,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0)
    console.error(`without ${names.join(", ")}: ${program} ${words.join(" ")} failed`);
  return status === 0;
}
