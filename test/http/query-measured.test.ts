import assert from "node:assert/strict";
import { test } from "node:test";
import { sensorBands } from "../../src/core/bands/definition.ts";
import type { Kind, Sensor } from "../../src/core/sensor.ts";
import { factReadings } from "../../src/http/query-measured.ts";

test("query service – bands say nothing of the device and are not looked up for it", () => {
  const location = { company: 1, area: 1, machine: 40, point: 1 };
  const pump: Sensor = { code: "200", type: 3, kinds: ["accel"], channels: {}, location };
  const machine = { id: 40, speed: { sensor: "300" }, bands: { orders: [1] } };
  const bands = sensorBands(pump, [machine]);
  assert.ok(bands !== null);
  const asked: Kind[] = [];
  const history = {
    latest: (_code: string, kind: Kind) => {
      asked.push(kind);
      return null;
    },
  };
  assert.deepEqual(factReadings({ history } as never, { ...pump, bands }), []);
  assert.deepEqual(asked, ["accel"]);
});
