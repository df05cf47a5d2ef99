import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { median } from "../../../src/core/lists/median.ts";
import { type DayRow, outlookOf } from "../../../src/features/outlook/rules/outlook.ts";
import { mannKendall, theilSen } from "../../../src/features/outlook/rules/robust.ts";

const LIMIT = 4.5;
const TODAY = 20_000;
/** Of a window without gaps. */
const WINDOWS_DAYS = [42, 56, 84, 112];

/** Rows of the days before today, oldest first. */
const rows = (days: number, valueOf: (daysAgo: number) => number): DayRow[] =>
  Array.from({ length: days }, (_, at) => {
    const daysAgo = days - at;
    return { day: TODAY - daysAgo, median: valueOf(daysAgo), count: 24 };
  });

/** Repeatable scatter of about this share. */
const noisy = (share: number) => (daysAgo: number) => 1 + share * Math.sin(daysAgo * 12.9898);

describe("outlook", () => {
  test("an even growth: the range holds the day, slope and level are those of the value", () => {
    const told = outlookOf(
      rows(120, (ago) => (3.4 - 0.015 * ago) * noisy(0.02)(ago)),
      LIMIT,
      TODAY,
    );
    const trueDay = TODAY + (LIMIT - 3.4) / 0.015;
    assert.equal(told.reason, null);
    assert.ok(told.outlook !== null && told.outlook.from <= trueDay);
    assert.ok(told.outlook.to === null || told.outlook.to >= trueDay);
    assert.ok(Math.abs((told.slopePerDay as number) - 0.015) < 0.002);
    assert.ok(Math.abs((told.level as number) - 3.34) < 0.1);
    assert.ok(WINDOWS_DAYS.includes(told.days));
  });

  test("slope, days and range are of one window: its line reaches the limit within the range", () => {
    let checked = 0;
    // Steady at first; a growth that is younger than the longest window must not be told by that window's slope.
    for (const beganAgo of [45, 60, 80, 110, 180])
      for (const perDay of [0.01, 0.02, 0.03])
        for (const noise of [0, 0.01, 0.03]) {
          const grown = rows(182, (ago) => {
            return (4 - perDay * Math.min(ago, beganAgo)) * noisy(noise)(ago);
          });
          const { level, slopePerDay, days, outlook } = outlookOf(grown, LIMIT, TODAY);
          if (outlook === null) continue;
          assert.ok(level !== null && slopePerDay !== null);
          const name = `${beganAgo} ${perDay} ${noise}: ${slopePerDay} over ${days} days`;
          assert.ok(WINDOWS_DAYS.includes(days), name);
          const reached = Math.max(TODAY, TODAY - 4 + (LIMIT - level) / slopePerDay);
          assert.ok(Math.ceil(reached) >= outlook.from, name);
          assert.ok(outlook.to === null || Math.floor(reached) <= outlook.to, name);
          assert.ok(Math.abs(slopePerDay / perDay - 1) < 0.35, name);
          checked += 1;
        }
    assert.ok(checked > 15, `${checked}`);
  });

  test("the slope of a machine that is beyond its limit is that of its rise", () => {
    const risen = rows(182, (ago) => Math.max(1.1, 5.6 - 0.1 * (ago - 4)) * noisy(0.01)(ago));
    const { reason, slopePerDay, days } = outlookOf(risen, LIMIT, TODAY);
    assert.deepEqual([reason, days], ["beyond_limit", 42]);
    assert.ok(slopePerDay !== null && Math.abs(slopePerDay - 0.1) < 0.02, `${slopePerDay}`);
  });

  test("a growth by a share: the range holds the day", () => {
    const told = outlookOf(
      rows(140, (ago) => 2.5 * Math.exp(-0.012 * ago) * noisy(0.02)(ago)),
      LIMIT,
      TODAY,
    );
    const trueDay = TODAY + Math.log(LIMIT / 2.5) / 0.012;
    assert.ok(told.outlook !== null && told.outlook.from <= trueDay);
    assert.ok(told.outlook.to === null || told.outlook.to >= trueDay);
  });

  test("weeks of four days count, weeks of three do not", () => {
    const grown = rows(120, (ago) => (3.4 - 0.015 * ago) * noisy(0.02)(ago));
    const daysOfWeek = (count: number) => grown.filter(({ day }) => (TODAY - day) % 7 < count);
    assert.equal(outlookOf(daysOfWeek(4), LIMIT, TODAY).reason, null);
    assert.equal(outlookOf(daysOfWeek(3), LIMIT, TODAY).outlook, null);
  });

  test("a level of months ago is none of today: a repaired machine is not told as failed", () => {
    const repaired = [
      ...rows(120, () => 8).filter(({ day }) => TODAY - day > 100),
      ...rows(3, () => 1),
    ];
    const { level, reason } = outlookOf(repaired, LIMIT, TODAY);
    assert.deepEqual({ level, reason }, { level: null, reason: "too_few_days" });
  });

  test("says why there is none", () => {
    const steady = rows(120, (ago) => 2 * noisy(0.05)(ago));
    assert.equal(outlookOf(steady, LIMIT, TODAY).reason, "not_rising");
    assert.equal(outlookOf(steady, null, TODAY).reason, "no_limit");
    assert.equal(outlookOf(steady, 1.5, TODAY).reason, "beyond_limit");
    assert.equal(outlookOf(steady, LIMIT, TODAY, true).reason, "standing");
    assert.equal(outlookOf(steady.slice(-20), LIMIT, TODAY).reason, "too_few_days");
    assert.equal(outlookOf([], LIMIT, TODAY).reason, "too_few_days");
    const far = rows(120, (ago) => (1 - 0.003 * ago) * noisy(0.001)(ago));
    assert.equal(outlookOf(far, 40, TODAY).reason, "too_far");
    const small = rows(120, (ago) => (2 - 0.001 * ago) * noisy(0.005)(ago));
    assert.equal(outlookOf(small, LIMIT, TODAY).reason, "within_noise");
  });

  test("a step is none, whenever it is looked at", () => {
    const stepped = rows(200, (ago) => (ago <= 100 ? 3 : 2) * noisy(0.03)(ago));
    for (let day = TODAY - 95; day <= TODAY; day += 1)
      assert.equal(outlookOf(stepped, LIMIT, day).outlook, null, `${TODAY - day} days before`);
  });

  /** 26 weeks of one value each, the newest last. */
  const weekly = (values: readonly number[]) =>
    rows(7 * values.length, (ago) => values[values.length - Math.ceil(ago / 7)] ?? 0);

  test("a few steps, as of a process that is set anew, are no growth", () => {
    const steady = Array.from({ length: 10 }, () => 1);
    const stepped = [1.01, 1.01, 1.03, 1.03, 1.04, 1.05, 1.05, 1.43, 1.46, 1.47, 1.49, 1.51, 1.53];
    const told = outlookOf(weekly([...steady, ...stepped, 2.08, 2.08, 2.11]), 3.376, TODAY);
    assert.deepEqual([told.outlook, told.reason], [null, "step"]);
  });

  test("a rise of 60 % beside a large scatter from week to week is noise", () => {
    const steady = [1.05, 1, 1.05, 0.99, 1, 0.95, 1.04, 1.05, 1.06, 1];
    const rising = [1.01, 1.1, 1.03, 1.04, 1.2, 1.27, 1.18, 1.27, 1.34, 1.27, 1.43, 1.39, 1.57];
    const values = [...steady, ...rising, 1.65, 1.59, 1.6];
    assert.equal(outlookOf(weekly(values), 2.56, TODAY).reason, "within_noise");
  });

  test("is told once it was seen for seven days in a row", () => {
    const grown = rows(120, (ago) => (3.4 - 0.015 * ago) * noisy(0.02)(ago));
    assert.notEqual(outlookOf(grown, LIMIT, TODAY).outlook, null);
    // Without these days, the look of three days ago had no newest week.
    const gap = grown.filter(({ day }) => day < TODAY - 10 || day > TODAY - 6);
    const told = outlookOf(gap, LIMIT, TODAY);
    assert.deepEqual([told.outlook, told.reason], [null, "within_noise"]);
  });

  test("today and later rows do not count, and the order of rows does not matter", () => {
    const grown = rows(120, (ago) => (3.4 - 0.015 * ago) * noisy(0.02)(ago));
    const told = outlookOf(grown, LIMIT, TODAY);
    const later = [{ day: TODAY, median: 99, count: 1 }, ...grown.toReversed()];
    assert.deepEqual(outlookOf(later, LIMIT, TODAY), told);
  });
});

describe("robust statistics", () => {
  test("median, slope and bounds of known series", () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    const line = [0, 1, 2, 3, 4].map((x) => ({ x, y: 2 * x + 1 }));
    assert.deepEqual(theilSen(line, 1.96), { slope: 2, lower: 2, upper: 2 });
    // S = 10 of 5 rising values, standard deviation sqrt(5 * 4 * 15 / 18).
    assert.ok(Math.abs(mannKendall(line) - 9 / Math.sqrt(300 / 18)) < 1e-12);
    assert.equal(mannKendall(line.map(({ x }) => ({ x, y: 1 }))), 0);
  });
});
