import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fastClock } from "../../src/cli/demo.ts";
import { isWell, statusText } from "../../src/cli/status.ts";
import type { LinkStatus } from "../../src/core/agent-status.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import { testParts } from "../support/http-parts.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { PROGRAM, skipWithoutBuild } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { append, mainOf, readingOf, START_MS, storeOptions } from "../support/temp-database.ts";

const HAS_FULL = existsSync("/dev/full");

async function webServer(
  t: TestContext,
  answer: (path: string) => { status: number; body: string },
): Promise<number> {
  const server = createServer((request, response) => {
    const { status, body } = answer(request.url ?? "");
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

function plantDir(t: TestContext): string {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-look-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const sensors = [{ code: "1", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "look", sensors }));
  return cwd;
}

test("output – a full disk behind stdout gives one line and exit code 1, no stack trace", {
  skip: HAS_FULL ? skipWithoutBuild : "no /dev/full here",
}, () => {
  const run = spawnSync(process.execPath, [PROGRAM, "--help"], {
    stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
    encoding: "utf8",
  });
  assert.equal(run.status, 1);
  assert.match(run.stderr, /^error: the output cannot be written: ENOSPC[^\n]*\n$/);
});

test("doctor – a web server that is not a gateway is not reported as responding, and its HTML is not shown", async (t) => {
  const body = `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0"><html><h1>No such page</h1></html>`;
  const port = await webServer(t, () => ({ status: 404, body }));
  const env = {
    GATEWAY_URL: `http://127.0.0.1:${port}`,
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
  };
  const run = await runCommand(["doctor"], { env, cwd: plantDir(t) });
  assert.equal(run.code, 1);
  assert.match(run.stdout, /FAILED +1 rpm +the gateway returned HTTP 404: No such page\n/);
  assert.match(run.stdout, /FAILED +gateway .*GATEWAY_SERVICE/);
  assert.doesNotMatch(run.stdout, /<|ok +gateway/);
});

test("backfill – says that the agent is waiting for the gateway, also if stderr is a file", async (t) => {
  let asked = 0;
  const port = await webServer(t, (path) => {
    const gateway = { isUp: false, lastError: "nobody is there" };
    if (path.endsWith("/status"))
      return { status: 200, body: JSON.stringify({ site: "look", gateway }) };
    const state = asked++ > 1 ? "done" : "running";
    const job = { job: 1, state, reads: { done: 1, failed: 0, total: 1 }, stored: 0, notes: [] };
    return { status: 200, body: JSON.stringify({ job }) };
  });
  const env = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
    HTTP_PORT: String(port),
  };
  const words = ["backfill", "--from", "2026-11-20", "--to", "2026-11-20"];
  const run = await runCommand(words, { env, cwd: plantDir(t) });
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout, /^done: /);
  assert.match(run.stderr, /^waiting for the gateway: nobody is there; [^\n]*\n$/, "printed once");
});

test("demo – the agent's clock keeps the plant's speed, so neither appears wrong", async () => {
  const base = new ManualClock();
  const fast = fastClock(base, 20);
  const [now, monotonic] = [fast.now(), fast.monotonic()];
  let isAwake = false;
  const sleeping = fast.sleep(20_000).then(() => {
    isAwake = true;
  });
  await base.advance(1_000);
  await sleeping;
  assert.ok(isAwake);
  assert.equal(fast.now() - now, 20_000);
  assert.equal(fast.monotonic() - monotonic, 20_000);
});

test("status – ages are computed from the gateway's clock, and names are shown next to serial numbers", () => {
  const status = testParts().status.status();
  const [sensor] = status.sensors;
  assert.ok(sensor);
  const shown = (skewMs: number, lastReadingMs: number) =>
    statusText({
      ...status,
      clock: { skewMs, isPlausible: true, isConfirmed: true },
      sensors: [{ ...sensor, name: "Pump 4", lastReadingMs }],
    });
  const hour = 3_600_000;
  assert.match(
    shown(hour, status.nowMs + hour - 120_000),
    /10234 +Pump 4 .*last reading 2 min ago/,
  );
  assert.match(
    shown(0, status.nowMs + hour),
    /last reading 1 h 0 min ahead of the gateway's clock/,
  );
});

