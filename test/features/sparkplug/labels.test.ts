import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboxEntry } from "../../../src/core/delivery/delivery.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { Devices } from "../../../src/features/sparkplug/devices.ts";
import { groupByDevice } from "../../../src/features/sparkplug/sender.ts";
import { storedReading } from "../../support/memory-outbox.ts";

const sensor: Sensor = {
  code: "10234",
  type: 3,
  kinds: ["accel", "currentV2"],
  channels: {
    channel1: { axis: "H", name: "Drive end" },
    current1: { clamp: 100, name: "L1" },
    current2: { clamp: 100 },
  },
};
const declared = () =>
  new Devices(
    {
      newest: () => null,
      sensors: () => [{ code: "10234", state: "online", lastReadingMs: null }],
    },
    {
      site: fixedSite({ site: "s", sensors: [sensor] }),
      hasWaveforms: true,
      hasCommands: false,
    },
  );

test("birth – metrics carry the name and axis of their channel as properties", () => {
  const devices = declared();
  const metrics = devices.birthMetrics(devices.ofSensor("10234"), 0, false);
  const labelsOf = (name: string) =>
    metrics
      .find((metric) => metric.name === name)
      ?.properties?.filter(({ key }) => key === "name" || key === "axis")
      .map(({ key, value }) => [key, value]);
  assert.deepEqual(labelsOf("accel/channel1_vel_rms"), [
    ["name", "Drive end"],
    ["axis", "H"],
  ]);
  assert.deepEqual(labelsOf("accel/waveform/channel1"), [
    ["name", "Drive end"],
    ["axis", "H"],
  ]);
  assert.deepEqual(labelsOf("currentV2/current1_avg"), [["name", "L1"]]);
  assert.deepEqual(labelsOf("currentV2/current2_avg"), []);
  assert.deepEqual(labelsOf("accel/temperature"), []);
});

test("history – a message holds as many records as SPARKPLUG_HISTORY_BATCH says; live ones are not split", () => {
  const entries = [1, 2, 3, 4, 5].map(
    (seq): OutboxEntry => ({
      reading: storedReading(seq, { sensor: "10234", kind: "rpm", values: '{"rpm":1}' }),
      live: false,
    }),
  );
  const sizes = (isHistorical: boolean, batch: number) =>
    groupByDevice(entries, declared(), isHistorical, batch).map(({ items }) => items.length);
  assert.deepEqual(sizes(true, 1), [1, 1, 1, 1, 1]);
  assert.deepEqual(sizes(true, 2), [2, 2, 1]);
  assert.deepEqual(sizes(true, 256), [5]);
  assert.deepEqual(sizes(false, 1), [5]);
});
