import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { execPath } from "node:process";
import type { Readable } from "node:stream";
import { test } from "node:test";
import { scriptWords } from "../../support/script-words.ts";

/** A record of 3 x 25,600 samples is about 0.4 MB of text. */
const RECORDS = 380;
const ABOVE_IDLE_MAX_MB = 64;

/** As the installed service runs. */
const NODE_FLAGS = ["--max-semi-space-size=1"];

/** A script in its own process, and what it prints. */
function run(script: string, argument: string): { process: ChildProcess; output: Readable } {
  const process = spawn(
    execPath,
    [...NODE_FLAGS, ...scriptWords(`test/pipeline/gateway/${script}`), argument],
    {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    },
  );
  assert.ok(process.stdout);
  return { process, output: process.stdout };
}

test("large day – 150 MB of waveforms are read, twice, in less than 64 MB above idle", async (t) => {
  if (!existsSync("/proc/self/status")) return t.skip("no /proc: peak memory cannot be seen here");
  const server = run("large-day-server.ts", String(RECORDS));
  t.after(() => server.process.kill());
  const [port] = (await once(server.output, "data")) as [Buffer];
  const reader = run("large-day-reader.ts", port.toString().trim());
  t.after(() => reader.process.kill());
  let output = "";
  reader.output.on("data", (text: Buffer) => {
    output += text.toString();
  });
  const [code] = (await once(reader.process, "close")) as [number];
  assert.equal(code, 0);
  const { first, second, idleMb, peakMb } = JSON.parse(output) as {
    first: { bytes: number; samples: number };
    second: { samples: number; unchanged: boolean };
    idleMb: number;
    peakMb: number;
  };
  t.diagnostic(
    `${(first.bytes / 1e6).toFixed(0)} MB; idle ${idleMb.toFixed(0)}, peak ${peakMb.toFixed(0)} MB`,
  );
  assert.ok(first.bytes > 150e6);
  assert.equal(first.samples, RECORDS * 3 * 25_600);
  assert.deepEqual([second.samples, second.unchanged], [0, true]);
  assert.ok(peakMb - idleMb < ABOVE_IDLE_MAX_MB, `${(peakMb - idleMb).toFixed(1)} MB above idle`);
});
