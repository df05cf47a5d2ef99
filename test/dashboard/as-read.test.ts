import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownReading, Trend } from "../../src/core/query/shown.ts";
import { METRIC, US } from "../../src/core/read-units.ts";
import {
  alarmAsRead,
  limitsAsRead,
  readingAsRead,
  trendAsRead,
} from "../../src/dashboard/as-read.ts";

test("units as read – readings, trends and zone limits are converted together, texts and bad values are not", () => {
  const reading = {
    kind: "accel",
    values: { channel1_vel_rms: 25.4, channel1_zone: "D", channel2_vel_rms: null, temperature: 0 },
    units: { channel1_vel_rms: "mm/s", channel2_vel_rms: "mm/s", temperature: "degC" },
  } as Partial<ShownReading> as ShownReading;
  const { values, units } = readingAsRead(reading, US);
  assert.deepEqual(rounded(values), {
    channel1_vel_rms: 1,
    channel1_zone: "D",
    channel2_vel_rms: null,
    temperature: 32,
  });
  assert.deepEqual(units, {
    channel1_vel_rms: "in/s RMS",
    channel2_vel_rms: "in/s RMS",
    temperature: "degF",
  });
  assert.deepEqual(rounded(limitsAsRead([2.54, 25.4, 254], US)), [0.1, 1, 10]);
  const counts = { count: [1], uncertain: [0], bad: [0], doubtful: [0], formerly: [] };
  const one = { unit: "mm/s", timesMs: [1], min: [0], max: [25.4], mean: [12.7], ...counts };
  const trend = { kind: "accel", series: { channel1_vel_rms: one } } as Partial<Trend> as Trend;
  const series = trendAsRead(trend, US).series["channel1_vel_rms"];
  assert.deepEqual(rounded([series?.unit, series?.max, series?.mean]), ["in/s RMS", [1], [0.5]]);
});

test("units as read – an alarm of a transmitter's temperature has numbers and text in the unit chosen", () => {
  const alarm = {
    alarm: "hot",
    kind: "rpm",
    value: "module_temperature",
    unit: "degC",
    limit: 60,
    measured: 70,
  };
  const text = "Warning: Module temperature at sensor 1 is 70 degC, above the limit of 60 degC.";
  assert.deepEqual(alarmAsRead({ ...alarm, text }, US), {
    ...alarm,
    unit: "degF",
    limit: 140,
    measured: 158,
    text: "Warning: Module temperature at sensor 1 is 158 degF, above the limit of 140 degF.",
  });
});

test("units as read – what an alarm says newest is in the unit chosen, and G is g", () => {
  const alarm = { alarm: "high", kind: "accel", value: "channel1_accel_rms", unit: "G", limit: 2 };
  const newest = {
    measured: 3,
    limit: 2,
    stage: null,
    time: "2026-11-20T12:00:00Z",
    text: "Alarm: Acceleration (RMS) of axis H at Pump is 3 G, above the limit of 2 G.",
  };
  const read = alarmAsRead({ ...alarm, newest }, { ...METRIC, acceleration: "m/s2" });
  assert.deepEqual(rounded([read.unit, read.limit, read.newest]), [
    "m/s2",
    19.6,
    {
      ...newest,
      measured: 29.4,
      limit: 19.6,
      text: "Alarm: Acceleration (RMS) of axis H at Pump is 29.4 m/s2, above the limit of 19.6 m/s2.",
    },
  ]);
  assert.match(alarmAsRead({ ...alarm, newest }, METRIC).newest.text, /is 3 g, above .* 2 g\.$/);
});

/** Without the last digits of binary fractions. */
function rounded(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, one: unknown) =>
    typeof one === "number" ? Number(one.toPrecision(9)) : one,
  );
}
