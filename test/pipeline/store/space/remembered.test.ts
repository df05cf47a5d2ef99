/** What readings leave behind once they are gone has its own place: older ones displace nothing for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import {
  append,
  DAY_MS,
  dayOf,
  keyOf,
  readingOf,
  START_MS,
  tempStore,
} from "../../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const SENSORS = ["1", "2", "3", "4"];
const OLDER_DAYS = 5;

async function read(store: Store, fromMs: number, minutes: number): Promise<number> {
  for (const sensor of SENSORS) {
    const readings = Array.from({ length: minutes }, (_, n) =>
      readingOf(sensor, fromMs + n * MINUTE_MS, { padding: 1000 }),
    );
    await append(store, readings, keyOf(sensor, "rpm", dayOf(fromMs)));
  }
  await store.retain();
  return SENSORS.length * minutes;
}

test("a full buffer – older days that are read, tens of thousands of readings, displace not one newer", async (t) => {
  const store = tempStore(t, { bufferMaxMb: 8, clock: new ManualClock(START_MS) });
  const dropped = () => store.state().dropped["buffer_full"] ?? 0;
  const pending = () => store.outbox.depth("json").readings;
  const newestMs = START_MS + 10 * DAY_MS;
  for (let minutes = 0; dropped() === 0; minutes += 120)
    await read(store, newestMs + minutes * MINUTE_MS, 120);
  const [held, before] = [pending(), dropped()];
  let older = 0;
  for (let day = 1; day <= OLDER_DAYS; day++)
    older += await read(store, newestMs - day * DAY_MS, 1440);
  assert.equal(pending(), held, "newer ones were given up");
  assert.equal(dropped() - before, older, "each older one is told");
  for (let day = 1; day <= OLDER_DAYS; day++) {
    const again = readingOf("1", newestMs - day * DAY_MS, { padding: 1000 });
    assert.ok(
      store.readings.begin(keyOf("1", "rpm", dayOf(again.timeMs))).isKnown(again.timeMs, again.id),
    );
  }
});
