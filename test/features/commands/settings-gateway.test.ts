import assert from "node:assert/strict";
import { test } from "node:test";
import { createSettingsGateway } from "../../../src/features/commands/settings-gateway.ts";

const SETTINGS = {
  code: "0100200300",
  type: 3,
  intervalSendDataMin: 60,
  rangeG: 8,
  intervalRmsS: 45,
  alarms: [4.5, 5, 5.5],
} as const;

async function sent(operation: "saveSettings" | "UpdateConfig"): Promise<unknown[]> {
  const calls: unknown[] = [];
  const gateway = createSettingsGateway({
    post(...[name, fields]) {
      calls.push(name, fields);
      return Promise.resolve({ statusNumber: 0, description: "OK" });
    },
  });
  await gateway.queueSettings(operation, SETTINGS, new AbortController().signal);
  return calls;
}

test("settings gateway – saveSettings sends all eight fields, with the serial number as an integer", async () => {
  assert.deepEqual(await sent("saveSettings"), [
    "saveSettings",
    {
      sensorType: 3,
      sensorCode: 100200300,
      IntervalSendData: 60,
      Range: 8,
      IntervalRMS: 45,
      alarm1: 4.5,
      alarm2: 5,
      alarm3: 5.5,
    },
  ]);
});

test("settings gateway – UpdateConfig uses lower-case first letters, no type, and the serial number as text", async () => {
  assert.deepEqual(await sent("UpdateConfig"), [
    "UpdateConfig",
    {
      sensorCode: "0100200300",
      intervalSendData: 60,
      range: 8,
      intervalRMS: 45,
      alarm1: 4.5,
      alarm2: 5,
      alarm3: 5.5,
    },
  ]);
});
