/** What changed on a machine is told of this machine alone: a sensor takes no past of another one along. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ScaleChange, scaleChanges, scalesOf } from "../../../src/core/scaling.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time-units.ts";
import { machineChange } from "../../../src/features/condition/machine-change.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import {
  append,
  type Cleanup,
  readingOf,
  START_MS,
  tempStore,
  waveformOf,
} from "../../support/temp-database.ts";
import { keepBy, pinsOf } from "../kept/support.ts";
import { vibration } from "./machine-plant.ts";

const NOW = START_MS + 45 * DAY_MS;
const MOVED_MS = NOW - 6 * HOUR_MS;
const PUMP = vibration(1);
/** Of values that have no medians of days. */
const VALUE = "channel1_env_rms";

/** A record every six hours: 5 until the move, 1 since. The newest before is pinned. */
async function moved(t: Cleanup) {
  const store = tempStore(t, { keep: keepBy(null) });
  const times = Array.from({ length: 45 * 4 }, (_, at) => NOW - (at + 0.5) * 6 * HOUR_MS).reverse();
  const records = times.map((ms) =>
    readingOf("1", ms, {
      kind: "accel",
      values: { [VALUE]: ms < MOVED_MS ? 5 : 1 },
      units: { [VALUE]: "GE" },
      waveform: waveformOf(8, 1),
    }),
  );
  await append(store, records);
  const pinned = records.at(-2);
  assert.ok(pinned);
  assert.equal(await pinsOf(store).set("1", pinned.id, "as delivered"), "done");
  return store;
}

const elsewhere: Sensor = {
  ...PUMP,
  location: { company: 1, area: 1, machine: 41, point: 1 },
};

for (const [what, changes, now, against] of [
  ["stays where it is", [], 5, "month"],
  ["is moved", scaleChanges(scalesOf(elsewhere), scalesOf(PUMP), MOVED_MS), 1, null],
] as const) {
  test(`what changed – of a sensor that ${what}`, async (t) => {
    const store = await moved(t);
    const { hours, dayMedians, measurements } = store;
    const parts = {
      history: historyPages(store.history),
      hours,
      dayMedians,
      measurements,
      alarms: null,
      timezone: "UTC",
      scaleChanges: (): readonly ScaleChange[] => changes,
    };
    const alarm = { sensor: "1", value: VALUE } as never;
    const { changed } = machineChange(parts, [PUMP], [alarm], NOW);
    assert.deepEqual([changed?.now, changed?.against], [now, against], changed?.text);
  });
}
