import assert from "node:assert/strict";
import { request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { operationsOf } from "../../../src/agent/features.ts";
import { loadSettings } from "../../../src/config/settings.ts";
import { createCommands } from "../../../src/features/commands/commands.ts";
import { checkSettings } from "../../../src/features/commands/save-settings.ts";
import { createApp, createHttpServer } from "../../../src/http/server.ts";
import { SecretGate } from "../../../src/lib/secrets.ts";
import { auditLog } from "../../support/audit-log.ts";
import { OPTIONS, testParts } from "../../support/http-parts.ts";
import { tempDirectory } from "../../support/temp-database.ts";
import { MemoryLog } from "./memory-log.ts";

type Members = Readonly<Record<string, unknown>>;

function opened(
  t: TestContext,
  commandsEnabled = false,
  over: Parameters<typeof testParts>[0] = {},
  tokens = {},
) {
  const own = testParts(over);
  const commands = createCommands({
    ...own,
    settings: {
      commandResponsePrefix: null,
      commandsEnabled,
      gatewaySettingsOperation: "saveSettings",
      httpToken: null,
      wireWord: "sensor",
    },
    gateway: {
      post: () => Promise.resolve({ statusNumber: 0, description: "OK", gatewayTimeMs: null }),
    },
    gate: new SecretGate([]),
    commandLog: new MemoryLog(),
    addAudit: () => {},
  });
  t.after(() => commands.finish?.());
  const parts = { ...own, operations: operationsOf([commands]) };
  const app = createApp(parts, { ...OPTIONS, ...tokens });
  t.after(() => app.close());
  return { app, parts };
}

test("settings – the schema of sensor settings allows exactly what the command room accepts", async (t) => {
  const { app } = opened(t);
  const document = (
    await app.inject({ url: "/api/v1/openapi.json", headers: { host: "localhost" } })
  ).json() as {
    paths: Record<
      string,
      { post: { requestBody: { content: Record<string, { schema: Members }> } } }
    >;
  };
  const body = document.paths["/api/v1/settings"]?.post.requestBody.content["application/json"];
  const fits = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(body?.schema ?? false);
  const whole = {
    sensor: "10234",
    IntervalSendData: 10,
    Range: 1,
    IntervalRMS: 30,
    alarm1: 0.5,
    alarm2: 4.5,
    alarm3: 1_000_000,
  };
  const changes: readonly Members[] = [
    {},
    ...Object.keys(whole).flatMap((name) => [{ [name]: undefined }, { [name]: "x" }]),
    { sensor: 10234 },
    { sensor: " 0010234 " },
    { sensor: "1234567890123456" },
    { sensor: -1 },
    { IntervalSendData: 9 },
    { IntervalSendData: 10.5 },
    { Range: 0 },
    { Range: 2 ** 31 },
    { IntervalRMS: 29 },
    { alarm1: 0.49 },
    { alarm3: 1_000_001 },
    { Intervalrms: 30 },
  ];
  for (const change of changes) {
    const request = JSON.parse(JSON.stringify({ ...whole, ...change })) as Members;
    const checked = checkSettings(request, [{ code: "10234", type: 3 }], "sensor", "saveSettings");
    assert.equal(fits(request), "settings" in checked, JSON.stringify(change));
  }
});

test("settings – those over TCP require HTTP_TOKEN and COMMANDS_ENABLED; the socket accepts them without", async (t) => {
  const socketPath = join(tempDirectory(t), "agent.sock");
  const { parts } = opened(t);
  const server = createHttpServer(parts, { ...OPTIONS, socketPath });
  await server.listenLocally();
  const address = await server.listen();
  t.after(() => server.close());
  const answer = await fetch(`${address}/api/v1/settings`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  assert.equal(answer.status, 403);
  assert.match(
    await answer.text(),
    /set HTTP_TOKEN or COMMANDS_ENABLED=true, or use gateside settings/,
  );
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { host: "localhost", "content-type": "application/json" };
    request({ socketPath, path: "/api/v1/settings", method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end("{}");
  });
  assert.equal(status, 200);
});

test("settings – the outcome is passed on, also that of a refusal, as its schema says", async (t) => {
  const { parts } = opened(t, true);
  const app = createApp(parts, OPTIONS);
  t.after(() => app.close());
  const document = (
    await app.inject({ url: "/api/v1/openapi.json", headers: { host: "localhost" } })
  ).json();
  const fits = new Ajv2020({ strict: true, allowUnionTypes: true }).compile({
    ...document.components.schemas.SettingsOutcome,
    additionalProperties: false,
  });
  const send = async (payload: object) => {
    const headers = { host: "localhost" };
    const answer = await app.inject({ method: "POST", url: "/api/v1/settings", headers, payload });
    assert.equal(answer.statusCode, 200);
    assert.ok(fits(answer.json()), answer.body);
    return answer.json().outcome;
  };
  const [IntervalSendData, Range, IntervalRMS] = [60, 8, 60];
  const whole = { IntervalSendData, Range, IntervalRMS, alarm1: 4.5, alarm2: 4.5, alarm3: 4.5 };
  assert.equal(await send({ sensor: "10234", ...whole }), "queued");
  assert.equal(await send({ sensor: "10234", Range: 3 }), "rejected_local");
});

test("settings – generation 1 uses saveSettings unless UpdateConfig is selected, which no other has", () => {
  const load = (given: Readonly<Record<string, string>>) => {
    const own = { GATEWAY_URL: "http://gateway:8080", MQTT_URL: "mqtt://broker", ...given };
    const { settings, faults } = loadSettings(own, { cwd: "/nonexistent" });
    return [settings?.gatewaySettingsOperation, faults.map(({ place }) => place).join()];
  };
  const updates = { GATEWAY_SETTINGS_OPERATION: "UpdateConfig" };
  assert.deepEqual(load({ GATEWAY_GENERATION: "1" }), ["saveSettings", ""]);
  assert.deepEqual(load({ GATEWAY_GENERATION: "1", ...updates }), ["UpdateConfig", ""]);
  for (const given of [updates, { GATEWAY_SETTINGS_OPERATION: "updateConfig" }])
    assert.equal(load(given)[1], "GATEWAY_SETTINGS_OPERATION");
});

test("audit – a change is recorded with token, address, time, action and outcome; unauthenticated requests and reads are not recorded", async (t) => {
  const { audit, entries } = auditLog();
  const token = "t0ken-that-may-all";
  const host = "localhost";
  const { app, parts } = opened(t, true, { audit }, { token });
  const headers = { host, authorization: `Bearer ${token}` };
  const payload = { sensor: "100200300", Range: 8, alarm1: 2.5, IntervalRMS: "pasted secret" };
  const change = { method: "POST", url: "/api/v1/settings", payload } as const;
  assert.equal((await app.inject({ ...change, headers: { host } })).statusCode, 401);
  assert.equal((await app.inject({ url: "/api/v1/status", headers })).statusCode, 200);
  assert.deepEqual(entries, []);
  assert.equal((await app.inject({ ...change, headers })).statusCode, 200);
  assert.deepEqual(entries, [
    {
      timeMs: parts.clock.now(),
      who: "HTTP_TOKEN",
      person: null,
      address: "127.0.0.1",
      what: "POST /api/v1/settings",
      detail: "rejected_local, sensor 100200300, Range 8, alarm1 2.5",
      outcome: "200",
    },
  ]);
  const shown = await app.inject({ url: "/api/v1/audit?limit=1", headers });
  assert.equal(shown.json().entries[0].who, "HTTP_TOKEN");
  assert.equal(shown.json().before, 1);
  assert.ok(!shown.body.includes(token));
});

test("audit – a failure to write the record is logged, and the response is sent all the same", async (t) => {
  const audit = {
    add: () => {
      throw new Error("database or disk is full");
    },
    newest: () => [],
  };
  const { app } = opened(t, true, { audit });
  const change = { method: "POST", url: "/api/v1/settings", payload: {} } as const;
  assert.equal((await app.inject({ ...change, headers: { host: "localhost" } })).statusCode, 200);
});
