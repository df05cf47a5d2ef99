import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

test("engine – WebAssembly that is compiled before keepBaselineWasm is optimised once it is hot, later WebAssembly is not", (t) => {
  const version = process.versions.v8.split(".")[0] ?? "";
  if (!["11", "12"].includes(version)) return t.skip(`nothing is changed in V8 ${version}`);
  const args = ["--import", "tsx", "test/lib/hot-wasm.ts"];
  const optimised: unknown = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
  assert.deepEqual(optimised, { before: true, after: false });
});
