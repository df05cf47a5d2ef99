import assert from "node:assert/strict";
import { test } from "node:test";
import { niceStep } from "../../src/dashboard/format.ts";
import { sortedPeaks } from "../../src/dashboard/signal-specs.ts";
import { spectrumCursor } from "../../src/dashboard/spectrum-cursor.ts";
import {
  allLines,
  lineName,
  markerSets,
  turningRpm,
  turningWords,
} from "../../src/dashboard/spectrum-markers.ts";

const hz = (at: number) => `${at} Hz`;

test("cursor – harmonics are whole multiples of the pinned line, and the nearest one is named", () => {
  const { marks, words } = spectrumCursor("harmonic", hz)(75, 25);
  assert.deepEqual(
    marks.map(({ x }) => x),
    [25, 50, 75, 100, 125, 150, 175, 200, 225, 250],
  );
  assert.equal(words, "harmonics of 25 Hz, here 3.00");
});

test("cursor – sidebands are evenly spaced around the carrier, and none is below zero", () => {
  const { marks, words } = spectrumCursor("sideband", hz)(130, 100);
  assert.deepEqual(
    marks.map(({ x }) => x),
    [10, 40, 70, 100, 130, 160, 190, 220, 250],
  );
  assert.match(words, /every 30 Hz about 100 Hz/);
  assert.deepEqual(spectrumCursor("sideband", hz)(130, null).marks, []);
});

test("cursor – a single cursor shows its distance to the pinned line", () => {
  assert.equal(spectrumCursor("single", hz)(30, 50).words, "Δ 20 Hz to 50 Hz");
});

test("markers – are computed from the machine data and speed, the sensor's own bearing first", () => {
  const machine = {
    id: 1,
    lineHz: 50,
    blades: 6,
    teeth: [23],
    bearings: [
      { point: 1, name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04 },
      { point: 2, name: "own", bpfo: 3.58, bpfi: 5.42, bsf: 2.36, ftf: 0.4 },
    ],
  };
  const sets = markerSets(machine, 2);
  assert.deepEqual(
    sets.map(({ label }) => label).filter((label) => !label.includes(":")),
    [
      "Shaft orders",
      "Bearing own, point 2",
      "Bearing 6205, point 1",
      "Blade pass",
      "Gear mesh, 23 teeth",
      "Mains",
    ],
  );
  const lines = (label: string, speedHz: number | null) =>
    sets.find((set) => set.label === label)?.lines(speedHz) ?? [];
  assert.equal(lines("Bearing own, point 2", 10)[0]?.hz, 35.8);
  // 9/2·(1 − 7.94/39.04) turns.
  assert.ok(Math.abs((lines("Bearing 6205, point 1", 10)[0]?.hz ?? 0) - 35.848) < 0.001);
  assert.ok(Math.abs((lines("Bearing own, point 2: 2×BSF", 10)[0]?.hz ?? 0) - 47.2) < 1e-9);
  assert.deepEqual(
    lines("Blade pass", 25).map((line) => line.hz),
    [150, 300, 450],
  );
  // Without a speed only the mains is known.
  assert.deepEqual(lines("Bearing own, point 2", null), []);
  assert.equal(lines("Mains", null)[1]?.hz, 100);
});

test("peaks – are sorted by what is displayed, largest first", () => {
  const peaks = [
    { frequencyHz: 50, amplitude: 1 },
    { frequencyHz: 25, amplitude: 3 },
    { frequencyHz: 75, amplitude: 2 },
  ];
  const of = (...order: Parameters<typeof sortedPeaks>) =>
    sortedPeaks(...order).map(({ frequencyHz }) => frequencyHz);
  assert.deepEqual(of(peaks, "amplitude", false), [25, 75, 50]);
  assert.deepEqual(of(peaks, "frequency", true), [25, 50, 75]);
});

test("waterfall – the axis has round steps", () => {
  assert.deepEqual([0.3, 7, 130].map(niceStep), [0.5, 10, 200]);
});

test("markers – on another shaft orders, blades and bearings are that shaft's, by its speed; the others' have their names", () => {
  const machine = {
    id: 1,
    blades: 6,
    bearings: [
      { point: 1, name: "motor", bpfo: 3.58 },
      { point: 3, name: "fan", bpfo: 3 },
    ],
    shafts: [{ name: "fan", speedRatio: 0.5, points: [3], blades: 8 }],
  };
  const sets = markerSets(machine, 3);
  const lines = (label: string) => sets.find((set) => set.label === label)?.lines(10) ?? [];
  assert.deepEqual(
    lines("Orders of the fan")
      .slice(0, 2)
      .map(({ hz, label }) => [hz, label]),
    [
      [10, "1x of the fan"],
      [20, "2x"],
    ],
  );
  assert.deepEqual(lines("Orders of the measured shaft")[0], {
    hz: 20,
    label: "1x of the measured shaft",
  });
  assert.equal(lines("Blade pass")[0]?.hz, 80);
  assert.equal(lines("Bearing fan, point 3")[0]?.hz, 30);
  assert.equal(lines("Bearing motor, point 1")[0]?.hz, 71.6);
  assert.equal(
    turningWords({ speedRpm: 1480, shaft: { name: "fan", speedRpm: 786.6 } }),
    "787 rpm of the fan",
  );
  assert.equal(turningRpm({ speedRpm: 1480 }), 1480);
  // At the motor the fan is another.
  assert.ok(markerSets(machine, 1).some(({ label }) => label === "Orders of the fan"));
});

test("markers – of two equal names each carries its bearing and point; a name that one line has stays short", () => {
  const bearing = (point: number, name: string) => ({ point, name, bpfo: 3.58 + point / 10 });
  const names = (...bearings: ReturnType<typeof bearing>[]) =>
    allLines(markerSets({ id: 1, lineHz: 50, bearings }, 1), 10).map(({ label }) => label);
  assert.deepEqual(
    names(bearing(1, "6205"), bearing(2, "6208")).filter((name) => name.startsWith("BPFO")),
    ["BPFO of 6205, point 1", "BPFO of 6208, point 2"],
  );
  const alone = names(bearing(1, "6205"));
  assert.ok(alone.includes("BPFO") && alone.includes("1×mains"));
  assert.equal(new Set(alone).size, alone.length);
});

test("markers – a peak between two lines has the name that the plot draws, else that of the nearer one", () => {
  const [outer, inner] = [
    { hz: 266.2, label: "3·BPFO" },
    { hz: 268, label: "2·BPFI" },
  ];
  const named = (drawn: readonly (typeof outer)[]) =>
    lineName(267.25, 1.5625, [outer, inner], drawn);
  assert.deepEqual([named([]), named([outer]), named([inner])], ["2·BPFI", "3·BPFO", "2·BPFI"]);
  // Drawn, and not near.
  assert.equal(lineName(270, 1.5625, [outer], [outer]), null);
  assert.equal(
    lineName(100, 1, [
      { hz: 100, label: "4x" },
      { hz: 100, label: "BSF" },
    ]),
    "BSF",
  );
});
