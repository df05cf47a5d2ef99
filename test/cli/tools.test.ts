import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import Sqlite from "better-sqlite3";
import type { Environment } from "../../src/config/environment-type.ts";
import { dayOf } from "../../src/core/time/time-zone.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import { deadlineMs } from "../support/deadline.ts";
import { MORNING_ZONE, morningDay } from "../support/morning.ts";
import { runCommand } from "../support/run-command.ts";
import { mainOf } from "../support/temp-database.ts";
import { waitUntil } from "../support/wait-until.ts";

/** A port that nothing listens on: the discard service's. */
const NOBODY = "127.0.0.1:9";
/** In the simulator's history, whatever day it is. */
const DAY = morningDay(-2);

interface Bench {
  readonly cwd: string;
  readonly env: Environment;
  sensorOf(kind: string): string;
}

async function bench(t: TestContext): Promise<Bench> {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-tools-"));
  const simulator = await startSimulator({ sensors: 5, zone: MORNING_ZONE });
  t.after(async () => {
    await simulator.close();
    rmSync(cwd, { recursive: true });
  });
  const site = simulator.siteFile("bench");
  writeFileSync(join(cwd, "site.json"), JSON.stringify(site));
  return {
    cwd,
    env: {
      GATEWAY_URL: simulator.url.replace(/\/SensorService\.svc\/?$/, ""),
      MQTT_URL: `mqtt://${NOBODY}`,
      SITE_FILE: "site.json",
      GATEWAY_TIMEZONE: MORNING_ZONE,
      HTTP_PORT: "9",
      HTTP_TOKEN: "tops3cret-tops3cret",
    },
    sensorOf(kind) {
      const sensor = site.sensors.find((s) => s.kinds.some((k) => k === kind));
      assert.ok(sensor, kind);
      return sensor.code;
    },
  };
}

test("doctor – reports each check that fails or passes, and keeps secrets out of the bundle", async (t) => {
  const b = await bench(t);
  const run = await runCommand(["doctor", "--bundle", "support.json.gz"], b);
  assert.equal(run.code, 1);
  assert.match(run.stdout, /^ok +gateway +http:.* responds$/m);
  assert.match(run.stdout, new RegExp(`^(ok|warning) +${b.sensorOf("loop")} loop `, "m"));
  assert.match(
    run.stdout,
    /^FAILED +broker +mqtt:\/\/127\.0\.0\.1:9: .*; check that the broker is running .* its address is correct \(MQTT_URL\)$/m,
  );
  assert.doesNotMatch(run.stdout, /skipped/);
  assert.match(run.stdout, /^(ok|warning) +disk /m);
  assert.match(run.stdout, /^ok +clock /m);
  const bundle = gunzipSync(readFileSync(join(b.cwd, "support.json.gz"))).toString();
  assert.ok(!bundle.includes("tops3cret"));
  assert.match(bundle, /"findings"/);
});

test("doctor – a gateway that is down is one line, not one per sensor", async (t) => {
  const b = await bench(t);
  const env = { ...b.env, GATEWAY_URL: `http://${NOBODY}` };
  const run = await runCommand(["doctor", "--json"], { ...b, env });
  assert.equal(run.code, 1);
  const { ok, findings } = JSON.parse(run.stdout) as {
    ok: boolean;
    findings: { what: string; state: string }[];
  };
  assert.equal(ok, false);
  assert.deepEqual(
    findings.filter((f) => f.state === "failed").map((f) => f.what),
    ["gateway", "broker"],
  );
  const text = await runCommand(["doctor"], { ...b, env: { ...env, DATA_DIR: "/proc/gateside" } });
  assert.match(
    text.stdout,
    /^FAILED +disk +DATA_DIR: \/proc\/gateside cannot be created: files cannot be stored there; use a directory on a disk$/m,
  );
  assert.match(text.stdout, /^skipped +sensors +(\d+) of \1 reads not tried: /m);
});

test("doctor – if the day has no record of any sensor, the day and the zone it depends on are named", async (t) => {
  const b = await bench(t);
  const run = await runCommand(["doctor"], { ...b, env: { ...b.env, WIRE_WORD: "node" } });
  assert.equal(run.code, 1);
  assert.match(
    run.stdout,
    /FAILED +sensors .* has no usable record of any sensor on \d{4}-\d\d-\d\d; .*\(GATEWAY_TIMEZONE, [\w/]+ is in effect\).*WIRE_WORD/,
  );
});

