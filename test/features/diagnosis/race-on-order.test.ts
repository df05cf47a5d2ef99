import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bearing, Machine } from "../../../src/core/machine.ts";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { type DrawnLine, MACHINE, SENSOR, shaftRecord, toneList } from "./support.ts";

const B6203: Bearing = { point: 1, name: "6203", bpfo: 3.053, bpfi: 4.947, bsf: 1.994, ftf: 0.382 };
const { blades: _blades, teeth: _teeth, ...BARE } = MACHINE;
const PLAIN: Machine = { ...BARE, bearings: [B6203] };
const RPM = 1480;
/** Two thirds of a line from 3x: slip of one percent, and 3 Hz between lines. */
const WORN: readonly DrawnLine[] = [
  [3.022, 0.3, 14],
  [6.044, 0.22, 9],
  [9.066, 0.15, 6],
  [12.088, 0.1, 4],
];

/** @param lines of the whitened envelope, amplitudes as shares of its mean */
function judged(lines: readonly DrawnLine[], machine: Machine = PLAIN) {
  const record = shaftRecord(RPM, [{ 1: 0.6 }]);
  const tones = record.tones.map((axis) => {
    const { accel } = axis.tones ?? {};
    assert.ok(accel !== undefined);
    return { ...axis, tones: { accel, envelope: null, white: toneList(RPM / 60, 3.1, lines) } };
  });
  const around = { machine, sensor: SENSOR, speedRpm: RPM, state: "running" as const };
  return judge({ tones, values: record.values }, { ...around, isHeld: () => false });
}

const names = (lines: readonly DrawnLine[], machine?: Machine) =>
  judged(lines, machine).verdicts.map(({ finding }) => finding);

test("a worn outer race on 3x that the lines cannot part from it is found: 1x, 2x, 4x and 5x are not there", () => {
  assert.deepEqual(names(WORN), ["bearing_outer_race"]);
  // A load that turns with the shaft gives faint side bands.
  assert.deepEqual(names([...WORN, [1, 0.1, 4], [2.02, 0.08, 3.5], [4.02, 0.08, 3.5]]), [
    "bearing_outer_race",
  ]);
});

test("orders of the shaft are none: with their neighbours, of blades or teeth of that number, or of the supply", () => {
  const orders = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n): DrawnLine => [n, 0.3 / Math.sqrt(n), 9]);
  assert.deepEqual(names(orders), []);
  for (const machine of [
    { ...PLAIN, blades: 3 },
    { ...PLAIN, blades: 6 },
    { ...PLAIN, teeth: [9] },
    { ...PLAIN, lineHz: 37 },
  ]) {
    assert.deepEqual(names(WORN, machine), []);
  }
  // One line with its double says too little.
  assert.deepEqual(names(WORN.slice(0, 2)), []);
});

test("a line on an order that may be a race's is told as such, also in the whitened envelope", () => {
  const { cannot } = judged(WORN.slice(0, 2));
  const own = cannot.find(({ finding }) => finding === "bearing_outer_race");
  assert.equal(own?.reason, "resolution_coarse");
});

test("an inner race has side bands, and its load turns with the shaft", () => {
  const race: DrawnLine[] = [
    [1, 0.3, 12],
    [2, 0.15, 6],
    [4, 0.12, 5],
    [4.98, 0.3, 12],
    [6, 0.12, 5],
    [9.96, 0.2, 8],
    [14.94, 0.12, 5],
  ];
  assert.deepEqual(names(race), ["bearing_inner_race"]);
  assert.deepEqual(names([...race, [3, 0.2, 8]]), []);
});

test("a series that repeats at a multiple of a bearing's frequency is a wheel's or blades', and no bearing's", () => {
  // 12.18x and its double: three times 2 × BSF of a 6322, whose own line lies on 4x.
  const b6322: Bearing = { point: 1, name: "6322", balls: 8, ballMm: 41.28, pitchMm: 175 };
  const record = shaftRecord(2230, [{ 1: 0.3, 12.18: 1.3, 24.36: 0.9 }]);
  const { verdicts } = judge(record, {
    machine: { ...BARE, bearings: [b6322] },
    sensor: SENSOR,
    speedRpm: 2230,
    state: "running",
    isHeld: () => false,
  });
  assert.deepEqual(verdicts, []);
});
