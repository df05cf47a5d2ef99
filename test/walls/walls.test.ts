import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "../..");

/** A file that breaks one wall, and what the linter says of it. */
const FORBIDDEN: readonly (readonly [file: string, imports: string, message: RegExp])[] = [
  ["src/core/probe.ts", "node:fs", /core is pure/],
  ["src/core/probe.ts", "node:perf_hooks", /core is pure/],
  ["src/core/probe.ts", "mqtt", /core is pure/],
  ["src/core/probe.ts", "#site-schema", /core is pure/],
  ["src/core/signal/probe.ts", "../../lib/clock.ts", /core imports only core/],
  ["src/poll/probe.ts", "../store/store.ts", /rooms import core and lib/],
  ["src/store/outbox/probe.ts", "../../publish/publisher.ts", /rooms import core and lib/],
  ["src/http/probe.ts", "../cli/table.ts", /rooms import core and lib/],
  ["src/publish/probe.ts", "../dashboard/words.ts", /rooms import core and lib/],
  ["src/collect/probe.ts", "../store/store.ts", /rooms import core and lib/],
  ["src/publish/sparkplug/probe.ts", "../../link/mqtt-link.ts", /rooms import core and lib/],
  ["src/link/probe.ts", "../publish/publisher.ts", /rooms import core and lib/],
  ["src/publish/probe.ts", "mqtt", /only src\/link .* knows mqtt\.js/],
  ["src/cli/probe.ts", "mqtt", /only src\/link .* knows mqtt\.js/],
  ["src/lib/probe.ts", "../poll/days.ts", /lib imports nothing of ours/],
  ["src/dashboard/probe.ts", "../http/server.ts", /the dashboard runs in the browser/],
  ["src/dashboard/probe.ts", "node:fs", /no Node in the browser/],
  ["src/agent/probe.ts", "../dashboard/words.ts", /nothing imports it/],
  ["src/cli/probe.ts", "../dashboard/words.ts", /nothing imports it/],
];
const ALLOWED: readonly (readonly [file: string, imports: string])[] = [
  ["src/core/probe.ts", "node:crypto"],
  ["src/core/signal/probe.ts", "../unit.ts"],
  ["src/store/outbox/probe.ts", "../database/database.ts"],
  ["src/poll/probe.ts", "../lib/clock.ts"],
  ["src/link/probe.ts", "mqtt"],
  ["src/dashboard/probe.ts", "../core/unit.ts"],
  ["src/agent/probe.ts", "../store/store.ts"],
];

/** The linter's report on a tree that holds nothing but these files, under the project's own configuration. */
function lint(files: readonly (readonly [file: string, imports: string])[]): Map<string, string> {
  const tree = mkdtempSync(join(tmpdir(), "gateside-walls-"));
  try {
    cpSync(join(root, ".oxlintrc.json"), join(tree, ".oxlintrc.json"));
    symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
    const names = files.map(([file, imports], i) => {
      const name = file.replace("probe", `probe${i}`);
      mkdirSync(join(tree, dirname(name)), { recursive: true });
      writeFileSync(join(tree, name), `import ${JSON.stringify(imports)};\n`);
      return name;
    });
    const { stdout } = spawnSync(join(root, "node_modules/.bin/oxlint"), ["--format=json", "src"], {
      cwd: tree,
      encoding: "utf8",
    });
    const found = JSON.parse(stdout) as {
      diagnostics: { filename: string; help?: string; message: string }[];
    };
    return new Map(
      names.map((name) => [
        name,
        found.diagnostics
          .filter(({ filename }) => filename.endsWith(name))
          .map(({ message, help }) => `${message} ${help ?? ""}`)
          .join("\n"),
      ]),
    );
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

test("walls – each forbidden import is rejected by the linter", () => {
  const reports = [...lint(FORBIDDEN.map(([file, imports]) => [file, imports])).values()];
  FORBIDDEN.forEach(([file, imports, message], i) => {
    assert.match(reports[i] ?? "", message, `${file} may not import ${imports}`);
  });
});

test("walls – allowed imports of a room pass", () => {
  const reports = [...lint(ALLOWED).values()];
  ALLOWED.forEach(([file, imports], i) => {
    assert.equal(reports[i], "", `${file} may import ${imports}`);
  });
});
