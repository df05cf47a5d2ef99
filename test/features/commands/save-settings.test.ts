import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkSettings, refusal } from "../../../src/features/commands/save-settings.ts";

const SENSORS = [{ code: "10234", type: 3 }];
const GOOD = {
  sensor: "10234",
  IntervalSendData: 10,
  Range: 8,
  IntervalRMS: 30,
  alarm1: 0.5,
  alarm2: 4.5,
  alarm3: 4.5,
};

function whyNots(request: unknown): readonly { problem: string; statusNumber: number | null }[] {
  const checked = checkSettings(request, SENSORS, "sensor", "saveSettings");
  return "whyNots" in checked ? checked.whyNots : [];
}

const BOUNDS: readonly [string, object, number | null][] = [
  ["IntervalSendData", { IntervalSendData: 9 }, 503],
  ["IntervalSendData", { IntervalSendData: 9.5 }, 503],
  ["IntervalSendData", { IntervalSendData: 10.5 }, null],
  ["IntervalSendData", { IntervalSendData: "60" }, null],
  ["IntervalSendData", { IntervalSendData: 2 ** 31 }, null],
  ["Range", { Range: 0 }, 502],
  ["Range", { Range: -8 }, 502],
  ["Range", { Range: 1.5 }, 502],
  ["Range", { Range: "8" }, 502],
  ["Range", { Range: 2 ** 31 }, 502],
  ["Range", { Range: undefined }, null],
  ["IntervalRMS", { IntervalRMS: 29 }, 504],
  ["alarm1", { alarm1: 0.49 }, 505],
  ["alarm2", { alarm2: 0 }, 505],
  ["alarm3", { alarm3: -1 }, 505],
  ["alarm3", { alarm3: Number.NaN }, null],
  ["alarm1", { alarm1: undefined }, null],
  ["sensor", { sensor: undefined }, null],
  ["sensor", { sensor: "10235" }, null],
  ["sensor", { sensor: "1234567890123456" }, null],
  ["sensor", { sensor: "12a" }, null],
  ["sensor", { sensor: true }, null],
  ["alarm4", { alarm4: 3 }, null],
];
for (const [field, change, statusNumber] of BOUNDS) {
  test(`sensor settings – ${JSON.stringify(change)} is refused, naming ${field}`, () => {
    const found = whyNots({ ...GOOD, ...change });
    assert.equal(found.length, 1, JSON.stringify(found));
    assert.match(found[0]?.problem ?? "", new RegExp(field));
    assert.equal(found[0]?.statusNumber, statusNumber);
  });
}

test("sensor settings – the minimum values are valid", () => {
  assert.deepEqual(checkSettings(GOOD, SENSORS, "sensor", "saveSettings"), {
    settings: {
      code: "10234",
      type: 3,
      intervalSendDataMin: 10,
      rangeG: 8,
      intervalRmsS: 30,
      alarms: [0.5, 4.5, 4.5],
    },
  });
});

test("sensor settings – UpdateConfig checks only the alarms: its numbers and minima differ from those of saveSettings", () => {
  const low = { ...GOOD, IntervalSendData: 1, IntervalRMS: 5 };
  const checked = checkSettings(low, SENSORS, "sensor", "UpdateConfig");
  assert.ok("settings" in checked, JSON.stringify(checked));
  assert.equal(checked.settings.intervalRmsS, 5);
  for (const [change, statusNumber] of [
    [{ alarm2: 0.4 }, 505],
    [{ Range: 0 }, null],
    [{ IntervalSendData: 0 }, null],
    [{ IntervalRMS: 0.5 }, null],
  ] as const) {
    const refused = checkSettings({ ...low, ...change }, SENSORS, "sensor", "UpdateConfig");
    assert.ok("whyNots" in refused, JSON.stringify(change));
    assert.deepEqual(
      refused.whyNots.map((why) => why.statusNumber),
      [statusNumber],
    );
  }
});

test("sensor settings – the serial number may be a number, have leading zeros, or use the vendor's word", () => {
  for (const request of [
    { ...GOOD, sensor: 10234 },
    { ...GOOD, sensor: "0010234" },
    { ...GOOD, sensor: undefined, acme: "10234" },
  ]) {
    const checked = checkSettings(request, SENSORS, "acme", "saveSettings");
    // The undefined member is what JSON cannot carry; a real request leaves it out.
    assert.ok("settings" in checked, JSON.stringify(checked));
    assert.equal(checked.settings.code, "10234");
  }
});

test("sensor settings – every reason is reported, and the first documented number comes first", () => {
  const result = refusal(whyNots({ ...GOOD, IntervalSendData: 10.5, IntervalRMS: 1, alarm2: 0.1 }));
  assert.equal(result.outcome, "rejected_local");
  assert.equal(result.statusNumber, 504);
  for (const name of ["IntervalSendData", "IntervalRMS", "alarm2"])
    assert.match(result.description, new RegExp(name));
});

test("sensor settings – no JSON value crashes the check or passes without all seven fields", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (request) => {
      assert.ok(whyNots(request).length > 0);
    }),
  );
});
