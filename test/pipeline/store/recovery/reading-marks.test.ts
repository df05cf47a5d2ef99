import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { DayKey } from "../../../../src/core/day.ts";
import type { Logger } from "../../../../src/core/ports.ts";
import { openReadingMarks } from "../../../../src/pipeline/store/recovery/reading-marks.ts";

const DAY: DayKey = { sensor: "10234", kind: "accel", day: "2026-11-20" };
const OTHER: DayKey = { ...DAY, day: "2026-11-19" };

function bench(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "gateside-marks-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const logged: string[] = [];
  let nowMs = Date.parse("2026-11-20T12:00:00Z");
  let monotonicMs = 0;
  const say = (_fields: object, text: string) => void logged.push(text);
  const logger = { error: say, warn: say, info: say, debug: say } as unknown as Logger;
  const clock = { now: () => nowMs, monotonic: () => monotonicMs, sleep: () => Promise.resolve() };
  return {
    directory,
    logged,
    pass: (ms: number) => {
      nowMs += ms;
      monotonicMs += ms;
    },
    /** The clock is set. */
    set: (ms: number) => {
      nowMs += ms;
    },
    /** A start of the process: the one before ended in whatever way. */
    start: () => openReadingMarks(directory, { clock, logger }),
  };
}

test("reading marks – a day that was being read when the process ended is set aside, no other", (t) => {
  const { start, logged, pass } = bench(t);
  const first = start();
  first.begin(DAY);
  first.begin(OTHER)(true);
  const second = start();
  assert.ok(second.waitMs(DAY) > 0);
  assert.equal(second.waitMs(OTHER), 0);
  assert.match(logged.join(), /ended while reading this day/);
  assert.deepEqual(
    second.setAside.map(({ sensor, day, times }) => ({ sensor, day, times })),
    [{ sensor: "10234", day: "2026-11-20", times: 1 }],
  );
  pass(61_000);
  assert.equal(second.waitMs(DAY), 0, "it is tried again by itself");
});

test("reading marks – a day that ends the process again and again is set aside longer each time", (t) => {
  const { start, pass } = bench(t);
  let before = 0;
  start().begin(DAY);
  for (let times = 1; times <= 4; times++) {
    const marks = start();
    const wait = marks.waitMs(DAY);
    assert.ok(wait > before, `${wait} ms after ${times}`);
    before = wait;
    pass(wait);
    marks.begin(DAY);
  }
});

test("reading marks – a day that is read after all is no longer set aside, also across restarts", (t) => {
  const { start, pass } = bench(t);
  start().begin(DAY);
  const second = start();
  pass(61_000);
  second.begin(DAY)(false);
  assert.equal(start().setAside.length, 1, "a read that failed proves nothing");
  start().begin(DAY)(true);
  assert.deepEqual(start().setAside, []);
});

test("reading marks – the file holds 64 days", (t) => {
  const { directory, start } = bench(t);
  const marks = start();
  for (let n = 0; n < 66; n += 1) marks.begin({ ...DAY, sensor: String(n) });
  const { reading } = JSON.parse(readFileSync(join(directory, "gateside.reading"), "utf8"));
  assert.equal(reading.length, 64);
});

test("reading marks – a file that was truncated, or is not ours, sets nothing aside", (t) => {
  const { start, directory } = bench(t);
  const path = join(directory, "gateside.reading");
  for (const text of ["", "{", "null", "[1]", '{"reading":{},"aside":[{"sensor":1}]}', "\0\0"]) {
    writeFileSync(path, text);
    assert.deepEqual(start().setAside, []);
  }
  start().begin(DAY)(true);
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { reading: [], aside: [] });
});

test("reading marks – a clock that went back holds no day for longer than its normal time", (t) => {
  const { start, pass } = bench(t);
  start().begin(DAY);
  start();
  pass(-40 * 86_400_000);
  assert.ok(start().waitMs(DAY) <= 60_000);
});

test("reading marks – a clock that is set while the agent runs neither prolongs nor ends the wait", (t) => {
  const { start, pass, set } = bench(t);
  start().begin(DAY);
  const marks = start();
  const wait = marks.waitMs(DAY);
  set(-86_400_000);
  assert.equal(marks.waitMs(DAY), wait);
  set(50 * 365 * 86_400_000);
  assert.equal(marks.waitMs(DAY), wait);
  pass(wait);
  assert.equal(marks.waitMs(DAY), 0);
});
