import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { trimMemoryRegularly } from "../../src/lib/trim-memory.ts";
import { temporaryDirectory } from "../support/notify-socket.ts";

const MB = 1 << 20;

test("trim memory – often while memory grows, rarely when it does not, and never once stopped", (t) => {
  const native = join(temporaryDirectory(t), "native.cjs");
  writeFileSync(native, "exports.count = 0; exports.trim = () => { exports.count += 1; };");
  const state = createRequire(native)(native) as { count: number };
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let bytes = 70 * MB;
  t.mock.method(process.memoryUsage, "rss", () => bytes);
  const trimsIn = (seconds: number, growth: number) => {
    const before = state.count;
    for (let n = 0; n < seconds; n++) {
      bytes += growth;
      t.mock.timers.tick(1_000);
    }
    return state.count - before;
  };

  const stop = trimMemoryRegularly(native);
  assert.equal(state.count, 1);
  assert.ok(trimsIn(30, 0) >= 4);
  assert.ok(trimsIn(3_600, 0) <= 12);
  trimsIn(600, 5 * MB);
  assert.equal(trimsIn(10, 5 * MB), 10);
  stop();
  assert.equal(trimsIn(3_600, 5 * MB), 0);
});
