import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bad, type Graded, good } from "../../../src/core/quality.ts";
import {
  AXIS_CODES,
  type Axis,
  CPM_PER_HZ,
  MM_PER_INCH,
  MM_S2_PER_G,
  UM_PER_MIL,
} from "../../../src/core/unit.ts";
import { clampParts, clampValue } from "../../../src/pipeline/convert/current.ts";
import { loopValue } from "../../../src/pipeline/convert/loop.ts";
import { VELOCITY_LIMITS, zoneOf } from "../../../src/pipeline/signal/severity.ts";
import { unitScale } from "../../../src/pipeline/signal/unit-scale.ts";

interface Expected {
  readonly value: number | null;
  readonly quality: string;
  readonly reason: string | null;
}
interface Vectors {
  readonly tolerance: {
    readonly ma: number;
    readonly value_relative: number;
    readonly value_absolute: number;
  };
  readonly loop_4_20ma: readonly {
    readonly volts: number | null;
    readonly range_lo: number;
    readonly range_hi: number;
    readonly resistor_ohm: number;
    readonly expected: Expected & { readonly ma: number | null; readonly state: string };
  }[];
  readonly current_clamp: readonly {
    readonly clamp_a: number;
    readonly v1?: number | null;
    readonly v2?: Readonly<Record<"min" | "max" | "avg", number | null>>;
    readonly expected: Expected & Readonly<Record<"min" | "max" | "avg", Expected>>;
  }[];
  readonly severity: readonly {
    readonly machine_class: keyof typeof VELOCITY_LIMITS;
    readonly vel_rms_mm_s: number;
    readonly zone: string;
  }[];
  readonly units: readonly { readonly from: string; readonly in: number; readonly out: number }[];
  readonly tone_identities: readonly Readonly<Record<string, number>>[];
  readonly axis_codes: readonly { readonly code: number; readonly axis: Axis }[];
}

const file = new URL("../../vectors/conversion.json", import.meta.url);
const vectors: Vectors = JSON.parse(readFileSync(file, "utf8"));
const { tolerance } = vectors;

const given = (value: number | null) => (value === null ? bad("missing") : good(value));

function matches(actual: Graded, expected: Expected, what: string): void {
  assert.equal(actual.doubt?.quality ?? "good", expected.quality, what);
  assert.equal(actual.doubt?.reason ?? null, expected.reason, what);
  near(actual.value, expected.value, what);
}

function near(value: number | null, want: number | null, what: string): void {
  if (value === null || want === null) return assert.equal(value, want, what);
  const { value_relative: relative, value_absolute: absolute } = tolerance;
  assert.ok(Math.abs(value - want) <= Math.max(relative * Math.abs(want), absolute), what);
}

test("conversion vectors – 4–20 mA loops", () => {
  assert.ok(vectors.loop_4_20ma.length > 30);
  for (const loop of vectors.loop_4_20ma) {
    const what = JSON.stringify(loop);
    const { milliamps, value, state } = loopValue(given(loop.volts), {
      low: loop.range_lo,
      high: loop.range_hi,
      resistorOhm: loop.resistor_ohm,
    });
    matches(value, loop.expected, what);
    assert.equal(state, loop.expected.state, what);
    if (loop.expected.ma === null || milliamps.value === null) {
      assert.equal(milliamps.value, loop.expected.ma, what);
    } else {
      assert.ok(Math.abs(milliamps.value - loop.expected.ma) <= tolerance.ma, what);
      assert.equal(milliamps.doubt, null, what);
    }
  }
});

test("conversion vectors – clamp currents of both modules", () => {
  assert.ok(vectors.current_clamp.length > 20);
  for (const current of vectors.current_clamp) {
    const what = JSON.stringify(current);
    const { clamp_a: clamp, v1, v2, expected } = current;
    if (v2 === undefined) {
      matches(clampValue(given(v1 ?? null), clamp), expected, what);
      continue;
    }
    const readings = { min: given(v2.min), max: given(v2.max), avg: given(v2.avg) };
    const parts = clampParts(readings, clamp);
    for (const part of ["min", "max", "avg"] as const) matches(parts[part], expected[part], what);
  }
});

test("conversion vectors – zones: a boundary belongs to the better one", () => {
  assert.ok(vectors.severity.length > 40);
  for (const { machine_class: machineClass, vel_rms_mm_s: velocity, zone } of vectors.severity) {
    assert.equal(zoneOf(velocity, VELOCITY_LIMITS[machineClass]), zone, machineClass);
  }
});

test("conversion vectors – unit factors, and the value of a tone in every unit", () => {
  const factors: Record<string, number> = {
    G: MM_S2_PER_G,
    "in/s": MM_PER_INCH,
    mil: UM_PER_MIL,
    Hz: CPM_PER_HZ,
  };
  for (const unit of vectors.units) {
    near(unit.in * (factors[unit.from] ?? Number.NaN), unit.out, unit.from);
  }
  for (const tone of vectors.tone_identities) {
    const amplitude = tone.tone_amp_g_peak ?? Number.NaN;
    const w = 2 * Math.PI * (tone.freq_hz ?? Number.NaN);
    near((amplitude * unitScale(2)) / w, tone.vel_mm_s_peak ?? null, "mm/s");
    near((amplitude * unitScale(2)) / w / Math.SQRT2, tone.vel_mm_s_rms ?? null, "mm/s RMS");
    near((amplitude * unitScale(3)) / w, tone.vel_in_s_peak ?? null, "in/s");
    near((amplitude * unitScale(4)) / w ** 2, tone.disp_um_peak ?? null, "um");
    near((2 * amplitude * unitScale(4)) / w ** 2, tone.disp_um_pp ?? null, "um p-p");
    near((2 * amplitude * unitScale(5)) / w ** 2, tone.disp_mils_pp ?? null, "mils p-p");
  }
});

test("conversion vectors – axis codes", () => {
  for (const { code, axis } of vectors.axis_codes) assert.equal(AXIS_CODES[axis], code);
});
