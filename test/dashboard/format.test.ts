import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  age,
  bytes,
  hours,
  interval,
  number,
  quantity,
  rate,
  utc,
  ZoneTimes,
} from "../../src/dashboard/format.ts";
import { doubtWords, valueWords } from "../../src/dashboard/words.ts";

const plain = (text: string): string => text.replace(/\u00a0|\u202f/g, " ");

test("numbers – have three significant digits, whatever their size", () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-5, max: 1e6, noNaN: true }), (value) => {
      const shown = number(value);
      assert.ok(Math.abs(Number(shown) - value) <= value * 0.005);
      const digits = shown.replace(".", "").replace(/^0+/, "");
      assert.ok(digits.length === 3 || value >= 999.5, shown);
    }),
  );
});

test("numbers – have the digits and the sign that suit their unit", () => {
  assert.equal(plain(quantity(1484.6, "rpm")), "1485 rpm");
  assert.equal(plain(quantity(3.6, "V")), "3.60 V");
  assert.equal(plain(quantity(-3.25, "degC")), "\u22123.3 °C");
  assert.equal(plain(quantity(29.27, "um")), "29.3 µm");
  assert.equal(plain(quantity(6.8786, "1")), "6.88");
  assert.equal(number(Number.NaN), "–");
});

test("durations, sizes and rates – are readable at a glance", () => {
  assert.equal(plain(age(-5_000)), "0 s");
  assert.equal(plain(age(61_000)), "1 min");
  assert.equal(plain(age(3_600_000 * 5)), "5 h 0 min");
  assert.equal(plain(age(86_400_000 * 3)), "3 days");
  assert.equal(plain(interval(19.9)), "20 s");
  assert.equal(plain(interval(595.9)), "10 min");
  assert.equal(plain(interval(10_800)), "3 h");
  assert.equal(plain(hours(0.5)), "30 min");
  assert.equal(plain(hours(31.9)), "31 h");
  assert.equal(plain(hours(24 * 12)), "12 days");
  assert.equal(plain(bytes(2 * 1024 ** 3)), "2.0 GB");
  assert.equal(plain(rate(0)), "0/min");
  assert.equal(plain(rate(31.2)), "31/s");
  assert.equal(plain(rate(0.5)), "30/min");
});

test("times – are shown in the gateway's zone, with its name and its offset on that day", () => {
  const times = new ZoneTimes("Europe/Berlin");
  const summer = Date.UTC(2026, 6, 1, 22, 30, 5);
  assert.equal(times.time(summer), "00:30:05");
  assert.equal(times.full(summer), "2 Jul 2026 00:30:05");
  assert.equal(times.short(summer, summer + 60_000), "00:30:05");
  assert.equal(times.short(summer, summer + 86_400_000), "2 Jul 00:30");
  assert.equal(times.name(summer), "Europe/Berlin (UTC+02:00)");
  assert.equal(times.name(Date.UTC(2026, 0, 1)), "Europe/Berlin (UTC+01:00)");
  assert.equal(utc(summer), "2026-07-01 22:30:05 UTC");
});

test("words – name the channel and quantity of every kind of value", () => {
  const channels = { current1: { name: "L1" }, channel1: { name: "Suction", axis: "V" as const } };
  const words = (kind: Parameters<typeof valueWords>[1], name: string) => {
    const { channelLabel, quantityLabel } = valueWords({ channels }, kind, name);
    return `${channelLabel} ${quantityLabel}`.trim();
  };
  assert.equal(words("accel", "channel1_vel_rms"), "V Velocity RMS");
  assert.equal(words("accel", "channel3_zone"), "A Zone");
  assert.equal(words("currentV2", "current1_avg"), "L1 Average");
  assert.equal(words("accCurrent", "accumulated_current1"), "L1 Accumulated");
  assert.equal(words("loop", "channel1"), "Suction Value");
  assert.equal(words("loop", "channel1_ma"), "Suction Loop current");
  assert.equal(words("dryContact", "input4"), "Input 4 State");
  assert.equal(words("rpm", "battery"), "Battery");
});

test("words – explain each quality reason and what to do about it", () => {
  assert.match(
    doubtWords({ quality: "bad", reason: "wire_break" }, "loop"),
    /^No value: .*Check terminals/,
  );
  assert.match(
    doubtWords({ quality: "uncertain", reason: "clipped" }, "accel"),
    /^Uncertain: .*larger range/,
  );
});

test("numbers – what rounds to zero has no sign, and what is less than half a digit shows its own", () => {
  assert.equal(plain(quantity(-0.2, "rpm")), "0 rpm");
  assert.equal(number(-3e-10), "0.0");
  assert.equal(plain(quantity(0.04, "%")), "0.04 %");
  assert.equal(plain(quantity(0.004, "V")), "0.004 V");
  assert.equal(plain(bytes(99.7 * 1024 ** 2)), "100 MB");
  assert.equal(plain(bytes(9.96 * 1024 ** 2)), "10 MB");
});
