import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunningSignal } from "../../../src/core/machine.ts";
import { StandingSince } from "../../../src/features/condition/standing-since.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { append, readingOf, START_MS, tempStore } from "../../support/temp-database.ts";

const HOUR_MS = 3_600_000;
const SIGNAL: RunningSignal = { sensor: "2", kind: "rpm", value: "rpm", above: 300 };
const SPANS = [{ sensor: "2", fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER }];

test("standing since – hours that are read after the newest ones count", async (t) => {
  const store = tempStore(t);
  const history = historyPages(store.history);
  const since = new StandingSince(history);
  const put = async (hours: readonly number[], rpm: number) => {
    const readings = hours.map((hour) =>
      readingOf("2", START_MS + hour * HOUR_MS, { values: { rpm } }),
    );
    await append(store, readings);
    for (const reading of readings) since.stored(reading);
  };
  const at = async (hour: number) => {
    const found = await since.of(40, SIGNAL, SPANS, START_MS + hour * HOUR_MS);
    return found && [(found.timeMs - START_MS) / HOUR_MS, found.isAtLeast];
  };
  await put([0], 1480);
  await put([1, 2], 0);
  assert.deepEqual(await at(2), [1, false]);
  // An outage in which it ran; the newest day is read first.
  await put([26, 27, 28, 29], 0);
  assert.deepEqual(await at(29), [1, false]);
  await put([3, 4, 25], 1480);
  assert.deepEqual(await at(30), [26, false]);
  await put([30], 0);
  assert.deepEqual(await at(31), [26, false]);
  await put([29.5], 1480);
  assert.deepEqual(await at(31), [30, false]);
});

test("standing since – a reading dated ahead by a wrong clock says nothing, also once its date has come", async (t) => {
  const store = tempStore(t);
  const since = new StandingSince(historyPages(store.history));
  const put = (hour: number, rpm: number, attributes = {}) =>
    append(store, [readingOf("2", START_MS + hour * HOUR_MS, { values: { rpm }, attributes })]);
  await put(0, 1480);
  await put(48, 1480, { flags: ["time_in_future"] });
  await put(1, 0);
  await put(50, 0);
  const found = await since.of(40, SIGNAL, SPANS, START_MS + 51 * HOUR_MS);
  assert.deepEqual(found, { timeMs: START_MS + HOUR_MS, isAtLeast: false });
});
