/** The build asks whether the SQLite binding fits the running Node: scripts/fit-native.mjs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const INSTALLED = resolve("node_modules/better-sqlite3/build/Release/better_sqlite3.node");

function misfit(path: string): string {
  const script = `import(${JSON.stringify(resolve("scripts/fit-native.mjs"))})
    .then(({ misfit }) => process.stdout.write(String(misfit(${JSON.stringify(path)}))))`;
  return execFileSync(process.execPath, ["-e", script], { encoding: "utf8" });
}

test("SQLite binding – a binding that is missing, does not load or would end the process is rebuilt; one that fits is not", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-fit-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "better_sqlite3.node");
  assert.match(misfit(path), /is missing$/);
  writeFileSync(path, "compiled for another Node");
  assert.match(misfit(path), /does not load in Node \d/);
  copyFileSync(INSTALLED, path);
  assert.equal(misfit(path), "null");
  // As one has it that was compiled against the headers of Node 24.19 as they are.
  appendFileSync(path, "_ZN4node28RemoveEnvironmentCleanupHookEPN2v87IsolateEPFvPvES3_");
  assert.match(misfit(path), /would end the process$/);
});

test("SQLite binding – a build that takes minutes reports its progress from time to time", () => {
  const script = `import(${JSON.stringify(resolve("scripts/fit-native.mjs"))}).then(async ({ withProgress }) => {
    let reports = 0;
    let end;
    const running = new Promise((resolve) => { end = resolve; });
    const done = await withProgress(running, (text) => {
      process.stdout.write(text + "\\n");
      if (++reports === 2) end("built");
    }, 5);
    process.stdout.write(done);
  })`;
  const output = execFileSync(process.execPath, ["-e", script], { encoding: "utf8" });
  assert.match(output, /^(… still compiling the SQLite binding, 0 min \d+ s so far\n){2}built$/);
});
