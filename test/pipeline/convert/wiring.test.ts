import assert from "node:assert/strict";
import { test } from "node:test";
import { bad, good, uncertain } from "../../../src/core/quality.ts";
import type { RawRecord } from "../../../src/core/record.ts";
import type { ChannelConfig, PolledKind, Sensor } from "../../../src/core/sensor.ts";
import { clampParts, clampValue } from "../../../src/pipeline/convert/current.ts";
import { loopValue } from "../../../src/pipeline/convert/loop.ts";
import { parseRatio } from "../../../src/pipeline/convert/ratio.ts";
import { toReading } from "../../../src/pipeline/convert/to-reading.ts";
import { analyseAxis } from "../../../src/pipeline/signal/analyse.ts";

const atMa = (ma: number, config: ChannelConfig) =>
  loopValue(good(ma / 10), { low: 0, high: 100, ...config });

function convert(kind: PolledKind, fields: RawRecord["fields"], parts: Partial<Sensor>) {
  const record: RawRecord = {
    kind,
    sensorCode: "1",
    fields,
    times: {},
    channels: [],
    extra: {},
    faults: [],
  };
  return toReading(
    record,
    { code: "1", type: 1, kinds: [kind], channels: {}, ...parts },
    {
      id: "5f0c",
      time: { ms: 0, offsetMinutes: null },
      timeSource: "time_data",
      gatewayNowMs: 0,
    },
  );
}

test("a root is taken of the share of the span, and 8 mA of 0 to 100 is 50", () => {
  const root = { extraction: "squareRoot" } as const;
  assert.deepEqual(atMa(8, root).value, good(50));
  assert.deepEqual(atMa(20, root).value, good(100));
  assert.deepEqual(atMa(3.9, root).value, good(0), "below zero counts as zero");
  assert.deepEqual(atMa(3.7, root).value, uncertain(0, "under_range"), "quality is the current's");
  assert.deepEqual(atMa(1, root).value, bad("wire_break"));
  assert.deepEqual(atMa(20.7, root).value.doubt, { quality: "uncertain", reason: "over_range" });
  assert.deepEqual(atMa(8, { ...root, low: 100, high: 0 }).value, good(50));
});

test("a root below the cutoff is the lowest value, and one at it is not", () => {
  const cut = { extraction: "squareRoot", lowFlowCutoff: 0.05, low: 10, high: 110 } as const;
  assert.deepEqual(atMa(4.04, cut).value, good(15), "exactly 0.05");
  assert.deepEqual(atMa(4.0399, cut).value, good(10));
  // 0.0049 and its like have no root of their decimals in binary.
  for (let thousandth = 1; thousandth <= 300; thousandth++) {
    const share = thousandth / 1000;
    const value = atMa(4 + 16 * share ** 2, { ...cut, lowFlowCutoff: share }).value.value;
    assert.notEqual(value, 10, `exactly ${share}`);
  }
});

test("of 0 to 20 mA, a current a little below zero is zero, and a wire break is never told", () => {
  const zero = { signal: "0-20" } as const;
  assert.deepEqual(atMa(0, zero).value, good(0));
  assert.deepEqual(atMa(5, zero).value, good(25));
  assert.deepEqual(atMa(-0.2, zero).value, good(0));
  assert.deepEqual(atMa(-0.200001, zero).value, bad("under_range"));
  assert.deepEqual(atMa(20.5, zero).value, good(102.5));
  assert.deepEqual(atMa(20.6, zero).value, uncertain(103, "over_range"));
  assert.deepEqual(atMa(21, zero).value, bad("over_range"));
  assert.deepEqual(atMa(5, { ...zero, extraction: "squareRoot" }).value, good(50));
});

test("a ratio is a number or a quotient, and amperes are rounded once", () => {
  assert.equal(parseRatio("400:5"), 80);
  assert.equal(parseRatio("0.5/2"), 0.25);
  assert.equal(parseRatio(0.25), 0.25);
  for (const wrong of ["4:0", ":5", "400:5:1", "-4:5", "4.:5"])
    assert.ok(Number.isNaN(parseRatio(wrong)), wrong);
  assert.deepEqual(clampValue(good(6.4), 50, 80), good(256));
  assert.deepEqual(clampValue(good(24.9), 250, 0.25), good(15.5625));
});

test("over range is what the clamp sees, not what the conductor carries", () => {
  assert.deepEqual(clampValue(good(100), 50, 80), good(4000));
  assert.deepEqual(clampValue(good(101), 50, 0.25), uncertain(12.625, "over_range"));
  const parts = clampParts({ min: good(1), max: good(3), avg: good(2) }, 100, 80);
  assert.deepEqual(parts, { min: good(80), max: good(240), avg: good(160) });
});

test("one ratio holds for all current kinds of a channel, ampere-hours with and without a clamp", () => {
  const raw = { accumulated_current1: 12.31, accumulated_current2: 12.31 };
  const channels: Sensor["channels"] = {
    current1: { ratio: "400:5" },
    current2: { clamp: 250, ratio: 0.25 },
  };
  const { values } = convert("accCurrent", raw, { channels });
  assert.equal(values["accumulated_current1"], 984.8);
  assert.equal(values["accumulated_current2"], 3.0775);
  const plain = convert("accCurrent", raw, {});
  assert.equal(plain.values["accumulated_current1"], 12.31);
  const { values: now, raw: read } = convert("current", { current2: 40 }, { channels });
  assert.equal(now["current2"], 25);
  assert.equal(read["current2"], 40, "raw stays as read");
});

