/** The demo shows what the README's pictures show, at whatever hour it is started. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { PROGRAM, skipWithoutBuild } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

test("demo – machines run, and an alarm and a finding are there within two minutes", {
  skip: skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const child = spawn(process.execPath, [PROGRAM, "demo", "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(async () => {
    child.kill();
    await once(child, "exit");
  });
  const address = await new Promise<string>((found) =>
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, url] = /dashboard +(\S+)\/$/.exec(line) ?? [];
      if (url !== undefined) found(url);
    }),
  );
  const get = async (path: string) =>
    (await (await fetch(`${address}/api/v1/${path}`)).json()) as Record<string, object[]>;
  const shown = await until(
    "machines that run, an alarm and a finding",
    async () => {
      const machines = (await get("machines"))["machines"] as { state: string; findings: number }[];
      const alarms = (await get("alarms"))["active"] as { alarm: string }[];
      const isAll =
        machines.every(({ state }) => state === "running") &&
        machines.some(({ findings }) => findings > 0) &&
        alarms.some(({ alarm }) => alarm === "zone");
      return isAll ? machines : undefined;
    },
    60_000,
  );
  assert.equal(shown.length, 2);
});
