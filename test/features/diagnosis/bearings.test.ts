import assert from "node:assert/strict";
import { test } from "node:test";
import { type JudgeInput, judge } from "../../../src/features/diagnosis/rules/judge.ts";
import type { FaultKind, FaultyMachine } from "../../support/machines/machine-fault.ts";
import { MACHINE, PLANT, recordOf, SENSOR } from "./support.ts";

const BEARINGS = {
  "6205": { balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 },
  "6310": { balls: 8, ballMm: 19.05, pitchMm: 80, angleDeg: 0 },
  "NU 216": { balls: 18, ballMm: 16, pitchMm: 110, angleDeg: 0 },
  "22220": { balls: 19, ballMm: 19, pitchMm: 141, angleDeg: 10 },
} as const;

interface Given {
  readonly bearing: keyof typeof BEARINGS;
  readonly speedRpm: number;
  /** Of the plant: it decides the slip. */
  readonly seed: number;
}

/** What a machine's record of 3 × 4096 samples, at 3200 Hz if nothing else is said, shows. */
function judged(
  { bearing, speedRpm, seed }: Given,
  condition: { readonly fault: FaultKind | null; readonly severity: number },
  n: number,
  over: Partial<JudgeInput> = {},
  sampleRateHz = 3200,
) {
  const geometry = BEARINGS[bearing];
  const teeth = speedRpm > 2000 ? [17, 61] : [23, 71];
  const plant: FaultyMachine = { ...PLANT, seed, speedRpm, teeth, bearing: geometry };
  const machine = { ...MACHINE, teeth, bearings: [{ point: 1, name: bearing, ...geometry }] };
  const record = recordOf(condition, n, 4096, plant, sampleRateHz);
  const { verdicts, cannot } = judge(record, {
    machine,
    sensor: SENSOR,
    speedRpm: record.speedRpm,
    state: "running",
    isHeld: () => false,
    ...over,
  });
  const why = (finding: string) => cannot.find((one) => one.finding === finding);
  return { found: verdicts.map(({ finding }) => finding), verdicts, why };
}

const DAYS = Array.from({ length: 20 }, (_, n) => n);
const times = (days: readonly { found: readonly string[] }[], finding: string) =>
  days.filter(({ found }) => found.includes(finding)).length;

test("an inner race whose line slip has moved onto an order is found by its higher harmonics", () => {
  // BPFI of 4.953x slips to 4.989x, half a line from 5x; its third harmonic lies 1.6 lines from 15x.
  const given = { bearing: "6310", speedRpm: 2478, seed: 4_028_184_430 } as const;
  const days = DAYS.map((n) => judged(given, { fault: "inner_race", severity: 0.3 }, n));
  assert.ok(times(days, "bearing_inner_race") >= 8, `${times(days, "bearing_inner_race")}`);
  // Random slip decides how far apart they are in one record; if they are too close, the reason says so.
  for (const { found, why } of days) {
    if (found.length > 0) assert.deepEqual(found, ["bearing_inner_race"]);
    else assert.equal(why("bearing_inner_race")?.reason, "resolution_coarse");
  }
});

test("a line that no harmonic distinguishes from an order is reported as ambiguous", () => {
  // BPFI slips to 4.998x.
  const given = { bearing: "6310", speedRpm: 2950, seed: 1_401_384_991 } as const;
  const days = DAYS.map((n) => judged(given, { fault: "inner_race", severity: 0.25 }, n));
  const unsure = days.filter(({ found }) => found.length === 0);
  assert.ok(unsure.length >= 15, `${unsure.length}`);
  assert.ok(days.every(({ found }) => found.every((name) => name === "bearing_inner_race")));
  for (const { why } of unsure) {
    assert.equal(why("bearing_inner_race")?.reason, "resolution_coarse");
    assert.match(why("bearing_inner_race")?.text ?? "", /line at 5x \(24\d\.\d Hz\) may be BPFI/);
  }
});

