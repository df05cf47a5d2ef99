import assert from "node:assert/strict";
import { test } from "node:test";
import type { DayMedians } from "../../../src/core/query/day-medians.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { StoredReading } from "../../../src/core/stored-reading.ts";
import { DAY_MS } from "../../../src/core/time-units.ts";
import { valueMount } from "../../../src/core/value-mount.ts";
import { DayMedianMaker } from "../../../src/features/hours/rules/day-medians.ts";
import {
  machineOutlook,
  type OutlookParts,
} from "../../../src/features/outlook/rules/machine-outlook.ts";

const TODAY = 20_780;
const EVER_MS = Number.MAX_SAFE_INTEGER;
const VALUE = "channel1_vel_rms";
const SENSOR: Sensor = {
  code: "7",
  type: 3,
  kinds: ["accel"],
  channels: { channel1: { axis: "H" } },
  location: { company: 1, area: 1, machine: 40, point: 1 },
  machineClass: "group2-rigid",
};

const STORED: StoredReading = {
  seq: 1,
  id: "0".repeat(32),
  sensor: "7",
  kind: "accel",
  timeMs: TODAY * DAY_MS,
  offsetMinutes: 0,
  storedAtMs: TODAY * DAY_MS,
  units: "{}",
  values: "{}",
  quality: "{}",
  attributes: "{}",
  raw: "{}",
  waveforms: [],
};

/** Half a year of days; `level` by days before today. */
function days(
  level: (back: number) => number,
  more: { unit?: string; mount?: string; value?: string; until?: number } = {},
): DayMedians[] {
  const { unit = "mm/s", value = VALUE, until = 1 } = more;
  const mount = more.mount ?? valueMount(SENSOR, value);
  return Array.from({ length: 182 - until }, (_, n) => 181 - n).map((back) => ({
    day: TODAY - back,
    readings: 24,
    values: { [value]: { median: level(back), count: 24, unit, mount } },
  }));
}

function outlook(rows: readonly DayMedians[], parts: Partial<OutlookParts> = {}, sensor = SENSOR) {
  const kind = Object.keys(rows[0]?.values ?? {})[0]?.endsWith("_vel_rms") ? "accel" : "bands";
  const from: OutlookParts = {
    rows: { of: (_code, of) => (of === kind ? rows : []) },
    spans: (sensor) => [{ sensor, fromMs: -EVER_MS, toMs: EVER_MS }],
    newest: () => null,
    limits: () => [],
    baselines: () => [],
    actions: () => [],
    ...parts,
  };
  const { machine, values } = machineOutlook(40, [sensor], from, TODAY * DAY_MS + 1000, false);
  assert.equal(machine, 40);
  assert.equal(values.length, 1);
  return values[0] as NonNullable<(typeof values)[0]>;
}

/** Grows by 2 % a day towards 2 mm/s today. */
const growing = (back: number) => 2 * 0.985 ** back;

