import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { endMs, instantOf, LocalTime, readDate, startMs } from "../../../src/core/query/dates.ts";
import { wallClockText } from "../../../src/core/time/time-zone.ts";

const BERLIN = "Europe/Berlin";
const iso = (ms: number) => new Date(ms).toISOString().replace(".000", "");
const start = (text: string, zone = BERLIN) =>
  iso(startMs(readDate(text) ?? assert.fail(text), zone));
const end = (text: string, zone = BERLIN) => iso(endMs(readDate(text) ?? assert.fail(text), zone));

test("dates – only the two documented forms are accepted, with days and times that exist", () => {
  for (const text of [
    "2026-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-1-1",
    "26-01-01",
    "2026/01/01",
    "2026-01-01 24:00:00",
    "2026-01-01 12:60:00",
    "2026-01-01 12:00:60",
    "2026-01-01 12:00",
    "2026-01-01T12:00:00",
    "2026-01-01T12:00:00Z",
    "2026-02-30 12:00:00",
    "yesterday",
    "",
    "/Date(0)/",
  ]) {
    assert.equal(readDate(text), null, text);
  }
  assert.deepEqual(readDate(" 2028-02-29 "), { form: "day", day: "2028-02-29" });
  assert.notEqual(readDate("2026-01-01 23:59:59"), null);
});

test("dates – a day lasts from its midnight to the next, with 23 or 25 hours at clock changes", () => {
  assert.deepEqual(
    [start("2026-03-29"), end("2026-03-29")],
    ["2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"],
  );
  assert.deepEqual(
    [start("2026-10-25"), end("2026-10-25")],
    ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
  );
  assert.equal(start("2026-06-01", "Asia/Kathmandu"), "2026-05-31T18:15:00Z");
});

test("dates – a time that occurs twice is the earlier one as a start and the later one as an end", () => {
  assert.equal(start("2026-10-25 02:30:00"), "2026-10-25T00:30:00Z");
  assert.equal(end("2026-10-25 02:30:00"), "2026-10-25T01:30:01Z");
});

test("dates – a time that does not exist is shifted forward by the gap", () => {
  assert.equal(start("2026-03-29 02:30:00"), "2026-03-29T01:30:00Z");
  assert.equal(end("2026-03-29 02:00:00"), "2026-03-29T01:00:01Z");
  // Half an hour of gap.
  const wall = Date.parse("2026-10-04T02:15:00Z");
  assert.equal(iso(instantOf(wall, "Australia/Lord_Howe", "earlier")), "2026-10-03T15:45:00Z");
});

test("dates – a written local time converts back to its instant", () => {
  const zones = [
    "UTC",
    BERLIN,
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Sao_Paulo",
  ];
  const range = { min: Date.UTC(2005, 0), max: Date.UTC(2037, 0) };
  const times = new Map(zones.map((zone) => [zone, new LocalTime(zone)]));
  fc.assert(
    fc.property(fc.integer(range), fc.constantFrom(...zones), (ms, zone) => {
      const time = times.get(zone) ?? assert.fail(zone);
      const text = time.dashed(ms);
      assert.equal(text, wallClockText(ms, zone));
      const date = readDate(text) ?? assert.fail(text);
      assert.ok(startMs(date, zone) <= ms && ms < endMs(date, zone), text);
      assert.equal(time.slashed(ms), text.replaceAll("-", "/"));
    }),
  );
});
