import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { adviceOf, npmStep } from "../../scripts/set-up-step.mjs";

test("set-up – without compilers the advice names the missing ones and the command", () => {
  const advice = adviceOf("npm error gyp ERR! not ok", ["g++", "make"]);
  assert.match(advice ?? "", /g\+\+, make are missing.*sudo apt-get install -y g\+\+ make/);
});

test("set-up – what stands in the way is told apart by npm's own codes", () => {
  assert.match(
    adviceOf("npm error code ENOTFOUND", []) ?? "",
    /registry does not answer \(ENOTFOUND\)/,
  );
  assert.match(adviceOf("npm error code EROFS", []) ?? "", /cannot be written/);
  assert.match(adviceOf("npm error code ENOSPC", []) ?? "", /disk is full/);
  assert.equal(adviceOf("npm error code ERESOLVE", []), null);
});

/** A program called npm, first in the path while `act` runs. */
async function withNpm<T>(directory: string, script: string, act: () => Promise<T>): Promise<T> {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "npm"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(directory, "npm"), 0o755);
  const before = process.env["PATH"];
  process.env["PATH"] = `${directory}${delimiter}${before}`;
  try {
    return await act();
  } finally {
    process.env["PATH"] = before;
  }
}

test("set-up – a step says at once what it does and how long that takes, goes on saying so, and ends with one sentence", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-set-up-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const build = join(directory, "node_modules", "better-sqlite3", "build");
  const lines: string[] = [];
  const tell = (line: string) => lines.push(line);
  const step = {
    what: "Installing packages",
    usual: "a minute",
    words: ["ci"],
    cwd: directory,
    tell,
  };
  // The program ends once it has been told of twice, not after a time.
  const wait = `while [ ! -e ${directory}/seen ]; do sleep 0.01; done`;
  const fault = await withNpm(
    join(directory, "bin"),
    `${wait}; echo 'code EROFS' >&2; exit 1`,
    () =>
      npmStep({
        ...step,
        stillMs: 5,
        tell: (line) => {
          tell(line);
          if (lines.length === 2) {
            mkdirSync(build, { recursive: true });
            writeFileSync(join(build, "Makefile"), "");
          }
          if (lines.length === 3) writeFileSync(join(directory, "seen"), "");
        },
      }),
  );
  assert.equal(lines[0], "Installing packages (npm ci): usually a minute");
  assert.match(lines[1] ?? "", /^… still at it, 0 s so far$/);
  assert.match(lines[2] ?? "", /^… still at it, .* so far; compiling SQLite/);
  assert.match(fault ?? "", /^Installing packages failed\. This folder/);
  assert.equal(await withNpm(join(directory, "bin"), "exit 0", () => npmStep(step)), null);
});
