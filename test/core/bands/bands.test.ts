import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Band, SensorBands } from "../../../src/core/bands/band.ts";
import { bandReadingSteps } from "../../../src/core/bands/band-reading.ts";
import { bandsOf, bandUnit } from "../../../src/core/bands/definition.ts";
import { measureBands } from "../../../src/core/bands/measure.ts";
import type { Doubt } from "../../../src/core/quality.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { inOneGo } from "../../../src/core/steps.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";

const CALIBRATION = 0.0005;
const STEADY = { calibration: CALIBRATION, isSteady: true } as const;

/** A record of tones (Hz, G zero-to-peak) with a little repeatable noise. */
function record(size: number, rateHz: number, tones: readonly (readonly [number, number])[]) {
  return Int16Array.from({ length: size }, (_, n) => {
    let g = 0.01 * Math.sin(n * n * 0.37);
    for (const [hz, amplitude] of tones) g += amplitude * Math.sin((2 * Math.PI * hz * n) / rateHz);
    return Math.round(g / CALIBRATION);
  });
}

/** P[k] of signal-definitions 4 straight from its formula. */
function powerLines(signal: readonly number[]): number[] {
  const size = signal.length;
  const window = signal.map((_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size));
  const s2 = window.reduce((sum, w) => sum + w * w, 0);
  return Array.from({ length: Math.floor(size / 2) + 1 }, (_, k) => {
    let re = 0;
    let im = 0;
    signal.forEach((value, n) => {
      const angle = (2 * Math.PI * ((k * n) % size)) / size;
      re += value * (window[n] as number) * Math.cos(angle);
      im -= value * (window[n] as number) * Math.sin(angle);
    });
    return ((k === 0 || 2 * k === size ? 1 : 2) * (re * re + im * im)) / (size * s2);
  });
}

/** The envelope of signal-definitions 7 straight from its formula, GE. */
function envelope(samples: Int16Array, rateHz: number): number[] {
  const size = samples.length;
  const mean = samples.reduce((sum, count) => sum + count, 0) / size;
  const edge = Math.floor(0.05 * size);
  const tapered = Array.from(samples, (count, n) => {
    const near = Math.min(n, size - 1 - n);
    const taper = near < edge ? 0.5 * (1 - Math.cos((Math.PI * (near + 0.5)) / edge)) : 1;
    return (count - mean) * CALIBRATION * taper;
  });
  const low = Math.ceil((500 * size) / rateHz - 1e-9);
  const high = Math.floor((Math.min(10_000, rateHz / 2.56) * size) / rateHz + 1e-9);
  const lines: (readonly [number, number, number])[] = [];
  for (let k = low; k <= high; k += 1) {
    let re = 0;
    let im = 0;
    tapered.forEach((value, n) => {
      const angle = (2 * Math.PI * ((k * n) % size)) / size;
      re += value * Math.cos(angle);
      im -= value * Math.sin(angle);
    });
    lines.push([k, 2 * re, 2 * im]);
  }
  const magnitudes: number[] = [];
  for (let n = edge; n < size - edge; n += 1) {
    let re = 0;
    let im = 0;
    for (const [k, lineRe, lineIm] of lines) {
      const angle = (2 * Math.PI * ((k * n) % size)) / size;
      re += lineRe * Math.cos(angle) - lineIm * Math.sin(angle);
      im += lineRe * Math.sin(angle) + lineIm * Math.cos(angle);
    }
    magnitudes.push(Math.hypot(re, im) / size);
  }
  const level = magnitudes.reduce((sum, value) => sum + value, 0) / magnitudes.length;
  return magnitudes.map((value) => value - level);
}

function valueOf(samples: Int16Array, band: Band, rateHz: number, shaftHz: number | null) {
  const options = { ...STEADY, sampleRateHz: rateHz, shaftHz };
  return measureBands(samples, [band], options).get(band.name);
}

function near(actual: number | null | undefined, expected: number, relative = 1e-9): void {
  assert.ok(
    typeof actual === "number" && Math.abs(actual - expected) <= relative * expected,
    `${actual} instead of ${expected}`,
  );
}