test("a speed of several pulses per revolution is divided by them", () => {
  const speed = (parts: Partial<Sensor>) => convert("rpm", { RPM: 1778 }, parts).values["rpm"];
  assert.equal(speed({}), 1778);
  assert.equal(speed({ pulsesPerRevolution: 1 }), 1778);
  assert.equal(speed({ pulsesPerRevolution: 2 }), 889);
  assert.equal(speed({ pulsesPerRevolution: 3 }), 592.666666666667);
  const backwards = convert("rpm", { RPM: -10 }, { pulsesPerRevolution: 2 });
  assert.deepEqual(backwards.quality["rpm"], { quality: "bad", reason: "under_range" });
});

test("a sensor's clock is corrected in values, waveform and attributes; raw and the default stay as read", () => {
  const samples = Int16Array.from({ length: 4096 }, (_, n) =>
    Math.round(4000 * Math.sin((2 * Math.PI * 50 * n) / 6400)),
  );
  const record: RawRecord = {
    kind: "accel",
    sensorCode: "1",
    fields: { sample_rate: 6400, calibration: 0.0005 },
    times: {},
    channels: [{ state: "ok", samples }],
    extra: {},
    faults: [],
  };
  const read = (parts: Partial<Sensor>) =>
    toReading(
      record,
      { code: "1", type: 1, kinds: ["accel"], channels: { channel1: { axis: "H" } }, ...parts },
      {
        id: "5f0c",
        time: { ms: 0, offsetMinutes: null },
        timeSource: "time_data",
        gatewayNowMs: 0,
      },
    );
  const [plain, corrected] = [read({}), read({ sampleRateFactor: 1.03 })];
  assert.deepEqual(read({ sampleRateFactor: 1 }), plain);
  assert.equal(corrected.attributes["sample_rate"], 6592);
  assert.equal(corrected.waveform?.sampleRateHz, 6592);
  assert.equal(corrected.raw["sample_rate"], 6400);
  const velocity = (of: typeof plain) => Number(of.values["channel1_vel_rms"]);
  assert.ok(Math.abs(velocity(plain) / velocity(corrected) - 1.03) < 1e-3);
  assert.equal(corrected.values["channel1_accel_rms"], plain.values["channel1_accel_rms"]);
});

test("values of every kind have nine digits; a counted speed keeps those of its quotient", () => {
  const { values } = convert("rpm", { RPM: 1487.123456789123, battery: 3.609999895095825 }, {});
  assert.deepEqual(values, { rpm: 1487.12346, battery: 3.6099999 });
  const counted = convert("rpm", { RPM: 1000 }, { pulsesPerRevolution: 3 });
  assert.equal(counted.values["rpm"], 333.333333333333);
  const flow = { low: 0, high: 100, unit: "m3/h", extraction: "squareRoot" } as const;
  const loop = convert("loop", { channel1_voltage: 0.56 }, { channels: { channel1: flow } });
  assert.equal(loop.values["channel1"], 31.6227766);
  const clamp = { channels: { current1: { clamp: 100, ratio: 80 } } } as const;
  const current = convert("current", { current1: 1.23456789012 }, clamp);
  assert.equal(current.values["current1"], 98.7654312);
});

test("the nine digits of an acceleration value are rounded once, and its zone before", () => {
  const samples = Int16Array.from({ length: 2048 }, (_, n) =>
    Math.round(900 * Math.sin(n * n + n)),
  );
  const record: RawRecord = {
    kind: "accel",
    sensorCode: "1",
    fields: { sample_rate: 6400, calibration: 0.0005, temperature: 31.200000762939453 },
    times: {},
    channels: [{ state: "ok", samples }],
    extra: {},
    faults: [],
  };
  const of = { code: "1", type: 1, kinds: ["accel"], channels: { channel1: {} } } as const;
  const context = {
    id: "5f0c",
    time: { ms: 0, offsetMinutes: null },
    timeSource: "time_data",
  } as const;
  const { values } = toReading(record, of, { ...context, gatewayNowMs: 0 });
  const numbers = Object.values(values).filter((value) => typeof value === "number");
  assert.ok(numbers.length >= 9);
  for (const number of numbers) assert.equal(number, Number(number.toPrecision(9)));
  // A limit between the rounded and the unrounded velocity: the zone goes by the latter.
  const exact =
    analyseAxis(samples, { sampleRateHz: 6400, calibration: 0.0005 }).velocityRms.value ?? 0;
  const rounded = Number(values["channel1_vel_rms"]);
  assert.notEqual(exact, rounded);
  const between = (exact + rounded) / 2;
  const limits = [between, 2 * between, 3 * between] as const;
  const zoned = toReading(record, { ...of, limits }, { ...context, gatewayNowMs: 0 });
  assert.equal(zoned.values["channel1_zone"], exact > between ? "B" : "A");
});