test("orders in the envelope of a loose machine are no bearing fault", () => {
  for (const speedRpm of [742, 1480, 2950]) {
    for (const n of DAYS) {
      const given = { bearing: "6310", speedRpm, seed: n } as const;
      const { found } = judged(given, { fault: "looseness", severity: 0.9 }, n);
      assert.ok(!found.some((finding) => /bearing|element|cage/.test(finding)), `${n}: ${found}`);
    }
  }
});

test("a side band of an inner race on 2 × BSF or BPFO is none of theirs", () => {
  // BPFI - 1x lies at 3.92x, 2 × BSF at 3.96x.
  const given = { bearing: "6310", speedRpm: 2950, seed: 3_112_135_535 } as const;
  const days = DAYS.map((n) => judged(given, { fault: "inner_race", severity: 0.3 }, n));
  assert.equal(times(days, "bearing_inner_race"), DAYS.length);
  assert.equal(times(days, "rolling_element"), 0);
});

test("an outer race whose second harmonic is out of range is found by side bands of the shaft", () => {
  const given = { bearing: "NU 216", speedRpm: 2985, seed: 623_245_335 } as const;
  const days = DAYS.map((n) => judged(given, { fault: "outer_race", severity: 0.4 }, n));
  assert.ok(times(days, "bearing_outer_race") >= 18, `${times(days, "bearing_outer_race")}`);
});

test("above half of the envelope's band, a bearing fault that shows no line cannot be determined", () => {
  const given = { bearing: "NU 216", speedRpm: 2985, seed: 1 } as const;
  const healthy = { fault: null, severity: 0 } as const;
  const { found, why } = judged(given, healthy, 1);
  assert.deepEqual(found, []);
  assert.equal(why("bearing_outer_race")?.reason, "sample_rate_low");
  assert.match(why("bearing_outer_race")?.text ?? "", /above 375 Hz/);
  // One that stands has been seen at this frequency: without its line it is on its way out.
  assert.equal(
    judged(given, healthy, 1, { isHeld: () => true }).why("bearing_outer_race"),
    undefined,
  );
});

test("where a record ends below what bearings ring at, a fault that shows no line cannot be determined", () => {
  const given = { bearing: "6205", speedRpm: 1480, seed: 1 } as const;
  const healthy = { fault: null, severity: 0 } as const;
  const { found, why } = judged(given, healthy, 1);
  assert.deepEqual(found, []);
  assert.equal(why("bearing_outer_race")?.reason, "sample_rate_low");
  assert.match(why("bearing_outer_race")?.text ?? "", /ring above 1250 Hz/);
  const outer = judged(given, { fault: "outer_race", severity: 0.4 }, 1);
  assert.deepEqual(
    [outer.found, outer.why("bearing_outer_race")],
    [["bearing_outer_race"], undefined],
  );
  const higher = judged(given, healthy, 1, {}, 6400).why("bearing_outer_race");
  assert.equal(higher?.reason, "below_depth");
});

test("lines at the cage's frequency are no cage fault where the element's own line is out of sight", () => {
  const given = { bearing: "22220", speedRpm: 3560, seed: 1_806_032_509 } as const;
  const days = DAYS.map((n) => judged(given, { fault: "rolling_element", severity: 0.4 }, n));
  assert.equal(times(days, "cage"), 0);
});

test("lines at the cage's frequency are no cage fault where the element's own line lies on an order", () => {
  const given = { bearing: "6310", speedRpm: 1470, seed: 2_021_248_492 } as const;
  const days = DAYS.map((n) => judged(given, { fault: "rolling_element", severity: 0.2 }, n));
  assert.equal(times(days, "cage"), 0);
});

test("a harmonic of the cage on 2 × BSF is no element", () => {
  for (const seed of DAYS) {
    const given = { bearing: "6205", speedRpm: 1480, seed } as const;
    const { found } = judged(given, { fault: "cage", severity: 0.3 }, seed);
    assert.deepEqual(found, ["cage"], `${seed}`);
  }
});