describe("bands – the number", () => {
  test("one that arithmetic cannot hold is null with its reason", () => {
    const samples = record(1000, 6400, [[50, 0.2]]);
    const band: Band = { name: "1x", order: 1 };
    const steps = bandReadingSteps(
      {
        code: "1",
        type: 3,
        kinds: ["accel"],
        channels: {},
        bands: { bands: [band], hasSpeed: true },
      },
      [band],
      {
        id: "a",
        timeMs: 0,
        offsetMinutes: 0,
        sampleRateHz: 6400,
        sampleCount: 1000,
        calibration: 1e300,
        zone: null,
        flags: [],
        channels: [{ channel: 1, samples, doubt: { quality: "bad", reason: "missing" } }],
      },
      { rpm: 3000, timeMs: 0, nextRpm: null },
      new DftPlans(),
    );
    let step = steps.next();
    while (!step.done) step = steps.next();
    assert.deepEqual(step.value.values, { channel1_1x: null, speed_rpm: 3000 });
    assert.deepEqual(step.value.quality, {
      channel1_1x: { quality: "bad", reason: "not_a_number" },
    });
  });

  test("an order sums the lines around it, each integrated to mm/s", () => {
    const [size, rateHz, shaftHz] = [1000, 6400, 50.3];
    const samples = record(size, rateHz, [
      [shaftHz, 0.2],
      [2 * shaftHz, 0.1],
    ]);
    const mean = samples.reduce((sum, count) => sum + count, 0) / size;
    const power = powerLines(Array.from(samples, (count) => (count - mean) * CALIBRATION));
    const step = rateHz / size;
    for (const order of [1, 2, 7]) {
      const half = Math.min(0.01 * order * shaftHz, 0.4 * shaftHz) + 1.5 * step;
      let sum = 0;
      power.forEach((square, k) => {
        if (k * step < order * shaftHz - half || k * step > order * shaftHz + half) return;
        sum += square * (9800 / (2 * Math.PI * k * step)) ** 2;
      });
      near(valueOf(samples, { name: "x", order }, rateHz, shaftHz)?.value, Math.sqrt(sum));
    }
  });

  test("a bearing frequency sums three harmonics in the envelope's spectrum, shared lines once", () => {
    const [size, rateHz, shaftHz] = [1200, 6400, 20];
    const samples = Int16Array.from({ length: size }, (_, n) => {
      const t = n / rateHz;
      const blow = 1 + 0.8 * Math.sin(2 * Math.PI * 16.6 * t);
      return Math.round((0.5 * blow * Math.sin(2 * Math.PI * 1500 * t)) / CALIBRATION);
    });
    const signal = envelope(samples, rateHz);
    const power = powerLines(signal);
    const step = rateHz / signal.length;
    // Harmonics of 16.6 Hz lie 2.8 lines apart, and each is wider than that.
    for (const bearing of [0.83, 3.58]) {
      let sum = 0;
      power.forEach((square, k) => {
        const isInside = [1, 2, 3].some((harmonic) => {
          const centre = harmonic * bearing * shaftHz;
          const half = Math.min(0.02 * centre, 0.4 * shaftHz) + 1.5 * step;
          return Math.abs(k * step - centre) <= half;
        });
        if (isInside) sum += square;
      });
      const value = valueOf(samples, { name: "ftf", bearing }, rateHz, shaftHz)?.value;
      near(value, Math.sqrt(sum), 1e-7);
    }
    // An edge nearer to 0 than the first line.
    assert.deepEqual(valueOf(samples, { name: "ftf", bearing: 0.4 }, rateHz, shaftHz), {
      value: null,
      doubt: { quality: "bad", reason: "too_short" },
    });
  });

  test("a custom band includes lines on both edges, in G or mm/s, by Hz or orders", () => {
    const [size, rateHz] = [1024, 2560];
    const samples = record(size, rateHz, [[500, 0.3]]);
    const mean = samples.reduce((sum, count) => sum + count, 0) / size;
    const power = powerLines(Array.from(samples, (count) => (count - mean) * CALIBRATION));
    const edges = { name: "band_hf", from: 490, to: 510, unit: "Hz", of: "accel" } as const;
    const sum = power.slice(196, 205).reduce((total, square) => total + square, 0);
    near(valueOf(samples, edges, rateHz, null)?.value, Math.sqrt(sum));
    near(valueOf(samples, edges, rateHz, null)?.value, 0.3 / Math.SQRT2, 0.01);
    const orders = { ...edges, from: 9.8, to: 10.2, unit: "order" } as const;
    near(valueOf(samples, orders, rateHz, 50)?.value, Math.sqrt(sum));
    const inVelocity = { ...edges, of: "velocity" } as const;
    near(
      valueOf(samples, inVelocity, rateHz, null)?.value,
      (0.3 / Math.SQRT2) * (9800 / (2 * Math.PI * 500)),
      0.01,
    );
  });
});

