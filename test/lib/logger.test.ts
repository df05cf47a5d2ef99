import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { test } from "node:test";

const skip = existsSync("/dev/full") ? false : "needs /dev/full";

test("logger – a log on a full disk ends nothing and uses no more memory than its limit", {
  skip,
}, () => {
  const full = openSync("/dev/full", "w");
  const script = `
    import { createLogger } from "./src/lib/logger.ts";
    const logger = createLogger("info");
    for (let n = 0; n < 50_000; n++) logger.info({ padding: "x".repeat(1000) }, "line");
    process.once("beforeExit", () => process.stderr.write(String(process.memoryUsage().heapUsed)));`;
  const run = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { stdio: ["ignore", full, "pipe"], encoding: "utf8" },
  );
  closeSync(full);
  assert.equal(run.status, 0, run.stderr);
  assert.ok(Number(run.stderr) < 40e6, run.stderr);
});
