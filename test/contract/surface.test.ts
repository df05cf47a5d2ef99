/** Contract sections 2, 3 and 7: responses in every legal form, the HTTP side from outside, and wrong settings. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { seriesLine } from "../support/agent-answers.ts";
import { envelope, type GatewayReply, wireTime } from "../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../support/fake-site.ts";
import { MORNING_MIDNIGHT_MS, MORNING_ZONE, morningDay } from "../support/morning.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { tempDirectory } from "../support/temp-database.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto;
const TODAY = morningDay();

test("responses – every form of envelope is read, and a refusal loses nothing that is there", {
  skip,
}, async (t) => {
  const start = MORNING_MIDNIGHT_MS;
  const record = (code: string) => ({
    RPM: Number(code),
    sensor_code: code,
    time_data: wireTime(start),
  });
  const key = { StatusNumber: 0, Description: "OK" };
  const forms: Record<string, (records: readonly object[]) => string | GatewayReply> = {
    "1": (records) => JSON.stringify({ Value: records, Key: key }),
    "2": (records) => JSON.stringify({ getRPMDataResult: [{ Key: key, Value: records }] }),
    "3": (records) =>
      JSON.stringify({ getRPMDataResult: { Value: records, Configs: null, Key: key } }),
    "4": (records) => JSON.stringify([{ Value: records }]),
    "5": (records) => JSON.stringify([{ Key: { StatusNumber: "0" }, Value: records[0] }]),
    "6": (records) =>
      JSON.stringify([
        { Key: key, Value: [] },
        { key, value: records, more: [1] },
      ]),
    "7": () => "[]",
    "8": () => JSON.stringify([{ Key: key, Value: [[]] }]),
    "9": () => JSON.stringify([{ Key: key, Value: null }]),
    "10": () => envelope([], 404, "no records of that day"),
    "11": (records) => envelope(records, 503, "never"),
    "12": (records) => ({ status: 500, body: envelope(records) }),
  };
  const site = await startFakeSite(t, {
    answer({ body }) {
      const code = String(body["sensorCode"]);
      const form = forms[code];
      if (form === undefined) return envelope([]);
      return form(body["date"] === TODAY ? [record(code)] : []);
    },
    sensors: Object.keys(forms).map((code) => ({ code, type: 1, kinds: ["rpm"] })),
    env: { GATEWAY_TIMEZONE: MORNING_ZONE, GATEWAY_EMPTY_STATUSES: "7, 404" },
  });
  const agent = site.startAgent();
  const readings = () => site.messages.messages.filter(({ topic }) => topic.endsWith("/rpm"));
  await site.messages.waitUntil(() => readings().length === 6, 15_000);
  const address = await agent.address;
  const asked = (code: string) =>
    site.gateway.calls.filter(({ body }) => body["sensorCode"] === code).length;
  while (asked("12") < 2) await new Promise((resolve) => setImmediate(resolve));
  const status = await (await fetch(`${address}/api/v1/status`)).text();
  const errors: Record<string, string | null> = {};
  for (const { code, kinds } of JSON.parse(status).sensors) errors[code] = kinds[0].lastError;
  for (const code of ["7", "8", "9", "10"]) assert.equal(errors[code], null, `form ${code}`);
  assert.match(String(errors["11"]), /503/);
  assert.match(String(errors["12"]), /500/);
  assert.deepEqual(
    readings()
      .map((message) => Object(payloadOf(message)["values"]).rpm)
      .sort(),
    [1, 2, 3, 4, 5, 6],
  );
});

const METRICS = [
  "gateside_gateway_up",
  "gateside_broker_connected",
  'gateside_readings_total{kind="accel"}',
  // From 0 on: this kind is measured, but no record ever comes.
  'gateside_readings_total{kind="rpm"}',
  'gateside_records_rejected_total{reason="foreign_record"}',
  "gateside_outbox_readings",
  "gateside_outbox_oldest_age_seconds",
  "gateside_delivered_total",
  'gateside_delivery_failures_total{reason="lost"}',
  'gateside_dropped_total{reason="buffer_full"}',
  "gateside_database_bytes",
  "gateside_freshness_seconds_count",
  'gateside_freshness_seconds_bucket{le="+Inf"}',
];

test("http – the paths of the contract, their token, their host and the query service with a vendor's word", {
  skip,
}, async (t) => {
  const token = "a-token-of-20-letters";
  const start = MORNING_MIDNIGHT_MS;
  const wave = Array.from({ length: 512 }, (_, n) => Math.round(1000 * Math.sin(n / 3)));
  const record = (minute: number) => ({
    acme_code: "10234",
    calibration: 0.001,
    channel1: wave,
    channel2: wave,
    channel3: null,
    sample_rate: 6400,
    recording_reason: 3,
    time_data: wireTime(start + minute * 60_000),
  });
  const site = await startFakeSite(t, {
    answer: ({ body }) =>
      envelope(
        body["acmeCode"] === "10234" && body["date"] === TODAY ? [record(0), record(1)] : [],
      ),
    sensors: [
      {
        code: "10234",
        type: 3,
        name: "P4",
        kinds: ["accel"],
        machineClass: "group2-rigid",
        location: { company: 1, area: 2, machine: 40, point: 1 },
      },
      { code: "40001", type: 40, kinds: ["rpm"] },
    ],
    env: { GATEWAY_TIMEZONE: MORNING_ZONE, WIRE_WORD: "acme" },
  });
  writeFileSync(join(site.directory, "token"), `${token}\n`);
  const agent = site.startAgent({ HTTP_TOKEN_FILE: "token" });
  const address = await agent.address;
  await site.messages.waitUntil(
    (all) => all.filter(({ topic }) => topic.includes("/accel")).length === 2,
    10_000,
  );
  const bearer = { authorization: `Bearer ${token}` };
  const get = (path: string, headers = {}) => fetch(`${address}${path}`, { headers });

  assert.equal((await get("/healthz")).status, 200);
  for (const path of ["/readyz", "/metrics", "/", "/api/v1/status"]) {
    assert.equal((await get(path)).status, 401, path);
    assert.equal((await get(path, { authorization: "Bearer wrong" })).status, 401, path);
  }
  assert.equal((await get("/readyz", bearer)).status, 200);
  const metrics = await (await get("/metrics", bearer)).text();
  for (const name of METRICS) {
    const line = seriesLine(metrics, name);
    assert.match(String(line), / \d+(\.\d+)?$/, name);
  }
  const statusOf = (host: string) =>
    new Promise((resolve) => {
      const { hostname, port } = new URL(address);
      request({ hostname, port, path: "/healthz", headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).end();
    });
  assert.equal(await statusOf("rebound.example"), 403);
  assert.equal(await statusOf("localhost:1"), 200);

  const ask = async (operation: string, body: object) => {
    const answer = await fetch(`${address}/ApiWeb.svc/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    const [{ Key, Value }] = JSON.parse(await answer.text());
    return { status: answer.status, number: Key.StatusNumber, Value };
  };
  assert.equal((await ask("Login", { email: "x", password: "wrong" })).number, 9001);
  const login = await ask("Login", { email: "x", password: token });
  assert.deepEqual(login.Value[0].DataBase, { Id: 1, Name: "plant-7", DBName: "plant-7" });
  const Token = login.Value[0].Token;
  assert.equal((await ask("GetUnits", {})).number, 9001);
  assert.equal((await ask("GetCompanies", { token: Token })).Value[0].Id, 1);
  const byCode = await ask("GetDevicesByCode", { Token, acmeCodes: "7,010234" });
  assert.equal(byCode.Value[0].code, "10234");
  const assigned = await ask("GetAcmeAssignedMachines", { Token, code: "10234" });
  assert.deepEqual(assigned.Value[0], { MachineCode: 40, PointIndex: 1, Axis: 1 });
  const data = await ask("GetDataBySensor", { Token, acmeCode: 10234 });
  assert.deepEqual([data.Value[0].AcmeCode, data.Value[0].AcmeName], [10234, "P4"]);
  const current = await ask("GetCurrentMeasures", { Token, companyID: -1, machineCode: null });
  const [machine] = current.Value;
  assert.equal(machine.MachineCode, "40");
  const signal = machine.pointList[0].axis[0].signalAPI;
  assert.deepEqual([signal.AccelUnit, signal.VelUnit, signal.EnvUnit], ["0", "2", "6"]);
  assert.equal(signal.VelSev, 3);
  const place = { Token, machinecode: 40, pointindex: 1 };
  const packed = await ask("GetFFT_Base64", {
    ...place,
    fileid: signal.FileId,
    OutputType: 2,
    SignalTypeOut: 0,
  });
  assert.equal(Buffer.from(packed.Value.base64, "base64").length, 512 * 4);
  assert.deepEqual([packed.Value.SR, packed.Value.type], [6400, 2]);
  const unknown = { ...place, fileid: 999_999, OutputType: 2, SignalTypeOut: 0 };
  assert.deepEqual(
    [(await ask("GetFFT_Base64", unknown)).number, (await ask("GetFFT_Base64", unknown)).Value],
    [9006, {}],
  );
  const history = { ...place, axis: 1 };
  const numbers = [
    [{ ...history, axis: undefined, machinecode: "x" }, 9002],
    [{ ...history, machinecode: "x", StartDate: "never" }, 9003],
    [{ ...history, StartDate: "2026-02-30" }, 9004],
    [{ ...history, StartDate: "2026-11-22", EndDate: "2026-11-21" }, 9004],
    [{ ...history, machinecode: 41 }, 0],
  ] as const;
  for (const [body, number] of numbers) {
    assert.equal((await ask("GetAllHistoryMeasures", body)).number, number);
  }
  const table = await ask("GetAllHistoryMeasures", { ...history, EndDate: TODAY });
  assert.equal(table.Value[0].data.length, 6);
  assert.deepEqual(table.Value[0].data[0].slice(0, 5), [40, 1, 1, `${TODAY} 00:00:00`, "G"]);
  assert.deepEqual(
    [
      (await ask("GetThermalImage", { Token })).status,
      (await ask("GetThermalImage", { Token })).number,
    ],
    [404, 9005],
  );
});

test("settings – wrong ones end the program with 2, one line each, before anything is touched", {
  skip: skipWithoutBuild,
}, (t) => {
  const directory = tempDirectory(t);
  const { status, stderr } = spawnSync(process.execPath, [resolve("dist", "gateside.js"), "run"], {
    cwd: directory,
    env: { GATEWAY_URL: "ftp://x", POLL_INTERVAL_S: "0", BUFFER_MAX_MB: "7", DATA_DIR: "data" },
    encoding: "utf8",
  });
  assert.equal(status, 2);
  for (const name of ["GATEWAY_URL", "POLL_INTERVAL_S", "BUFFER_MAX_MB", "MQTT_URL", "SITE_FILE"]) {
    assert.match(stderr, new RegExp(`^error: ${name}: `, "m"));
  }
  assert.equal(existsSync(join(directory, "data")), false);
});