test("doctor – with wrong settings it says what it has not checked", async (t) => {
  const b = await bench(t);
  const run = await runCommand(["doctor"], { ...b, env: { ...b.env, MQTT_VERSION: "6" } });
  assert.equal(run.code, 2);
  for (const what of ["gateway", "sensors", "broker", "disk", "clock"])
    assert.match(run.stdout, new RegExp(`^skipped +${what} +not tried: `, "m"));
  assert.match(run.stderr, /^error: MQTT_VERSION: "6" is not allowed; set it to 5 or 4\n$/);
});

test("status – an agent that does not respond is reported, with exit code 1", async (t) => {
  const b = await bench(t);
  const run = await runCommand(["status"], { ...b, env: { ...b.env, HTTP_TOKEN: undefined } });
  assert.equal(run.code, 1);
  assert.match(run.stderr, /^error: no agent responds at http:\/\/127\.0\.0\.1:9 /);
  const other = await runCommand(["status", "--url", b.env["GATEWAY_URL"] ?? ""], b);
  assert.match(other.stderr, /returned 404: .*; check that this is the agent's address\n$/);
});

test("doctor – a gateway that accepts connections but never responds is not waited for once per sensor", async (t) => {
  const b = await bench(t);
  const silent = createServer();
  const open = new Set<Socket>();
  silent.on("connection", (socket) => open.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of open) socket.destroy();
    silent.close();
  });
  const { port } = silent.address() as AddressInfo;
  const env = {
    ...b.env,
    GATEWAY_URL: `http://127.0.0.1:${port}`,
    GATEWAY_TIMEOUT_MS: "100",
    GATEWAY_CONCURRENCY: "1",
  };
  const run = await runCommand(["doctor"], { ...b, env });
  assert.equal(run.code, 1);
  assert.equal(run.stdout.match(/no response within/g)?.length, 2);
  assert.match(
    run.stdout,
    /^FAILED +gateway .*returned no valid response for any sensor.* \(\d+ reads not tried\)$/m,
  );
});

test("probe – shows the raw record, the reading and the messages of each format", async (t) => {
  const b = await bench(t);
  const sensor = b.sensorOf("loop");
  const env = { ...b.env, PUBLISH_FORMATS: "json,plain,sparkplug" };
  const words = ["probe", "--sensor", sensor, "--kind", "loop", "--date", morningDay(-1)];
  const run = await runCommand(words, { ...b, env });
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout, /"channel1_voltage":/);
  assert.match(run.stdout, /channel1_ma +\S+ +mA +good/);
  assert.match(run.stdout, new RegExp(`gateside/bench/${sensor}/loop/history {2}\\(QoS 1\\)`));
  assert.match(run.stdout, new RegExp(`spBv1.0/bench/DDATA/gateside/${sensor}`));
  const wrong = await runCommand(["probe", "--sensor", sensor, "--kind", "rpm"], b);
  assert.equal(wrong.code, 2);
});

test("probe – a record dated in the future is shown as history, as the agent publishes it", async (t) => {
  const b = await bench(t);
  const sensor = b.sensorOf("loop");
  const time = `/Date(${Date.now() + 3 * 86_400_000}+0000)/`;
  const Value = [{ sensor_code: sensor, time_data: time, channel1_voltage: 1 }];
  const gateway = createHttpServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify([{ Configs: [], Key: { StatusNumber: 0 }, Value }]));
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  t.after(() => gateway.close());
  const { port } = gateway.address() as AddressInfo;
  const env = { ...b.env, GATEWAY_URL: `http://127.0.0.1:${port}`, PUBLISH_FORMATS: "json" };
  const words = ["probe", "--sensor", sensor, "--kind", "loop", "--json"];
  const run = await runCommand(words, { ...b, env });
  assert.equal(run.code, 0, run.stderr);
  const { messages } = JSON.parse(run.stdout) as { messages: { topic: string }[] };
  assert.deepEqual(
    messages.map(({ topic }) => topic),
    [`gateside/bench/${sensor}/loop/history`],
  );
});

