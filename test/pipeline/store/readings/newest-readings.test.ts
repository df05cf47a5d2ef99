/** The newest reading of each sensor and kind, for Modbus: the one that stands on the live topic. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NewestReadings } from "../../../../src/pipeline/store/readings/newest-readings.ts";
import { append, readingOf, START_MS, tempStore } from "../../../support/temp-database.ts";

test("newest readings – a second one of the same time changes nothing, a later one does", async (t) => {
  const store = tempStore(t);
  const newest = new NewestReadings((sensor, kind) => store.history.latest(sensor, kind));
  const shown = () => newest.of("1", "rpm")?.values;
  const keep = async (timeMs: number, rpm: number) => {
    const reading = readingOf("1", timeMs, { values: { rpm }, salt: String(rpm) });
    await append(store, [reading]);
    newest.stored(reading);
  };
  await keep(START_MS, 1);
  assert.deepEqual(shown(), { rpm: 1 });
  await keep(START_MS, 2);
  assert.deepEqual(shown(), { rpm: 1 });
  await keep(START_MS + 1, 3);
  assert.deepEqual(shown(), { rpm: 3 });
});
