import assert from "node:assert/strict";
import { test } from "node:test";
import {
  machinePayload,
  type PublishedMachine,
} from "../../../../src/features/condition/rules/machine-payload.ts";

test("machine payload – of an outlook only sensor, value and its days, also where more is known", () => {
  const days = { sensor: "1", value: "temperature", from: "2026-12-01", to: null };
  const published = {
    machine: { id: 40, name: "Pump 4", sensors: [] },
    members: { condition: "watch", changed: null, activeFindings: [] },
    outlook: { ...days, fromMs: 1, text: "It reaches 80 °C." },
  } as unknown as PublishedMachine;
  for (const isCompact of [false, true])
    assert.deepEqual(JSON.parse(machinePayload("plant-7", published, 0, isCompact)).outlook, days);
});