test("probe and doctor – read the gateway's current day, although this machine's clock is on another", async (t) => {
  const b = await bench(t);
  const sensor = b.sensorOf("loop");
  const gatewayNow = Date.now() + 3 * 86_400_000;
  const gatewayDay = dayOf(gatewayNow, MORNING_ZONE);
  const time_data = `/Date(${gatewayNow - 60_000}+0000)/`;
  const record = { sensor_code: sensor, time_data, channel1_voltage: 1 };
  const gateway = createHttpServer((request, response) => {
    void text(request).then((body) => {
      const { date } = JSON.parse(body) as { date: string };
      const Value = date === gatewayDay ? [record] : [];
      response.setHeader("content-type", "application/json");
      response.setHeader("date", new Date(gatewayNow).toUTCString());
      response.end(JSON.stringify([{ Configs: [], Key: { StatusNumber: 0 }, Value }]));
    });
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  t.after(() => gateway.close());
  const { port } = gateway.address() as AddressInfo;
  const env = { ...b.env, GATEWAY_URL: `http://127.0.0.1:${port}`, PUBLISH_FORMATS: "json" };
  const words = ["probe", "--sensor", sensor, "--kind", "loop", "--json"];
  const probe = await runCommand(words, { ...b, env });
  const report = JSON.parse(probe.stdout) as { day: string; messages: { topic: string }[] };
  assert.equal(report.day, gatewayDay);
  assert.deepEqual(
    report.messages.map(({ topic }) => topic),
    [`gateside/bench/${sensor}/loop`],
  );
  const site = JSON.parse(readFileSync(join(b.cwd, "site.json"), "utf8")) as {
    sensors: { code: string }[];
  };
  const sensors = site.sensors.filter(({ code }) => code === sensor);
  writeFileSync(join(b.cwd, "one.json"), JSON.stringify({ ...site, sensors, machines: [] }));
  const doctor = await runCommand(["doctor"], { ...b, env: { ...env, SITE_FILE: "one.json" } });
  assert.match(doctor.stdout, new RegExp(`${sensor} loop +1 records on ${gatewayDay}`));
});

test("backfill and export – a day is stored once, and exported as CSV and JSON lines", async (t) => {
  const b = await bench(t);
  const sensor = b.sensorOf("loop");
  const range = ["--from", morningDay(-1), "--to", morningDay(-1), "--sensor", sensor];
  const first = await runCommand(["backfill", ...range, "--json"], b);
  assert.equal(first.code, 0, first.stderr);
  const { stored } = JSON.parse(first.stdout) as { stored: number };
  assert.ok(stored > 100);
  const again = await runCommand(["backfill", ...range, "--json"], b);
  assert.equal((JSON.parse(again.stdout) as { stored: number }).stored, 0);

  const lines = (await runCommand(["export", ...range, "--format", "jsonl"], b)).stdout
    .trim()
    .split("\n");
  const readings = lines.map((l) => JSON.parse(l) as { id: string; time: string; values: object });
  assert.equal(readings.length, stored);
  assert.equal(new Set(readings.map((r) => r.id)).size, stored);
  assert.deepEqual(
    readings.map((r) => r.time),
    readings.map((r) => r.time).sort(),
  );
  const csv = (await runCommand(["export", ...range, "--kind", "loop"], b)).stdout
    .trim()
    .split("\n");
  assert.equal(
    csv[0],
    "time,sensor,kind,value_name,value,unit,quality,reason,id,site,name,company_id,area_id,machine_id,point_id,company,area,machine,point",
  );
  const values = readings.reduce((sum, r) => sum + Object.keys(r.values).length, 0);
  assert.equal(csv.length, values + 1);
  assert.ok(csv.slice(1).every((line) => line.split(",").length === 19));
  assert.equal(csv[1]?.split(",")[9], "bench");
  const named = lines.map((line) => JSON.parse(line) as { site: string; name: string });
  assert.ok(named.every(({ site, name }) => site === "bench" && name.length > 0));
  const table = (await runCommand(["export", ...range, "--kind", "loop", "--excel"], b)).stdout;
  assert.equal(table.trimEnd().split("\r\n").length, stored + 1);
  assert.match(table, /^\ufefftime \([^)]+\);sensor;name;kind;channel1/);
  const none = await runCommand(["export", "--from", "2020-01-01", "--to", "2020-01-02"], b);
  assert.equal(none.code, 0);
  assert.match(
    none.stderr,
    /^note: nothing is stored in that range; the newest reading is from 20/,
  );
});

test("export – lines of several sensors and kinds are in order of time", async (t) => {
  const b = await bench(t);
  const range = ["--from", morningDay(-1), "--to", morningDay(-1)];
  for (const kind of ["loop", "rpm"])
    await runCommand(["backfill", ...range, "--sensor", b.sensorOf(kind)], b);

  const { stdout } = await runCommand(["export", ...range, "--format", "jsonl"], b);

  const readings = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { time: string; kind: string });
  assert.deepEqual(new Set(readings.map(({ kind }) => kind)), new Set(["loop", "rpm"]));
  const times = readings.map(({ time }) => time);
  assert.deepEqual(times, times.toSorted());
});