describe("bands – no value, or an uncertain one", () => {
  const samples = record(4096, 6400, [[50, 0.2]]);
  const reasonOf = (band: Band, shaftHz: number | null = 25, input = samples) =>
    valueOf(input, band, 6400, shaftHz)?.doubt;
  const bad = (reason: string) => ({ quality: "bad", reason });

  test("an upper edge above the usable rate is not cut", () => {
    const top = { name: "b", from: 1000, unit: "Hz", of: "accel" } as const;
    assert.equal(reasonOf({ ...top, to: 2500 }), null);
    assert.deepEqual(reasonOf({ ...top, to: 2500.01 }), bad("sample_rate_low"));
  });

  test("harmonics of a bearing above the envelope's low-pass do not count; the first must", () => {
    assert.equal(reasonOf({ name: "bpfi", bearing: 30 }), null);
    assert.deepEqual(reasonOf({ name: "bpfi", bearing: 41 }), bad("sample_rate_low"));
  });

  test("too few lines, and an edge below the first line", () => {
    const narrow = { name: "b", unit: "Hz", of: "velocity" } as const;
    assert.deepEqual(reasonOf({ ...narrow, from: 100.1, to: 103 }), bad("too_short"));
    assert.deepEqual(reasonOf({ ...narrow, from: 3, to: 30 }), bad("too_short"));
    assert.equal(reasonOf({ ...narrow, from: 3.125, to: 30 }), null);
  });

  test("flags of the record hold, those of the overall values' bands do not", () => {
    const clipped = samples.slice();
    clipped[7] = 32767;
    const order = { name: "1x", order: 2 };
    assert.deepEqual(reasonOf(order, 25, clipped), { quality: "uncertain", reason: "clipped" });
    assert.deepEqual(reasonOf(order, 25, new Int16Array(4096).fill(5)), bad("flatline"));
    assert.deepEqual(reasonOf(order, 25, samples.slice(0, 10)), bad("too_short"));
    // 1,600 Hz truncates the velocity band, and there is no envelope.
    const slow = { ...STEADY, sampleRateHz: 1600, shaftHz: 25 };
    const measured = measureBands(samples, [order, { name: "bpfo", bearing: 3 }], slow);
    assert.equal(measured.get("1x")?.doubt, null);
    assert.deepEqual(measured.get("bpfo"), { value: null, doubt: bad("sample_rate_low") });
  });

  test("a speed that changes makes what follows the shaft uncertain, nothing else", () => {
    const fixed = { name: "hf", from: 100, to: 200, unit: "Hz", of: "accel" } as const;
    const options = { ...STEADY, sampleRateHz: 6400, shaftHz: 25, isSteady: false };
    const measured = measureBands(samples, [{ name: "1x", order: 2 }, fixed], options);
    assert.deepEqual(measured.get("1x")?.doubt, { quality: "uncertain", reason: "inconsistent" });
    assert.equal(measured.get("hf")?.doubt, null);
    const unknown = measureBands(samples, [{ name: "1x", order: 2 }, fixed], {
      ...options,
      shaftHz: null,
    });
    assert.deepEqual([...unknown.keys()], ["hf"]);
  });
});

