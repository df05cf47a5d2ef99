import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownReading, ShownSensor } from "../../src/core/query/shown.ts";
import type { Kind } from "../../src/core/sensor.ts";
import { headlineLines } from "../../src/dashboard/headline.ts";

const reading = (kind: Kind, values: ShownReading["values"], unit: string): ShownReading => ({
  seq: 1,
  id: "0".repeat(32),
  sensor: "20871",
  kind,
  time: "2026-11-20T12:00:00.000Z",
  timeMs: Date.UTC(2026, 10, 20, 12),
  storedAtMs: Date.UTC(2026, 10, 20, 12),
  values,
  units: Object.fromEntries(Object.keys(values).map((name) => [name, unit])),
  quality: {},
  attributes: {},
  waveforms: [],
});

const lines = (sensor: Pick<ShownSensor, "kinds" | "channels" | "latest">) =>
  headlineLines(sensor as ShownSensor).map(({ heading, values }) => [
    heading,
    ...values.map(({ label, value, unit }) => `${label} ${value} ${unit}`),
  ]);

test("headline – if two kinds have channels with the same name, each label says what it measures", () => {
  const channels = { current1: { name: "L1" }, current2: { name: "L2" } };
  const currents = reading(
    "currentV2",
    { current1_avg: 12, current1_max: 14, current2_avg: 11 },
    "A",
  );
  const latest = {
    currentV2: currents,
    accCurrent: reading("accCurrent", { accumulated_current1: 277 }, "Ah"),
  };
  assert.deepEqual(lines({ kinds: ["currentV2", "accCurrent"], channels, latest }), [
    ["Average", "L1 12 A", "L2 11 A"],
    ["Accumulated", "L1 277 Ah"],
  ]);
  const before = { currentV2: currents };
  assert.deepEqual(
    lines({ kinds: ["currentV2", "accCurrent"], channels, latest: before }),
    [["", "L1 12 A", "L2 11 A"]],
    "nothing to tell apart yet",
  );
});

test("headline – values without a channel name are not duplicates", () => {
  const latest = {
    accel: reading("accel", { temperature: 40, channel1_vel_rms: 2 }, "x"),
    rpm: reading("rpm", { rpm: 1480 }, "rpm"),
  };
  assert.deepEqual(lines({ kinds: ["accel", "rpm"], channels: {}, latest }), [
    ["", " 40 x", "H 2 x"],
    ["", " 1480 rpm"],
  ]);
});
