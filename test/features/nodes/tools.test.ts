/** What doctor and probe say of state reads, against a fake gateway and registers served by the product's own Modbus server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Finding } from "../../../src/cli/finding.ts";
import { envelope, startFakeGateway, wireTime } from "../../support/fake-gateway.ts";
import { startRegisters } from "../../support/registers.ts";
import { runCommand } from "../../support/run-command.ts";

const FLOAT_361 = [0x4067, 0x0a3d] as const;

const running = () => [{ sensor_code: "100", RPM: 1480, time_data: wireTime(Date.now()) }];

async function site(t: TestContext, stateReads: readonly unknown[], state: () => string) {
  const gateway = await startFakeGateway(t, ({ operation }) => {
    if (operation === "getRPMData") return envelope(running());
    if (operation === "getState") return state();
    return { status: 404, body: "<html>Endpoint not found</html>" };
  });
  const cwd = mkdtempSync(join(tmpdir(), "gateside-state-reads-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const sensors = [{ code: "100", type: 40, kinds: ["rpm"], stateReads }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "plant-7", sensors }));
  const env = {
    GATEWAY_URL: gateway.url,
    GATEWAY_TIMEZONE: "UTC",
    MQTT_URL: "mqtt://127.0.0.1:9",
    SITE_FILE: "site.json",
    DATA_DIR: "data",
    HTTP_PORT: "off",
  };
  const findings = async () => {
    const { stdout } = await runCommand(["doctor", "--json"], { env, cwd });
    return (JSON.parse(stdout) as { findings: Finding[] }).findings;
  };
  const nodeFindings = async () =>
    (await findings()).filter(({ what }) => what === "100 node" || what === "state reads");
  return { env, cwd, findings, nodeFindings };
}

test("doctor – reports for each state read what responds, and what to do if nothing does", async (t) => {
  const device = await startRegisters(
    t,
    new Map([
      [0, 3580],
      [10, FLOAT_361[1]],
      [11, FLOAT_361[0]],
    ]),
  );
  const registers = (address: number, type = "uint16") => [
    { address, type, scale: 0.001, value: `v${address}`, unit: "V" },
  ];
  const via = "modbus";
  const gone = "tcp://127.0.0.1:9";
  const { nodeFindings } = await site(
    t,
    [
      {
        operation: "getState",
        fields: { battery: { from: "Battery", unit: "V" }, firmware: { from: "FW" } },
      },
      { operation: "getNothing", fields: { x: { from: "x" } } },
      { via, url: device.url, registers: registers(0) },
      { via, url: device.url, registers: [{ address: 10, type: "float32", value: "rms" }] },
      { via, url: device.url, registers: registers(99) },
      { via, url: gone, registers: registers(1) },
      { via, url: gone, registers: registers(2) },
    ],
    () => envelope([{ sensor_code: "100", Battery: "3,58", FIRM: 21 }]),
  );
  const [service, unknown, good, swapped, exception, away, skipped, ...more] = await nodeFindings();
  assert.deepEqual(more, []);
  assert.equal(service?.state, "warning");
  assert.match(
    service.detail,
    /^getState: battery 3.58 V; firmware missing: compare "from" with the fields of the record, sensor_code, Battery, FIRM$/,
  );
  assert.equal(unknown?.state, "failed");
  assert.match(unknown.detail, /^getNothing: .*HTTP 404.*this gateway has no such operation/);
  assert.equal(good?.state, "ok");
  assert.match(good.detail, /: v0 3.58 V$/);
  assert.equal(swapped?.state, "warning");
  assert.match(swapped.detail, /with the words swapped: rms 3.61. Then set "wordOrder": "little"$/);
  assert.equal(exception?.state, "failed");
  assert.match(exception.detail, /exception 2: .*counted from 0/);
  assert.equal(away?.state, "failed");
  assert.match(away.detail, /ECONNREFUSED.*is the device switched on/);
  assert.equal(skipped?.state, "skipped");
  assert.match(skipped.detail, /^tcp:\/\/127\.0\.0\.1:9 not tried for 100:/);
});

test("doctor – a state operation without records, or without the configured fields, is a warning with the likely member", async (t) => {
  let answer = envelope([]);
  const read = { operation: "getState", request: "none", fields: { battery: { from: "Volts" } } };
  const { nodeFindings } = await site(t, [read], () => answer);
  const [empty] = await nodeFindings();
  assert.equal(empty?.state, "warning");
  assert.match(empty.detail, /has no record; .*\("request"\)/);
  answer = envelope([{ sensor_code: "100", Battery: 3.5 }]);
  const [other] = await nodeFindings();
  assert.equal(other?.state, "warning");
  assert.match(
    other.detail,
    /has one of the fields Volts; gateside probe --sensor 100 --kind node/,
  );
  answer = envelope([{ sensor_code: "100", Volts: 3.5 }]).slice(0, -3);
  const [cut] = await nodeFindings();
  assert.equal(cut?.state, "failed");
  assert.match(cut.detail, /^getState: /);
});

test("probe – shows 32-bit registers in both word orders side by side, and a failed read gives exit code 1", async (t) => {
  const device = await startRegisters(
    t,
    new Map([
      [10, FLOAT_361[0]],
      [11, FLOAT_361[1]],
    ]),
  );
  const float = {
    via: "modbus",
    url: device.url,
    registers: [{ address: 10, type: "float32", value: "rms", unit: "mm/s" }],
  };
  const { env, cwd } = await site(t, [float], () => envelope([]));
  const words = ["probe", "--sensor", "100", "--kind", "node"];
  const shown = await runCommand(words, { env, cwd });
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /OTHER WORD ORDER\n +rms +3\.61 +mm\/s +good +-?\d\S*e-?\d+\n/);
  await device.close();
  assert.equal((await runCommand(words, { env, cwd })).code, 1);
});