test("backfill – a sensor that is not read stays unread without an agent, too", async (t) => {
  const b = await bench(t);
  const sensor = b.sensorOf("loop");
  const file = join(b.cwd, "site.json");
  const site = JSON.parse(readFileSync(file, "utf8")) as { sensors: { code: string }[] };
  const pair = site.sensors.filter(({ code }) => [sensor, b.sensorOf("rpm")].includes(code));
  const sensors = pair.map((one) => (one.code === sensor ? { ...one, enabled: false } : one));
  writeFileSync(file, JSON.stringify({ site: "bench", sensors }));
  const days = ["--from", morningDay(-1), "--to", morningDay(-1)];
  const { code, stdout } = await runCommand(["backfill", ...days], b);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^done: 1 of 1 reads/);
});

test("export – waveforms as CSV, WAV and NumPy files, with an index that lists each", async (t) => {
  const b = await bench(t);
  const sensor = b.sensorOf("accel");
  const range = ["--from", morningDay(-1), "--to", morningDay(-1), "--sensor", sensor];
  assert.equal((await runCommand(["backfill", ...range], b)).code, 0);
  const lengths = new Set<number>();
  for (const [format, bytesEach] of [
    ["wav", 4],
    ["npy", 8],
  ] as const) {
    const run = await runCommand(
      ["export", ...range, "--waveforms", format, "--format", format],
      b,
    );
    assert.equal(run.code, 0, run.stderr);
    const again = await runCommand(
      ["export", ...range, "--waveforms", format, "--format", format],
      b,
    );
    assert.equal(again.code, 0, "a second time lists no file twice");
    const directory = join(b.cwd, format);
    const [head, ...index] = readFileSync(join(directory, "index.csv"), "utf8").trim().split("\n");
    assert.match(head ?? "", /^file,time,sensor,channel,axis,unit,sample_rate,samples,/);
    assert.equal(index.length, readdirSync(directory).length - 1);
    assert.ok(index.length > 2);
    const [file, , code, channel, axis, unit, , samples] = index[0]?.split(",") ?? [];
    assert.deepEqual([code, channel, axis, unit], [sensor, "channel1", "H", "G"]);
    const size = readFileSync(join(directory, file ?? "")).length;
    assert.equal((size - (format === "wav" ? 58 : 128)) / bytesEach, Number(samples));
    lengths.add(Number(samples));
  }
  assert.equal(lengths.size, 1);
  const wrong = await runCommand(["export", ...range, "--format", "wav"], b);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--waveforms DIR/);
});

test("backfill – repeated days do not wait for one commit each", {
  timeout: deadlineMs(45_000),
}, async (t) => {
  const b = await bench(t);
  const env = { ...b.env, COMMIT_INTERVAL_S: "60" };
  const range = ["--from", morningDay(-4), "--to", morningDay(-1), "--sensor", b.sensorOf("rpm")];
  const backfill = () => runCommand(["backfill", ...range, "--json"], { ...b, env });
  assert.equal((await backfill()).code, 0);
  const db = new Sqlite(join(b.cwd, "data", "gateside.db"));
  // Each day is written again.
  db.exec("UPDATE day_progress SET checkpoint = NULL");
  db.close();
  const again = await backfill();
  assert.equal(again.code, 0, again.stderr);
  assert.equal((JSON.parse(again.stdout) as { reads: { done: number } }).reads.done, 4);
});