test("status – a sensor that never sent, a gateway or broker that is down lead to the doctor", () => {
  const status = testParts().status.status();
  const [sensor] = status.sensors;
  const [link] = status.links;
  assert.ok(sensor && link);
  const well = {
    ...status,
    gateway: { ...status.gateway, isUp: true, lastError: null },
    links: [{ ...link, isConnected: true }],
    sensors: [{ ...sensor, state: "online" as const }],
  };
  const hint = /\n`gateside doctor` looks for the cause\n$/;
  assert.doesNotMatch(statusText(well), hint);
  assert.match(statusText({ ...well, sensors: [{ ...sensor, state: "unknown" }] }), hint);
  assert.match(statusText({ ...well, links: [{ ...link, isConnected: false }] }), hint);
  const gateway = { ...well.gateway, isUp: false, lastError: "no answer" };
  assert.match(statusText({ ...well, gateway }), hint);
});

test("status – counts alarms and says where they are listed", () => {
  const status = testParts().status.status();
  const counts = { alarm: 1, warning: 2, acknowledged: 0, shelved: 3 };
  assert.match(
    statusText({ ...status, alarms: counts }),
    /^alarms +1 alarm, 2 warnings, 3 shelved; `gateside alarms` lists them$/m,
  );
  const none = { alarm: 0, warning: 0, acknowledged: 0, shelved: 0 };
  assert.match(statusText({ ...status, alarms: none }), /^alarms +none$/m);
  assert.match(statusText({ ...status, alarms: null }), /^alarms +off/m);
});

test("status – machines that are not ok, worst first, and how many are in which condition", () => {
  const status = testParts().status.status();
  const ok = {
    id: 41,
    sensor: null,
    name: "Fan 1",
    area: null,
    condition: "ok" as const,
    since: null,
    sinceAtLeast: false,
    reason: "Runs in zone A.",
    zone: "A",
    stage: null,
  };
  const pump = {
    ...ok,
    id: 40,
    name: "Pump 4",
    area: "Boiler house",
    condition: "alarm" as const,
    since: new Date(status.nowMs - 26 * 3_600_000).toISOString(),
    zone: "D",
    stage: 2,
    reason: "Outer race of bearing 6205.",
  };
  const nameless = { ...ok, id: 42, name: null, condition: "standing" as const, zone: null };
  const text = statusText(status, [pump, nameless, ok]);
  assert.match(text, /^machines +1 alarm, 1 standing, 1 ok$/m);
  assert.match(
    text,
    /^Pump 4 +Boiler house +alarm +zone D +stage 2 +since 1 d 2 h ago +Outer race of bearing 6205\.\nMachine 42 +standing/m,
  );
  assert.doesNotMatch(text, /Fan 1/);
  const many = Array.from({ length: 25 }, () => pump);
  assert.match(statusText(status, many), /^and 5 more$/m);
  assert.doesNotMatch(statusText(status), /^machines/m);
});

test("status – main is named as the other uplinks are, where there are several", () => {
  const status = testParts().status.status();
  const [link] = status.links;
  assert.ok(link);
  const main: typeof link = { ...link, uplink: "main", name: "mqtt" };
  const sparkplug: typeof link = { ...main, name: "sparkplug" };
  const shown = (links: (typeof main)[]) =>
    statusText({ ...status, links })
      .split("\n")
      .slice(2, 2 + links.length)
      .map((line) => line.split(" ")[0]);
  assert.deepEqual(shown([main, sparkplug]), ["mqtt", "sparkplug"]);
  const cloud = { ...main, uplink: "cloud" };
  assert.deepEqual(shown([main, sparkplug, cloud]), ["main", "main/sparkplug", "cloud"]);
});

