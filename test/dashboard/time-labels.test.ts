import assert from "node:assert/strict";
import { test } from "node:test";
import { timeLabels, timeTicks } from "../../src/dashboard/time-labels.ts";

const s = (iso: string) => Date.parse(iso) / 1000;

test("time axis – labels are those of the gateway's clock, in whatever zone the browser is", () => {
  const before = process.env["TZ"];
  // There the clocks go forward at 01:00 UTC, and back at 01:00 UTC.
  process.env["TZ"] = "Europe/Berlin";
  try {
    const spring = ["00:00", "01:00", "02:00", "03:00"].map((time) => s(`2026-03-29T${time}Z`));
    assert.deepEqual(timeLabels(spring, 3600, "UTC"), ["00:00\n29 Mar", "01:00", "02:00", "03:00"]);
    const autumn = ["00:00", "01:00", "02:00"].map((time) => s(`2026-10-25T${time}Z`));
    assert.deepEqual(timeLabels(autumn, 3600, "UTC"), ["00:00\n25 Oct", "01:00", "02:00"]);
    assert.deepEqual(timeLabels(spring, 3600, "Asia/Tokyo")[0], "09:00\n29 Mar");
  } finally {
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  }
});

test("time axis – days name the year once, seconds stand where the step needs them", () => {
  const days = [s("2026-12-31T00:00Z"), s("2027-01-01T00:00Z"), s("2027-01-02T00:00Z")];
  assert.deepEqual(timeLabels(days, 86_400, "UTC"), ["31 Dec\n2026", "1 Jan\n2027", "2 Jan"]);
  assert.deepEqual(timeLabels([s("2026-12-31T10:00:05Z"), null], 5, "UTC"), [
    "10:00:05\n31 Dec",
    "",
  ]);
});

test("time axis – ticks stand at round times of the gateway's clock, on days of 23 and 25 hours too", () => {
  const before = process.env["TZ"];
  try {
    for (const browser of ["America/New_York", "Europe/Berlin", "UTC"]) {
      process.env["TZ"] = browser;
      const ticks = (from: string, to: string, stepS: number, zone: string) => {
        const at = timeTicks(s(from), s(to), stepS, zone);
        return timeLabels(at, stepS, zone).map((text) => text.replace("\n", " "));
      };
      // America/New_York goes forward at 07:00 UTC.
      assert.deepEqual(ticks("2026-03-08T05:10Z", "2026-03-08T09:10Z", 3600, "UTC"), [
        "06:00 8 Mar",
        "07:00",
        "08:00",
        "09:00",
      ]);
      assert.deepEqual(ticks("2026-03-29T00:00Z", "2026-03-29T02:00Z", 3600, "Europe/Berlin"), [
        "01:00 29 Mar",
        "03:00",
        "04:00",
      ]);
      assert.deepEqual(ticks("2026-10-24T23:30Z", "2026-10-25T02:00Z", 3600, "Europe/Berlin"), [
        "02:00 25 Oct",
        "02:00",
        "03:00",
      ]);
      assert.deepEqual(ticks("2026-10-24T00:00Z", "2026-10-26T23:30Z", 86_400, "Europe/Berlin"), [
        "25 Oct 2026",
        "26 Oct",
        "27 Oct",
      ]);
      assert.deepEqual(ticks("2026-01-10T00:00Z", "2026-04-10T00:00Z", 28 * 86_400, "Asia/Tokyo"), [
        "1 Feb 2026",
        "1 Mar",
        "1 Apr",
      ]);
      const years = timeTicks(s("2020-06-01T00:00Z"), s("2026-06-01T00:00Z"), 730 * 86_400, "UTC");
      assert.deepEqual(
        years.map((at) => new Date(at * 1000).toISOString().slice(0, 10)),
        ["2022-01-01", "2024-01-01", "2026-01-01"],
      );
    }
  } finally {
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  }
});
