/** Records dated ahead by a wrong clock, once their date has come. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { machineChange } from "../../../src/features/condition/machine-change.ts";
import { zoneAt } from "../../../src/features/condition/sound-records.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { append, readingOf, START_MS, tempStore } from "../../support/temp-database.ts";

const HOUR_MS = 3_600_000;
const PUMP: Sensor = {
  code: "7",
  type: 3,
  kinds: ["accel"],
  channels: { channel1: { axis: "H" } },
  machineClass: "group2-rigid",
};

test("neither the zone of a machine nor what changed looks at a record dated ahead", async (t) => {
  const store = tempStore(t);
  const history = historyPages(store.history);
  const put = (hour: number, velocity: number, flags: readonly string[] = []) => {
    const zone = velocity > 4.5 ? "D" : "A";
    const values = { channel1_vel_rms: velocity, channel1_zone: zone };
    const units = { channel1_vel_rms: "mm/s" };
    const attributes = { flags: [...flags] };
    return append(store, [
      readingOf("7", START_MS + hour * HOUR_MS, { kind: "accel", values, units, attributes }),
    ]);
  };
  await put(1, 1);
  for (const hour of [40, 41, 42]) await put(hour, 9, ["time_in_future"]);
  await put(43, 1);
  assert.equal(zoneAt({ history }, PUMP, START_MS + 42.5 * HOUR_MS), "A");
  const { hours, dayMedians, measurements } = store;
  const parts = { history, hours, dayMedians, measurements, alarms: null, timezone: "UTC" };
  const { changed } = machineChange(parts, [PUMP], [], START_MS + 44 * HOUR_MS);
  assert.equal(changed?.now, 1);
});