test("status – a refused reload has its own line with the reason, and is not well", () => {
  const status = testParts().status.status();
  assert.ok(isWell(status));
  assert.doesNotMatch(statusText(status), /^reload/m);
  const refused = { ...status, configurationFaults: ["site.json: sensors[2].kinds: is missing"] };
  assert.match(
    statusText(refused),
    /^reload +LAST RELOAD REFUSED, the previous .*: site\.json: sensors\[2\]\.kinds: is missing; correct/m,
  );
  assert.ok(!isWell(refused));
});

test("status – on a new box, neither the name nor the gateway is reported as lost", () => {
  const status = testParts().status.status();
  const gateway = { ...status.gateway, isUp: false, lastAnswerAtMs: null, lastError: null };
  const text = statusText({ ...status, site: "", gateway });
  assert.match(text, /^site +no name yet, Gateside /m);
  assert.match(text, /^gateway +not contacted yet \(http.*\)$/m);
});

test("status – a primary host whose STATE is ignored is reported with the reason", () => {
  const status = testParts().status.status();
  const link = (changes: Partial<LinkStatus>) => {
    const [first] = status.links;
    assert.ok(first);
    return statusText({ ...status, links: [{ ...first, name: "sparkplug", ...changes }] });
  };
  const hostDoubt = "its STATE of 2026 does not count; check the host's clock";
  assert.match(
    link({ hostOnline: false, hostDoubt }),
    /sparkplug +connected .*, primary host OFFLINE: its STATE of 2026 does not count/,
  );
  assert.match(link({ hostOnline: true, hostDoubt }), /primary host online: its STATE/);
  assert.match(link({ hostOnline: false, hostDoubt: null }), /primary host OFFLINE$/m);
  assert.doesNotMatch(link({ hostOnline: true, hostDoubt: null }), /primary host/);
  assert.doesNotMatch(link({ hostOnline: null, hostDoubt: null }), /primary host/);
});

test("check – before the first start, says how much will be sent and how to change that; afterwards does not", async (t) => {
  const cwd = plantDir(t);
  const env = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
    DATA_DIR: "data",
    BACKFILL_DAYS: "1",
    MQTT_BACKLOG_RATE: "10",
  };
  const before = await runCommand(["check"], { env, cwd });
  assert.match(before.stdout, /First start: today and BACKFILL_DAYS \(1\) days/);
  assert.match(before.stdout, /main: up to about 2,880 messages, 2 MB, 4 min at its rate/);
  assert.match(before.stdout, /MQTT_BACKLOG_RATE/);
  // A tenth of 2,048 MB at 6.3 bytes.
  assert.match(
    before.stdout,
    /Buffer: remembers about 34,08\d,\d{3} readings .* that is [\d,]+ days at one reading/,
  );
  mkdirSync(join(cwd, "data"));
  writeFileSync(join(cwd, "data", "gateside.db"), "");
  const after = await runCommand(["check", "--json"], { env, cwd });
  assert.equal(JSON.parse(after.stdout).firstStart, null);
});

test("check --diff – says what happens to pending readings before a format is disabled", async (t) => {
  const cwd = plantDir(t);
  const env = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
    DATA_DIR: ".",
    PUBLISH_WAVEFORMS: "never",
  };
  const store = openStore(storeOptions(cwd, { uplinks: mainOf("json") }));
  await append(store, [readingOf("1", START_MS), readingOf("1", START_MS + 1000)]);
  await store.close();
  const same = await runCommand(["check", "--diff"], { env, cwd });
  assert.doesNotMatch(same.stdout, /Undelivered readings/);
  const plain = { ...env, PUBLISH_FORMATS: "plain" };
  const diff = await runCommand(["check", "--diff"], { env: plain, cwd });
  assert.match(
    diff.stdout,
    /Undelivered readings, at the next start or reload\n {2}uplink main, json: off; of 2 undelivered readings/,
  );
});
