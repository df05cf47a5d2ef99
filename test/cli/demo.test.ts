/** The demo shows what the README's pictures show, at whatever hour it is started. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
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

test("demo – a port that is in use is one line that says so, and the dashboard takes another", {
  skip: skipWithoutBuild,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  t.after(() => other.close());
  const { port } = other.address() as AddressInfo;
  const child = spawn(process.execPath, [PROGRAM, "demo", "--port", String(port)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const stdout: string[] = [];
  await new Promise<void>((found) =>
    createInterface({ input: child.stdout }).on("line", (line) => {
      stdout.push(line);
      if (/dashboard +http/.test(line)) found();
    }),
  );
  child.kill();
  await once(child, "close");
  assert.doesNotMatch(stdout.join("\n"), /trying again/);
  assert.equal(stderr, `port ${port} is in use; the dashboard uses another one\n`);
});
