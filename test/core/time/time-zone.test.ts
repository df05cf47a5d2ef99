import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { addDays, dayEndMs, dayOf, dayStartMs, isDay } from "../../../src/core/time/time-zone.ts";

const HOUR = 3_600_000;
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "America/Sao_Paulo",
  "Africa/Cairo",
  "Pacific/Apia",
];

test("zone – a day at a daylight-saving change has 23 or 25 hours", () => {
  const length = (day: string, zone: string) =>
    (dayEndMs(day, zone) - dayStartMs(day, zone)) / HOUR;
  assert.equal(length("2025-03-30", "Europe/Berlin"), 23);
  assert.equal(length("2025-10-26", "Europe/Berlin"), 25);
  assert.equal(length("2025-11-02", "America/New_York"), 25);
  assert.equal(length("2025-04-06", "Australia/Lord_Howe"), 24.5);
  assert.equal(length("2025-06-01", "Asia/Kathmandu"), 24);
});

test("zone – a midnight that does not exist is the first instant after the gap", () => {
  // Brazil, 2018-11-04: 00:00 became 01:00.
  assert.equal(
    new Date(dayStartMs("2018-11-04", "America/Sao_Paulo")).toISOString(),
    "2018-11-04T03:00:00.000Z",
  );
});

test("zone – a day that a zone skipped starts where the next one does", () => {
  // Samoa skipped 2011-12-30.
  assert.equal(dayStartMs("2011-12-30", "Pacific/Apia"), dayStartMs("2011-12-31", "Pacific/Apia"));
});

test("zone – every instant lies in its computed day", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: Date.UTC(2001, 0), max: Date.UTC(2040, 0) }),
      fc.constantFrom(...ZONES),
      (ms, zone) => {
        const day = dayOf(ms, zone);
        assert.ok(dayStartMs(day, zone) <= ms && ms < dayEndMs(day, zone), `${ms} ${zone} ${day}`);
      },
    ),
    { numRuns: 500 },
  );
});

test("zone – days are counted across months, years and leap days", () => {
  assert.equal(addDays("2024-02-28", 1), "2024-02-29");
  assert.equal(addDays("2025-01-01", -1), "2024-12-31");
  assert.ok(isDay("2024-02-29"));
  for (const wrong of ["2025-02-29", "2025-13-01", "2025-1-1", "yesterday", ""])
    assert.ok(!isDay(wrong));
});