test("backfill – a range in the future is an error with exit code 2; if only the last days are, they are named", async (t) => {
  const b = await bench(t);
  const ask = (from: string, to: string) =>
    runCommand(["backfill", "--from", from, "--to", to, "--sensor", b.sensorOf("rpm")], b);
  const future = await ask(morningDay(2), morningDay(3));
  assert.equal(future.code, 2);
  assert.match(future.stderr, /^error: \S+ is in the future: the date at the gateway is \S+/);
  assert.equal(future.stdout, "");
  const partly = await ask(morningDay(0), morningDay(3));
  assert.equal(partly.code, 0, partly.stderr);
  assert.match(
    partly.stderr,
    /^\S+ to \S+: not read, because it is in the future: the date at the gateway is \S+/,
  );
  assert.match(partly.stdout, /^done: 1 of 1 reads/);
});

test("backfill – a directory held by an agent without HTTP is left alone", async (t) => {
  const b = await bench(t);
  const store = openStore({
    dataDir: join(b.cwd, "data"),
    historyDays: 30,
    waveformDays: 7,
    bufferMaxMb: 64,
    diskFreeMinMb: 0,
    uplinks: mainOf("json"),
    clock: systemClock,
    logger: silentLogger,
  });
  t.after(() => store.close());
  const run = await runCommand(["backfill", "--from", DAY, "--to", DAY], b);
  assert.equal(run.code, 1);
  assert.match(
    run.stderr,
    /another agent is running on .*; stop it first, or set another DATA_DIR/,
  );
});

/** Resolves once the agent takes commands, to what ends it. */
async function startAgent(
  t: TestContext,
  at: Pick<Bench, "cwd" | "env">,
): Promise<() => Promise<void>> {
  const ending = new AbortController();
  const run = runCommand(["run"], {
    cwd: at.cwd,
    env: { ...at.env, LOG_LEVEL: "silent" },
    signal: ending.signal,
  });
  const stop = async () => {
    ending.abort("test");
    assert.equal((await run).code, 0);
  };
  t.after(stop);
  const isUp = async () => (await runCommand(["status"], at)).stdout !== "";
  await waitUntil("the agent responds", isUp, 30_000);
  return stop;
}

for (const port of ["off", "0"]) {
  test(`backfill and status – with HTTP_PORT=${port} the running agent is reached through its directory`, async (t) => {
    const b = await bench(t);
    const env = { ...b.env, HTTP_PORT: port, BACKFILL_DAYS: "0", DISK_FREE_MIN_MB: "0" };
    const at = { ...b, env };
    const stop = await startAgent(t, at);
    const days = ["--from", DAY, "--to", DAY, "--sensor", b.sensorOf("rpm")];
    assert.equal(statSync(join(b.cwd, "data", "gateside.sock")).mode & 0o777, 0o600);
    const filled = await runCommand(["backfill", ...days], at);
    assert.equal(filled.code, 0, filled.stderr);
    assert.match(filled.stdout, /^done: 1 of 1 reads \(0 failed\), [1-9]\d* readings stored/);
    const status = await runCommand(["status"], at);
    assert.match(status.stdout, /^site +bench, /);
    const stranger = { ...at, env: { ...env, HTTP_TOKEN: "another-token-00" } };
    assert.match((await runCommand(["status"], stranger)).stderr, / returned 401: .*HTTP_TOKEN/);
    await stop();
    const after = await runCommand(["status"], at);
    assert.equal(after.code, 1);
    assert.match(after.stderr, /^error: no agent is running on DATA_DIR/);
  });
}

test("export – an empty store is reported, with exit code 1", async (t) => {
  const b = await bench(t);
  const run = await runCommand(["export", "--from", DAY, "--to", DAY], b);
  assert.equal(run.code, 1);
  assert.match(run.stderr, /^error: .*gateside\.db/);
});

test("settings – queued by the gateway, or refused here with the documented number", async (t) => {
  const b = await bench(t);
  const sensor = b.sensorOf("accel");
  const words = (interval: string) =>
    `settings --sensor ${sensor} --interval-send-data ${interval} --range 8 --interval-rms 30 --alarm1 0.5 --alarm2 1 --alarm3 1 --json`.split(
      " ",
    );
  const refused = await runCommand(words("9"), b);
  assert.equal(refused.code, 1);
  assert.equal((JSON.parse(refused.stdout) as { statusNumber: number }).statusNumber, 503);
  const queued = await runCommand(words("10"), b);
  assert.equal(queued.code, 0, queued.stdout);
  assert.equal((JSON.parse(queued.stdout) as { outcome: string }).outcome, "queued");
});
