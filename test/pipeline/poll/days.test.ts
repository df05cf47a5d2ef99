import assert from "node:assert/strict";
import { test } from "node:test";
import { currentDays, dayDue, openDays } from "../../../src/pipeline/poll/days.ts";

const HOUR = 3_600_000;
const rules = { zone: "America/New_York", lateGraceMs: 2 * HOUR, backfillDays: 3 };
const at = (text: string) => Date.parse(text);
const MINUTE = 60_000;

test("days – the current day is that of the gateway's zone, not of UTC", () => {
  assert.deepEqual(currentDays(at("2025-06-02T03:30:00Z"), "America/New_York", null), [
    "2025-06-01",
  ]);
  assert.deepEqual(currentDays(at("2025-06-01T18:20:00Z"), "Asia/Kathmandu", null), ["2025-06-02"]);
});

test("days – if the offset of the records puts the gateway on another day, both are read", () => {
  // Configured New York, but the gateway's records say +0200: it is already the next day there.
  assert.deepEqual(currentDays(at("2025-06-02T01:00:00Z"), "America/New_York", 120), [
    "2025-06-01",
    "2025-06-02",
  ]);
});

test("days – a start opens today first, then backwards to BACKFILL_DAYS", () => {
  assert.deepEqual(openDays(at("2025-06-10T12:00:00Z"), rules, null), [
    "2025-06-10",
    "2025-06-09",
    "2025-06-08",
    "2025-06-07",
  ]);
});

test("days – yesterday is read at the normal interval during its grace period, then half-hourly, and closed after 26 h", () => {
  const day = "2025-06-09";
  const end = at("2025-06-10T04:00:00Z"); // New York midnight.
  const lastOk = end + HOUR;
  assert.deepEqual(dayDue(day, end + HOUR, rules, lastOk, MINUTE), {
    phase: "late",
    dueAtMs: lastOk + MINUTE,
  });
  assert.deepEqual(dayDue(day, end, rules, end, MINUTE), { phase: "late", dueAtMs: end + MINUTE });
  assert.deepEqual(dayDue(day, end, rules, end - 1, MINUTE), { phase: "late", dueAtMs: 0 });
  const later = end + 3 * HOUR;
  assert.deepEqual(dayDue(day, later, rules, later, MINUTE), {
    phase: "late",
    dueAtMs: later + 30 * MINUTE,
  });
  const nearlyClosed = end + 25.9 * HOUR;
  assert.deepEqual(dayDue(day, nearlyClosed, rules, nearlyClosed, MINUTE), {
    phase: "late",
    dueAtMs: end + 26 * HOUR,
  });
  assert.equal(dayDue(day, end + 27 * HOUR, rules, end + 26 * HOUR, MINUTE), null);
});

test("days – a closed day not read since it closed is read once more", () => {
  const now = at("2025-06-10T16:00:00Z");
  assert.deepEqual(dayDue("2025-06-07", now, rules, null, MINUTE), { phase: "missed", dueAtMs: 0 });
  assert.deepEqual(dayDue("2025-06-07", now, rules, at("2025-06-08T05:00:00Z"), MINUTE), {
    phase: "missed",
    dueAtMs: 0,
  });
  assert.equal(dayDue("2025-06-07", now, rules, now, MINUTE), null);
  assert.equal(dayDue("2025-06-06", now, rules, null, MINUTE), null, "beyond BACKFILL_DAYS");
});

test("days – a future day is never due", () => {
  assert.equal(dayDue("2025-06-11", at("2025-06-10T16:00:00Z"), rules, null, MINUTE), null);
});
