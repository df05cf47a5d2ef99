import assert from "node:assert/strict";
import { test } from "node:test";
import { sensorBands } from "../../../src/core/bands/definition.ts";
import type { Kind, Sensor } from "../../../src/core/sensor.ts";
import { factReadings } from "../../../src/features/query-service/measured.ts";
import { deviceFacts } from "../../../src/features/query-service/rules/device-response.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { storedReading } from "../../support/memory-outbox.ts";

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

test("query service – older records are searched for what the newest lacks, and not again for a while if none has it", async () => {
  const clock = new ManualClock();
  const at = (timeMs: number, values: object) =>
    storedReading(timeMs, {
      kind: "accel",
      timeMs,
      values: JSON.stringify(values),
      attributes: '{"version":3}',
    });
  let older = [at(1, { temperature: 20 }), at(0, {})];
  let searches = 0;
  const history = {
    latest: () => at(2, {}),
    page: () => {
      searches += 1;
      return older;
    },
  };
  const sensor: Sensor = { code: "7", type: 3, kinds: ["accel"], channels: {} };
  const absent = new Map();
  const look = () => {
    const found = deviceFacts(factReadings({ clock, history } as never, sensor, absent));
    return [found.temperatureC, found.firmware, searches];
  };
  assert.deepEqual(
    [look(), look()],
    [
      [20, 3, 1],
      [20, 3, 2],
    ],
  );
  older = [at(1, {})];
  assert.deepEqual(
    [look(), look(), look()],
    [
      [null, 3, 3],
      [null, 3, 3],
      [null, 3, 3],
    ],
  );
  older = [at(1, { temperature: 21 })];
  await clock.advance(600_000);
  assert.deepEqual(look(), [21, 3, 4]);
});
