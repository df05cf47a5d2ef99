import assert from "node:assert/strict";
import { test } from "node:test";
import { timeLabels } from "../../src/dashboard/time-labels.ts";

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