test("machine outlook – a growing velocity has a range of days at 00:00 UTC before the boundary of zone C, and a sentence with its ground", () => {
  const {
    limit,
    level,
    outlook: range,
    reason,
    text,
    days: used,
    slopePerDay,
    unit,
  } = outlook(days(growing));
  assert.deepEqual([limit, reason, used, unit], [2.8, null, 42, "mm/s"]);
  assert.ok(level !== null && level > 1.8 && level < 2);
  assert.ok(slopePerDay !== null && slopePerDay > 0);
  assert.match(range?.from ?? "", /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
  // 0.985 ** 22 is 2 / 2.8.
  assert.ok(Date.parse(range?.from ?? "") <= (TODAY + 23) * DAY_MS);
  assert.ok(range?.to === null || Date.parse(range?.to ?? "") >= (TODAY + 22) * DAY_MS);
  assert.match(
    text,
    /^Reaches 2\.8 mm\/s between \d{4}-.*: 1\.88 mm\/s in the newest week, changing by .* mm\/s a day over 42 days\.$/,
  );
});

test("machine outlook – above B/C the next limit is C/D, above both it is beyond the limit; without a class there is none", () => {
  assert.equal(outlook(days((back) => 2 * growing(back))).limit, 4.5);
  const beyond = outlook(days((back) => 3 * growing(back)));
  assert.deepEqual([beyond.limit, beyond.reason, beyond.outlook], [4.5, "beyond_limit", null]);
  const { machineClass: _, ...unclassed } = SENSOR;
  const none = outlook(days(growing, { mount: valueMount(unclassed, VALUE) }), {}, unclassed);
  assert.deepEqual([none.limit, none.reason], [null, "no_limit"]);
  assert.ok((none.slopePerDay ?? 0) > 0);
});

test("machine outlook – begins anew with another mount, with another unit, and when a baseline is learned again", () => {
  const before = days(growing, { until: 31, mount: "elsewhere" });
  const since = days(growing).slice(-30);
  assert.deepEqual(
    [outlook([...before, ...since]).days, outlook([...before, ...since]).reason],
    [30, "too_few_days"],
  );
  const inches = days(growing, { until: 31, unit: "in/s" });
  assert.equal(outlook([...inches, ...since]).days, 30);
  const relearned = (code: string) => ({
    timeMs: (TODAY - 10) * DAY_MS + 5,
    who: "A",
    source: "http",
    what: "relearn",
    subject: `${code}/vibration-change/${VALUE}`,
    detail: "{}",
    outcome: "done",
  });
  // As operators write it: a box accepts both spellings.
  for (const code of ["7", "0007"])
    assert.equal(outlook(days(growing), { actions: () => [relearned(code)] }).days, 10, code);
});

test("machine outlook – the limit of a band is the next high limit of a rule or baseline on it", () => {
  const value = "channel1_bpfo";
  const rows = days(growing, { value, unit: "GE" });
  const limits = [1, 2.5, 9].map((high) => ({
    alarm: "outer",
    kind: "bands" as const,
    value,
    unit: "GE",
    highHigh: null,
    high,
    low: null,
    lowLow: null,
  }));
  assert.equal(outlook(rows, { limits: () => limits }).limit, 2.5);
  assert.equal(outlook(rows).reason, "no_limit");
});

test("machine outlook – a sensor that replaced another continues its days, and the former one has no outlook of its own", () => {
  const former: Sensor = { ...SENSOR, code: "6", enabled: false };
  const changeMs = (TODAY - 10) * DAY_MS + 3_600_000;
  const all = days(growing);
  const from: OutlookParts = {
    newest: () => null,
    // The former one still measures in a drawer.
    rows: {
      of: (code, kind, fromDay, toDay) =>
        kind !== "accel"
          ? []
          : (code === "6"
              ? days((back) => (back > 10 ? growing(back) : 9))
              : all.slice(-10)
            ).filter(({ day }) => day >= fromDay && day < toDay),
    },
    spans: (sensor) =>
      sensor === "6"
        ? [{ sensor, fromMs: -EVER_MS, toMs: EVER_MS }]
        : [
            { sensor: "6", fromMs: 0, toMs: changeMs },
            { sensor, fromMs: -EVER_MS, toMs: EVER_MS },
          ],
    limits: () => [],
    baselines: () => [],
    actions: () => [],
  };
  const now = TODAY * DAY_MS + 1000;
  const joined = machineOutlook(40, [former, SENSOR], from, now, false).values;
  const alone = outlook(all);
  assert.deepEqual(joined, [alone]);
});

test("machine outlook – a value that has no day yet says that there are too few", () => {
  const newest = {
    values: JSON.stringify({ [VALUE]: 2, channel1_accel_rms: 1, temperature: 20 }),
    units: JSON.stringify({ [VALUE]: "mm/s", channel1_accel_rms: "G", temperature: "degC" }),
  };
  const of = (_code: string, kind: string) => (kind === "accel" ? newest : null);
  const { value, unit, limit, level, days: used, reason } = outlook([], { newest: of });
  assert.deepEqual([value, unit, limit], [VALUE, "mm/s", 2.8]);
  assert.deepEqual([level, used, reason], [null, 0, "too_few_days"]);
});

test("machine outlook – a day's row has no value of a damaged record, and has that of a clipped one", () => {
  const maker = new DayMedianMaker(SENSOR, "accel");
  for (const [value, reason] of [
    [1, "clipped"],
    [20, "samples_lost"],
    [30, "jump"],
  ] as const) {
    const quality = JSON.stringify({ [VALUE]: { quality: "uncertain", reason } });
    const units = JSON.stringify({ [VALUE]: "mm/s" });
    maker.add({ ...STORED, values: JSON.stringify({ [VALUE]: value }), units, quality }, true);
  }
  const { readings, values } = maker.result(1);
  assert.deepEqual([readings, values[VALUE]?.median, values[VALUE]?.count], [3, 1, 1]);
});

test("machine outlook – a day's row is the median on the running machine; it counts all readings, and begins anew with another unit", () => {
  const maker = new DayMedianMaker(SENSOR, "accel");
  const add = (value: number, unit: string, isRunning: boolean) => {
    const values = JSON.stringify({ [VALUE]: value, channel1_accel_rms: 9 });
    maker.add({ ...STORED, values, units: JSON.stringify({ [VALUE]: unit }) }, isRunning);
  };
  add(7, "in/s", true);
  for (const [value, isRunning] of [
    [1, true],
    [50, false],
    [3, true],
    [2, true],
  ] as const)
    add(value, "mm/s", isRunning);
  const row = { median: 2, count: 3, unit: "mm/s", mount: valueMount(SENSOR, VALUE) };
  assert.deepEqual(maker.result(TODAY), { day: TODAY, readings: 5, values: { [VALUE]: row } });
});
