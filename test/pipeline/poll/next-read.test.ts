import assert from "node:assert/strict";
import { test } from "node:test";
import { Cadence } from "../../../src/pipeline/poll/cadence.ts";
import type { DayRules } from "../../../src/pipeline/poll/days.ts";
import { nextReadWindow, slowdownAfter, taskDue } from "../../../src/pipeline/poll/next-read.ts";
import type { PolledStream, Task } from "../../../src/pipeline/poll/task.ts";

test("next read – a response that takes more than half the interval doubles it, up to eight times; quicker ones halve it again", () => {
  const after = (slowdown: number, durationMs: number) =>
    slowdownAfter({ slowdown, intervalMs: 60_000 } as PolledStream, durationMs);
  assert.deepEqual([after(1, 30_000), after(1, 30_001)], [1, 2]);
  assert.deepEqual([after(2, 60_000), after(2, 60_001)], [1, 4]);
  assert.deepEqual([after(8, 1), after(8, 240_001)], [4, 8]);
});

const AT = Date.UTC(2026, 10, 20, 12);
const RULES: DayRules = { zone: "UTC", lateGraceMs: 7_200_000, backfillDays: 7 };

/** Until when a day that was just read is read again, s, of a sensor whose newest record is so old. */
function againS(
  silentS: number | null,
  parts: Partial<PolledStream>,
  awaitedSinceMs: number | null = null,
): number {
  const cadence = new Cadence();
  if (awaitedSinceMs !== null) cadence.isQuiet(awaitedSinceMs);
  if (silentS !== null) {
    const newestMs = AT - silentS * 1000;
    const timesMs = [3, 2, 1, 0].map((n) => newestMs - n * 300_000);
    cadence.seed(newestMs, { timesMs, cameSingly: true, offsetMinutes: null });
  }
  const stream = { cadence, kind: "rpm", slowdown: 1, lastDurationMs: 0, ...parts } as PolledStream;
  const task = { stream, day: "2026-11-20", lastOkAtMs: AT } as Task;
  const due = taskDue(task, AT, RULES);
  assert.ok(due !== null);
  return nextReadWindow(task, due, AT, () => 0).toMs / 1000;
}

test("next read – a sensor that has missed ten records is asked at the usual interval, at most ten minutes, until one comes", () => {
  const slow = { intervalMs: 3_600_000, usualIntervalMs: 60_000 };
  assert.equal(againS(10 * 300 + 1, slow), 60);
  assert.equal(againS(10 * 300 + 1, { ...slow, kind: "accel", slowdown: 8 }), 60);
  assert.equal(againS(10 * 300 + 1, { ...slow, usualIntervalMs: 3_600_000 }), 600);
  assert.ok(againS(10 * 300, { ...slow, kind: "accel" }) > 60);
  assert.equal(againS(null, slow, AT - 6_000_001), 60, "never heard");
  assert.equal(againS(null, slow, AT - 6_000_000), 3600);
});

test("next read – a first record that was waited for by a clock far ahead is waited for anew", () => {
  const stream = {
    cadence: new Cadence(),
    kind: "rpm",
    slowdown: 1,
    lastDurationMs: 0,
    intervalMs: 3_600_000,
    usualIntervalMs: 60_000,
  } as unknown as PolledStream;
  const dueInS = (atMs: number) => {
    const task = { stream, day: new Date(atMs).toISOString().slice(0, 10), lastOkAtMs: atMs };
    const due = taskDue(task as Task, atMs, RULES);
    assert.ok(due !== null);
    return (due.dueAtMs - atMs) / 1000;
  };
  // Our own clock, before the gateway's is known.
  assert.equal(dueInS(Date.UTC(2030, 0, 1)), 3600);
  assert.equal(dueInS(AT), 3600);
  assert.equal(dueInS(AT + 6_000_001), 60);
});
