import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../../src/core/sensor.ts";
import { createSelector, SELECT_ALL } from "../../../../src/core/uplink.ts";
import { silentLogger } from "../../../../src/lib/logger.ts";
import { LeftSensors } from "../../../../src/pipeline/store/site-memory/left-sensors.ts";

const at = (code: string, machine: number): Sensor => ({
  code,
  type: 3,
  kinds: ["rpm"],
  channels: {},
  location: { company: 1, area: 2, machine, point: 1 },
});

test("an uplink of a machine selects events of sensors that have left the site file, over restarts, and of no other machine's", () => {
  const disk = new Map<string, string>();
  const memory = {
    get: (name: string) => disk.get(name) ?? null,
    set: (name: string, value: string) => void disk.set(name, value),
  };
  const start = () => new LeftSensors(memory, silentLogger);
  const selects = (left: LeftSensors, sensors: readonly Sensor[], machine: number) => {
    const { includes } = createSelector(
      { ...SELECT_ALL, machines: [machine], kinds: ["rpm"] },
      left.with({ sensors }),
    );
    return ["1", "2"].map((code) => includes(code, "event"));
  };
  const first = start();
  assert.deepEqual(selects(first, [at("1", 40), at("2", 41)], 40), [true, false]);
  assert.deepEqual(selects(first, [at("2", 41)], 40), [true, false]);
  const second = start();
  assert.deepEqual(selects(second, [], 40), [true, false]);
  assert.deepEqual(selects(second, [], 41), [false, true]);
  // It came back on another machine.
  assert.deepEqual(selects(second, [at("1", 41)], 41), [true, true]);
  assert.deepEqual(selects(start(), [at("1", 41)], 40), [false, false]);
});

test("sensors that cannot be written to a full disk are kept in memory", () => {
  const full = {
    get: () => null,
    set: () => {
      throw new Error("disk full");
    },
  };
  const left = new LeftSensors(full, silentLogger);
  left.with({ sensors: [at("1", 40)] });
  assert.deepEqual(
    left.with({ sensors: [] }).map(({ code }) => code),
    ["1"],
  );
});

test("damaged entries of what was kept are left out", () => {
  const kept = [
    null,
    7,
    { code: 5, kinds: [] },
    { code: "3" },
    { code: "1", kinds: ["rpm", {}], location: "?" },
  ];
  const start = (text: string) =>
    new LeftSensors({ get: () => text, set: () => {} }, silentLogger).with({ sensors: [] });
  assert.deepEqual(start(JSON.stringify(kept)), [{ code: "1", kinds: ["rpm"] }]);
  assert.deepEqual(start('[{"code":'), []);
});
