/** The states of nodes through the built agent: from further read operations and from Modbus registers to MQTT. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { envelope, type GatewayCall, wireTime } from "../../support/fake-gateway.ts";
import { payloadOf, startFakeSite } from "../../support/fake-site.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild } from "../../support/plant.ts";
import { startRegisters } from "../../support/registers.ts";
import { until } from "../../support/wait-until.ts";

const TOPIC = "gateside/plant-7/100/node";
const skip = skipWithoutBuild || skipWithoutMosquitto;

test("a node's state is read from operations and registers once a reload adds them; missing ones affect nothing else, and ids stay", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const float = new DataView(new ArrayBuffer(4));
  float.setFloat32(0, 3.61);
  const { url } = await startRegisters(
    t,
    new Map([
      [10, 357],
      [11, float.getUint16(2)],
      [12, float.getUint16(0)],
    ]),
  );
  const recordMs = Math.floor(Date.now() / 1000) * 1000 - 60_000;
  let battery = "3,58";
  let measuredMs = recordMs;
  const answer = ({ operation, body }: GatewayCall) => {
    const code = body["sensorCode"];
    if (operation === "getRPMData")
      return envelope([{ sensor_code: code, RPM: 1480, time_data: wireTime(recordMs) }]);
    if (operation === "getVibrationState")
      return JSON.stringify({
        getVibrationStateResult: [
          {
            Key: { StatusNumber: "0", Description: "OK" },
            Value: [
              { SENSOR_CODE: "999", Battery: 1, time_data: wireTime(recordMs) },
              {
                sensor_code: code,
                BATTERY: battery,
                FW: "2.1",
                sleeping: false,
                time_data: wireTime(measuredMs),
              },
            ],
          },
        ],
      });
    return { status: 404, body: "<html>Endpoint not found</html>" };
  };
  const plain = { code: "100", type: 40, kinds: ["rpm"] };
  const sensor = {
    ...plain,
    stateReads: [
      {
        operation: "getVibrationState",
        request: "date",
        fields: {
          battery: { from: "Battery", unit: "V" },
          firmware: { from: "FW" },
          isSleeping: { from: "sleeping" },
        },
      },
      {
        via: "modbus",
        url,
        wordOrder: "little",
        registers: [
          { address: 10, type: "uint16", scale: 0.01, value: "vel_rms1", unit: "mm/s" },
          { address: 11, type: "float32", value: "supply", unit: "V" },
        ],
      },
      { operation: "getNothing", fields: { nothing: { from: "x" } } },
      { via: "modbus", url, registers: [{ address: 99, type: "int16", value: "unknown" }] },
    ],
  };
  const site = await startFakeSite(t, { answer, sensors: [plain] });
  const agent = site.startAgent();
  const rpmIds = () =>
    site.messages.messages
      .filter(({ topic }) => topic.startsWith("gateside/plant-7/100/rpm"))
      .map((message) => payloadOf(message)["id"]);
  const rpmId = await until("a reading without state reads", () => rpmIds()[0]);
  writeFileSync(
    join(site.directory, "site.json"),
    JSON.stringify({ site: "plant-7", sensors: [sensor] }),
  );
  agent.process.kill("SIGHUP");
  const seen = () =>
    site.messages.messages
      .filter(({ topic }) => topic === TOPIC || topic === `${TOPIC}/history`)
      .map(payloadOf);
  const whole = await until("the whole state", () =>
    seen().find((payload) => {
      const values = payload["values"] as Record<string, unknown>;
      return values["battery"] === 3.58 && values["vel_rms1"] !== undefined;
    }),
  );
  assert.deepEqual(whole["values"], {
    battery: 3.58,
    firmware: "2.1",
    isSleeping: false,
    vel_rms1: 3.57,
    supply: 3.61,
  });
  assert.deepEqual(whole["units"], { battery: "V", vel_rms1: "mm/s", supply: "V" });
  assert.equal(whole["kind"], "node");
  const state = await until("the battery and firmware in the sensor's state", () =>
    site.messages.messages
      .filter(({ topic }) => topic === "gateside/plant-7/100/state")
      .map(payloadOf)
      .find((payload) => payload["firmwareVersion"] !== undefined),
  );
  assert.equal(state["battery"], 3.58);
  assert.equal(state["firmwareVersion"], "2.1");
  const status = (await (await fetch(`${await agent.address}/api/v1/status`)).json()) as {
    gateway: { isUp: boolean };
    sensors: { kinds: { kind: string; lastError: string | null }[] }[];
  };
  assert.equal(status.gateway.isUp, true);
  const node = status.sensors[0]?.kinds.find(({ kind }) => kind === "node");
  assert.match(node?.lastError ?? "", /HTTP 404/);
  // Asked with the polls: what changes shows in seconds, on the live topic.
  battery = "3,5";
  measuredMs = Math.floor(Date.now() / 1000) * 1000;
  await until("the change", () =>
    seen().find(
      ({ values, historical }) =>
        (values as Record<string, unknown>)["battery"] === 3.5 && !historical,
    ),
  );
  await agent.kill();

  // Another process on the same store: what is unchanged gives no reading.
  const before = seen().length;
  const calls = site.gateway.calls.length;
  site.startAgent();
  await until(
    "its reads",
    () =>
      site.gateway.calls.slice(calls).some(({ operation }) => operation === "getNothing") ||
      undefined,
  );
  const ids = seen().map(({ id }) => id);
  assert.equal(new Set(ids).size, new Set(ids.slice(0, before)).size);
  assert.deepEqual([...new Set(rpmIds())], [rpmId], "state reads change no other reading");
});

test("a site whose sensors only have registers: online by what they return, silent alarms included, and ready without its gateway", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const { url } = await startRegisters(t, new Map([[10, 357]]));
  const node = (code: string, address: number) => ({
    code,
    type: 40,
    stateReads: [{ via: "modbus", url, registers: [{ address, type: "uint16", value: "x" }] }],
  });
  const site = await startFakeSite(t, {
    answer: () => ({ status: 500, body: "" }),
    sensors: [node("100", 10), node("101", 99)],
  });
  const agent = site.startAgent();
  const state = await until("the state of the node", () =>
    site.messages.messages
      .filter(({ topic }) => topic === "gateside/plant-7/100/state")
      .map(payloadOf)
      .find((payload) => payload["state"] === "online"),
  );
  assert.notEqual(state["lastReading"], null);
  const address = await agent.address;
  const ready = await until("ready", async () => {
    const response = await fetch(`${address}/readyz`);
    return response.status === 200 ? await response.json() : undefined;
  });
  assert.match(JSON.stringify(ready), /nothing is read through it/);
  const { sensors } = (await (await fetch(`${address}/api/v1/status`)).json()) as {
    sensors: { code: string; state: string; kinds: { lastError: string | null }[] }[];
  };
  const dead = sensors.find(({ code }) => code === "101");
  assert.equal(dead?.state, "unknown");
  assert.match(dead?.kinds[0]?.lastError ?? "", /exception 2/);
  assert.deepEqual(site.gateway.calls, []);
});
