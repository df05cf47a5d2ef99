import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readingLine } from "../../src/cli/reading-line.ts";
import { runCommand } from "../support/run-command.ts";

const NAMES = new Map([["20871", "Feeder"]]);
const CURRENT = JSON.stringify({
  sensor: "20871",
  kind: "currentV2",
  time: "2026-11-20T15:04:05.000Z",
  values: { current1_min: 11, current1_max: 14.2, current1_avg: 12.3456, battery: 3.6 },
  units: { current1_min: "A", current1_max: "A", current1_avg: "A", battery: "V" },
  quality: { current1_avg: { quality: "uncertain", reason: "over_range" } },
});

/** The text `simulate` starts with; it ends at once. */
async function startText(t: TestContext, words: string[], path: string): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-simulate-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const env = { PATH: path };
  const flags = ["--port", "0", "--sensors", "7", ...words];
  const run = await runCommand(["simulate", ...flags], { env, cwd, signal: AbortSignal.abort() });
  assert.equal(run.code, 0, run.stderr);
  return run.stdout;
}

test("reading line – names values in full, the most informative first, and counts those it omits", () => {
  const head = "15:04:05  20871 Feeder                    currentV2 ";
  assert.equal(
    readingLine(CURRENT, NAMES),
    `${head}  current1_avg 12.35 A (uncertain: over_range)  current1_min 11 A  current1_max 14.2 A  battery 3.6 V`,
  );
  const narrow = readingLine(CURRENT, NAMES, 80);
  assert.equal(
    narrow,
    `${head}  current1_avg 12.35 A (uncertain: over_range)  current1_min 11 A  +2 more`,
    "a narrow terminal wraps rather than showing nothing",
  );
  const exact = readingLine(CURRENT, NAMES)?.length ?? 0;
  assert.match(readingLine(CURRENT, NAMES, exact) ?? "", /battery 3\.6 V$/);
  const short = readingLine(CURRENT, NAMES, exact - 1) ?? "";
  assert.match(short, /current1_max 14\.2 A {2}\+1 more$/);
  assert.ok(short.length < exact);
});

test("reading line – no reading gives no line", () => {
  for (const payload of ["", "null", "3", '{"state":"online"}'])
    assert.equal(readingLine(payload, NAMES), null, payload);
});

test("simulate – prints the command as the program was called here, and does not touch a real store", async (t) => {
  const checkout = await startText(t, [], "/nonexistent");
  assert.match(checkout, /DATA_DIR=\S+ MQTT_URL=\S+ node --import tsx \S*src\/main\.ts run\n/);
  const bin = mkdtempSync(join(tmpdir(), "gateside-bin-"));
  t.after(() => rmSync(bin, { recursive: true }));
  writeFileSync(join(bin, "gateside"), "#!/bin/sh\n");
  chmodSync(join(bin, "gateside"), 0o755);
  assert.match(await startText(t, [], bin), / MQTT_URL=\S+ gateside run\n/);
});

test("simulate – explains plant time if it differs from real time", async (t) => {
  assert.doesNotMatch(await startText(t, [], ""), /Plant time/);
  assert.match(
    await startText(t, ["--speed", "60"], ""),
    /^Plant time runs 60 times as fast as real time\. /m,
  );
});
