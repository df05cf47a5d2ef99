import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const run = (...words: string[]) =>
  spawnSync(process.execPath, ["--import", "tsx", "scripts/package.ts", ...words], {
    encoding: "utf8",
  });

test("package – a wrong command line gives one line and creates nothing, and --help explains the right one", () => {
  for (const words of [["x86"], ["--bad"], ["--out"], ["--maintainer", "nobody"]]) {
    const { status, stdout, stderr } = run(...words);
    assert.equal(status, 2, stderr);
    assert.equal(stdout, "");
    assert.match(stderr, /^error: [^\n]+\n$/);
  }
  const { status, stdout } = run("--help");
  assert.equal(status, 0);
  assert.match(stdout, /^Usage: npm run package/);
});

test("package – an upgrade restarts the collectors that run, too, and removing stops them", () => {
  const lineOf = (file: string, verb: string) =>
    readFileSync(file, "utf8")
      .split("\n")
      .find((line) => line.includes(`systemctl --system ${verb} `));
  assert.match(lineOf("packaging/postinst", "try-restart") ?? "", /'gateside-collect@\*\.service'/);
  assert.match(lineOf("packaging/prerm", "stop") ?? "", /'gateside-collect@\*\.service'/);
});
