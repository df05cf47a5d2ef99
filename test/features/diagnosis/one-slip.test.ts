/** Faults of one bearing share its cage, and so its slip. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bearing } from "../../../src/core/machine.ts";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { explains } from "../../../src/features/diagnosis/rules/line-series.ts";
import { type DrawnLine, SENSOR, toneList } from "./support.ts";

const SHAFT_HZ = 30;
const LINES_HZ = 0.5;
const B6203: Bearing = { point: 1, name: "6203", bpfo: 3.053, bpfi: 4.947, bsf: 1.994, ftf: 0.382 };

interface Drawn {
  readonly white?: readonly DrawnLine[];
  readonly spread?: readonly DrawnLine[];
  readonly bearing?: Bearing;
  /** Of the line that the shaft has, multiple of the measured speed. */
  readonly shaftAt?: number;
  readonly shaftHz?: number;
  readonly linesHz?: number;
}

function found({
  white = [],
  spread = [],
  bearing = B6203,
  shaftAt = 1,
  shaftHz = SHAFT_HZ,
  linesHz = LINES_HZ,
}: Drawn): string[] {
  const listOf = (lines: readonly DrawnLine[]) => toneList(shaftHz, linesHz, lines);
  const tones = {
    accel: listOf([[shaftAt, 0.02, 30]]),
    envelope: null,
    white: listOf(white),
    spread: listOf(spread),
  };
  const { verdicts } = judge(
    { tones: [{ channel: 1, axis: "H", durationS: 2, isClipped: false, tones }], values: {} },
    {
      machine: { id: 40, speed: { sensor: "50021" }, bearings: [bearing] },
      sensor: SENSOR,
      speedRpm: 60 * shaftHz,
      state: "running",
      isHeld: () => false,
    },
  );
  return verdicts.map(({ finding }) => finding);
}

/** Harmonics of a series that fall, as shares of the envelope's mean. */
const series = (order: number, first: number, count = 3): DrawnLine[] =>
  Array.from({ length: count }, (_, i): DrawnLine => {
    const amplitude = first * 0.7 ** i;
    return [(i + 1) * order, amplitude, 60 * amplitude];
  });

test("the inner race slips by as many hertz as the outer one, which is less of its frequency", () => {
  assert.deepEqual(found({ white: series(4.99, 0.3) }), ["bearing_inner_race"]);
  assert.deepEqual(found({ white: series(5.035, 0.3) }), []);
  assert.deepEqual(found({ white: series(3.11, 0.3) }), ["bearing_outer_race"]);
  // A speed that is doubted moves both races alike.
  assert.deepEqual(found({ white: series(5.035, 0.3), shaftAt: 1.022 }), ["bearing_inner_race"]);
});

test("once one race is seen, the other is looked for where the same cage puts it", () => {
  const outer = series(3.1, 0.4);
  assert.deepEqual(found({ white: [...outer, ...series(4.95, 0.2)] }), ["bearing_outer_race"]);
  assert.deepEqual(found({ white: [...outer, ...series(4.902, 0.2)] }), [
    "bearing_outer_race",
    "bearing_inner_race",
  ]);
  const inner = series(4.89, 0.4);
  assert.deepEqual(found({ white: [...inner, ...series(3.03, 0.2)] }), ["bearing_inner_race"]);
});

test("a line of an inner race that a line of the outer one surpasses, two turns below, is a side band of that", () => {
  const bearing: Bearing = { point: 1, name: "B", bpfo: 3.46, bpfi: 5.54 };
  const inner: readonly DrawnLine[] = [
    [5.52, 0.2, 12],
    [11.04, 0.15, 8],
  ];
  assert.deepEqual(found({ white: inner, bearing }), ["bearing_inner_race"]);
  assert.deepEqual(found({ white: [[3.52, 0.3, 15], ...inner], bearing }), []);
  assert.deepEqual(found({ white: [[3.52, 0.1, 6], ...inner], bearing }), ["bearing_inner_race"]);
});

test("a cage that skids by up to four per cent is believed where three harmonics fit and lead", () => {
  assert.deepEqual(found({ white: series(2.945, 0.3) }), ["bearing_outer_race"]);
  assert.deepEqual(found({ white: series(2.945, 0.3, 2) }), []);
  assert.deepEqual(found({ white: [...series(2.945, 0.3), [7.33, 0.35, 20]] }), []);
  assert.deepEqual(found({ white: series(2.91, 0.3) }), []);
});

test("a line raises every band that reaches it: what explains it explains those", () => {
  const race = { hz: 30 * 4.947, isCage: false };
  const at = (hz: number, bandHz?: number) =>
    explains(
      { shaftHz: SHAFT_HZ },
      { resolutionHz: LINES_HZ, ...(bandHz === undefined ? {} : { bandHz }) },
      race,
      0.382,
      hz,
    );
  const beside = 2 * race.hz - 2 * SHAFT_HZ;
  assert.ok(at(beside + 0.4));
  assert.ok(!at(beside + 2));
  assert.ok(at(beside + 2, 0.01 * beside));
});

test("in bands, an element needs its first or second line outside the series of a race", () => {
  const race = series(4.947, 0.4, 4);
  const bearing: Bearing = { ...B6203, bsf: 1.95 };
  const told = (spread: readonly DrawnLine[], more: Partial<Drawn> = {}) =>
    found({ white: race, spread, bearing, ...more });
  // The first band is reached by 1x below the race.
  assert.deepEqual(
    told([
      [3.897, 0.25, 14],
      [11.69, 0.15, 8],
    ]),
    ["bearing_inner_race"],
  );
  // The first two are reached, the third and the sixth are not.
  assert.deepEqual(
    told(
      [
        [3.91, 0.25, 14],
        [7.82, 0.2, 10],
        [11.68, 0.2, 10],
        [23.36, 0.2, 10],
      ],
      { shaftHz: 10, linesHz: 0.1 },
    ),
    ["bearing_inner_race"],
  );
  const apart: Bearing = { ...B6203, bsf: 1.7 };
  assert.deepEqual(
    told(
      [
        [3.4, 0.25, 14],
        [6.8, 0.2, 10],
      ],
      { bearing: apart },
    ),
    ["bearing_inner_race", "rolling_element"],
  );
});