describe("bands – the definition", () => {
  test("names the values of a point in the order of the site file", () => {
    const machine = {
      blades: 5,
      teeth: [23, 71],
      bearings: [
        { point: 2, bpfo: 3 },
        { point: 1, bpfo: 3.58, ftf: 0.4 },
        { point: 1, name: "NU 216", bpfo: 7 },
      ],
      bands: {
        orders: [1, 3],
        bearings: true,
        blades: true,
        teeth: true,
        custom: [{ name: "hf", from: 1000, to: 1600, unit: "Hz", of: "accel" }],
      },
    } as const;
    assert.deepEqual(
      bandsOf(machine, { point: 1 }).map(({ name }) => name),
      "1x 3x bpfo ftf NU_216_bpfo blade mesh_23 mesh_71 band_hf".split(" "),
    );
    assert.deepEqual(
      bandsOf(machine, { point: 1 }).map(bandUnit),
      "mm/s mm/s GE GE GE mm/s mm/s mm/s G".split(" "),
    );
    assert.deepEqual(bandsOf({ blades: 5 }, { point: 1 }), []);
  });
});

/** A reading of one channel with 1x, at a measured 2787 r/min, of a sensor on a shaft. */
function readingAt(
  shaft: { readonly speedRatio: number; readonly belt?: boolean } | undefined,
  doubt: Doubt = { quality: "bad", reason: "missing" },
  size = 8192,
) {
  const machine = {
    bands: { orders: [1] },
    ...(shaft === undefined ? {} : { shafts: [{ name: "fan", points: [1], ...shaft }] }),
  };
  const sensor: Sensor & { readonly bands: SensorBands } = {
    code: "1",
    type: 3,
    kinds: ["accel"],
    channels: { channel1: { axis: "H" } },
    bands: {
      bands: bandsOf(machine, { point: 1 }),
      hasSpeed: true,
      ...(shaft === undefined ? {} : { shaft }),
    },
  };
  const stored = {
    id: "5f0c",
    timeMs: 0,
    offsetMinutes: null,
    sampleRateHz: 6400,
    sampleCount: size,
    calibration: CALIBRATION,
    zone: null,
    flags: [],
    channels: [{ channel: 1, samples: record(size, 6400, [[24.66, 0.1]]), doubt }],
  };
  const speed = { rpm: 2787, timeMs: 0, nextRpm: 2787 };
  const steps = bandReadingSteps(sensor, sensor.bands.bands, stored, speed, new DftPlans());
  return inOneGo(steps);
}

test("bands – on another shaft, orders and speed are that shaft's, and the ratio is part of the id", () => {
  const fan = readingAt({ speedRatio: 0.531 });
  const motor = readingAt(undefined);
  assert.equal(fan.values["speed_rpm"], 1479.897);
  assert.ok(Number(fan.values["channel1_1x"]) > 20 * Number(motor.values["channel1_1x"]));
  assert.notEqual(fan.id, motor.id);
  assert.equal(readingAt({ speedRatio: 1 }).id, motor.id);
  const digits = Number(fan.values["channel1_1x"]);
  assert.equal(digits, Number(digits.toPrecision(9)));
});

test("bands – behind a belt the strongest line within 2 % makes the speed exact; without one orders are searched so far", () => {
  const read = (ratio: number, belt: boolean, size: number) => {
    const { values } = readingAt({ speedRatio: 0.531 * ratio, belt }, undefined, size);
    return { rpm: Number(values["speed_rpm"]), level: Number(values["channel1_1x"]) };
  };
  // 24.66 Hz; the belt slips by 1.2 %.
  const slipping = read(1.012, true, 32_768);
  assert.ok(Math.abs(slipping.rpm - 60 * 24.66) < 0.2, `${slipping.rpm}`);
  const exact = read(1, false, 32_768);
  assert.ok(Math.abs(slipping.level / exact.level - 1) < 0.01);
  // Beyond 2 %, and where the lines around are those of the tone itself.
  for (const [ratio, size] of [
    [1.04, 32_768],
    [1.012, 8192],
  ] as const)
    assert.ok(Math.abs(read(ratio, true, size).rpm - 2787 * 0.531 * ratio) < 0.01);
});

test("bands – those of a damaged record are uncertain for the record's reason", () => {
  for (const reason of ["jump", "samples_lost"] as const) {
    const doubt = { quality: "uncertain", reason } as const;
    assert.deepEqual(readingAt(undefined, doubt).quality, { channel1_1x: doubt });
  }
  assert.deepEqual(readingAt(undefined).quality, {});
});
