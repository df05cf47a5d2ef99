/** Faults of the shaft with the ratios between directions and speeds that real rigs show. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  engineOf,
  MACHINE,
  type Record as MachineRecord,
  SENSOR,
  shaftRecord,
  siteOf,
} from "./support.ts";

const SPEEDS = [600, 900, 1200, 1500, 1800, 2100, 2400, 2700, 2850, 3000];
const MASSES = [1, 1.5, 2.5, 4];
type Axes = readonly ["H" | "V" | "A", "H" | "V" | "A", "H" | "V" | "A"];
type Directions = readonly [number, number, number];
type Lines = Readonly<globalThis.Record<number, Directions>>;

/** The same numbers in each run of the tests. */
function series(seed: number): (from: number, to: number) => number {
  let state = seed;
  return (from, to) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return from + ((to - from) * state) / 2 ** 32;
  };
}

/** 1x of each direction: at 600 r/min the other radial one has 3 to 20 %, from 2,400 on the axial one 0.5 to 2.1. */
function directionsAt(rpm: number, any: ReturnType<typeof series>): Directions {
  const other = rpm <= 900 ? any(0.03, 0.2) : any(0.4, 1);
  const axial = rpm >= 2400 ? any(0.5, 2.1) : any(0.05, 0.4);
  return any(0, 1) < 0.5 ? [1, other, axial] : [other, 1, axial];
}

interface Rig {
  readonly rpm: number;
  readonly directions: Directions;
  readonly healthy: Lines;
}

function rigAt(rpm: number): Rig {
  const any = series(rpm);
  const directions = directionsAt(rpm, any);
  const first = any(0.5, 1);
  const each = (least: number, most: number): Directions => [
    first * any(least, most),
    first * any(least, most),
    first * any(least, most),
  ];
  const [h, v, a] = directions;
  const healthy: globalThis.Record<number, Directions> = { 1: [first * h, first * v, first * a] };
  healthy[2] = each(0.2, 0.5);
  for (let order = 3; order <= 10; order++) healthy[order] = each(0.1, 0.3);
  healthy[0.5] = each(0.05, 0.1);
  healthy[1.5] = each(0.05, 0.1);
  return { rpm, directions, healthy };
}

/** A series of records whose lines sway by a tenth. */
function records(rpm: number, lines: Lines, count: number, seed = 1): MachineRecord[] {
  const any = series(seed * rpm);
  return Array.from({ length: count }, () =>
    shaftRecord(
      rpm,
      [0, 1, 2].map((axis) =>
        Object.fromEntries(
          Object.entries(lines).map(([order, of]) => [order, (of[axis] ?? 0) * any(0.9, 1.1)]),
        ),
      ),
    ),
  );
}

const unbalanced = ({ directions, healthy }: Rig, mass: number): Lines => {
  const [h = 0, v = 0, a = 0] = healthy[1] ?? [];
  const [dh, dv, da] = directions;
  return { ...healthy, 1: [h + 0.9 * mass * dh, v + 0.9 * mass * dv, a + 0.9 * mass * da] };
};

/** What a machine is told to have, by name with the worst stage. */
function told(
  series_: readonly MachineRecord[],
  axes: Axes | null = ["H", "V", "A"],
): globalThis.Record<string, number> {
  const channels =
    axes === null ? {} : Object.fromEntries(axes.map((axis, i) => [`channel${i + 1}`, { axis }]));
  const site = siteOf(MACHINE);
  const sensors = site.sensors.map((one) =>
    one.code === SENSOR.code ? { ...one, channels } : one,
  );
  const { engine, world, follow } = engineOf(MACHINE, { ...site, sensors });
  const names: globalThis.Record<string, number> = {};
  for (const [i, { speedRpm, tones, values }] of series_.entries()) {
    world.speedRpm = speedRpm;
    const turned = tones.map((one, t) => ({ ...one, axis: axes?.[t] ?? one.axis }));
    follow({ speedRpm, values, tones: turned }, i + 1);
    for (const { finding, stands, worstStage } of engine.of(SENSOR.code).states.values()) {
      if (stands !== null) names[finding] = worstStage;
    }
  }
  return names;
}

const RIGS = SPEEDS.map(rigAt);
const past = ({ rpm, healthy }: Rig) => records(rpm, healthy, 12);

for (const [how, axes, least] of [
  ["with their directions", ["H", "V", "A"], 30],
  ["without stated directions", null, 30],
  ["with an axial and a radial channel exchanged", ["A", "V", "H"], 20],
] as const) {
  test(`of 40 unbalanced runs ${how}, against their own past, ${least} are named and none wrongly`, () => {
    const runs = RIGS.flatMap((rig) =>
      MASSES.map((mass) =>
        told([...past(rig), ...records(rig.rpm, unbalanced(rig, mass), 8, 2)], axes),
      ),
    );
    const named = runs.filter((names) => "unbalance" in names).length;
    assert.ok(named >= least, `${named} of 40`);
    const wrong = runs
      .flatMap((names) => Object.keys(names))
      .filter((name) => name !== "unbalance");
    assert.deepEqual(wrong, []);
  });
}

/** A mass so heavy that clearances answer with harmonics, of which a resonance raises the fifth. */
const clattering = (rig: Rig, times: number): Lines => {
  const any = series(31 * rig.rpm + times);
  const [h, v, a] = unbalanced(rig, times)[1] ?? [0, 0, 0];
  const lines: globalThis.Record<number, Directions> = { ...rig.healthy, 1: [h, v, a] };
  for (let order = 2; order <= 10; order++) {
    const share = order === 2 ? any(0.1, 0.3) : order === 5 ? any(0.1, 0.3) : any(0.02, 0.1);
    lines[order] = [share * h, share * v, share * a];
  }
  return lines;
};

test("of 40 unbalances that raise 1x 8 to 40 times, with harmonics by clearances, 38 are named and none otherwise", () => {
  const runs = RIGS.flatMap((rig) =>
    [8, 12, 16, 22].map((times) =>
      told([...past(rig), ...records(rig.rpm, clattering(rig, times), 8, 2)]),
    ),
  );
  const named = runs.filter((names) => "unbalance" in names).length;
  const others = runs.flatMap((names) => Object.keys(names)).filter((name) => name !== "unbalance");
  assert.deepEqual(others, []);
  assert.ok(named >= 38, `${named} of 40`);
});

test("a machine that runs as it was learned has no fault of the shaft, at whatever speeds it was learned", () => {
  for (const rig of RIGS) {
    const now = records(rig.rpm, rig.healthy, 12, 3);
    assert.deepEqual(told([...past(rig), ...now]), {}, `${rig.rpm}`);
    assert.deepEqual(told(now), {}, `${rig.rpm} without a past`);
  }
  // One machine that goes through all its speeds: what it shows at the first is not its normal state at the last.
  const all = RIGS.flatMap(past);
  assert.deepEqual(
    told([...all, ...RIGS.flatMap(({ rpm, healthy }) => records(rpm, healthy, 6, 3))]),
    {},
  );
});

test("without a past, a fault of the shaft stays in stage 1", () => {
  for (const rig of RIGS) {
    const names = told(records(rig.rpm, unbalanced(rig, 6), 8, 2));
    assert.ok(
      Object.values(names).every((stage) => stage === 1),
      `${rig.rpm} ${JSON.stringify(names)}`,
    );
  }
});

test("a loose base, which raises 2x by 8 to 13 dB while the orders above it fall, is never called a misalignment", () => {
  let loose = 0;
  for (const axes of [["H", "V", "A"], null] as const) {
    for (const rig of RIGS) {
      const any = series(7 * rig.rpm);
      const times = 10 ** (any(8, 13) / 20);
      const lines = Object.fromEntries(
        Object.entries(rig.healthy).map(([order, [h, v, a]]): [string, Directions] => {
          if (order === "1") return [order, [1.2 * h, 1.2 * v, a]];
          if (order === "2") return [order, [h * times, v * times, a]];
          const left = any(0.4, 0.8);
          return [order, [h * left, v * left, a * left]];
        }),
      );
      const names = told([...past(rig), ...records(rig.rpm, lines, 8, 2)], axes);
      assert.ok(!("misalignment" in names) && !("unbalance" in names), `${rig.rpm}`);
      if ("looseness" in names) loose += 1;
    }
  }
  assert.ok(loose >= 4, `${loose} of 20`);
});

test("a sensor that is mounted otherwise than when the machine was learned shows no fault", () => {
  const rpm = 1500;
  const after = (normal: Lines, now: Lines, axes?: Axes | null) =>
    Object.keys(told([...records(rpm, normal, 12), ...records(rpm, now, 12, 2)], axes));
  // A public motor shows this after its bearings were replaced: 1x moved from one direction to another.
  const first: Lines = { 1: [2.1, 0.6, 0.3], 2: [0.3, 0.3, 0.1] };
  const second: Lines = { 1: [0.5, 0.5, 0.2], 2: [1.9, 0.3, 0.2], 3: [0.6, 0.1, 0.1] };
  const firstMoved: Lines = { ...first, 1: [0.8, 2, 0.3] };
  const secondMoved: Lines = { ...second, 2: [0.4, 1.9, 0.2], 3: [0.1, 0.6, 0.1] };
  const secondAlong: Lines = { ...second, 2: [0.4, 0.3, 1.9] };
  for (const axes of [["H", "V", "A"], null] as const) {
    assert.deepEqual(after(first, firstMoved, axes), []);
    assert.deepEqual(after(second, secondMoved, axes), []);
    assert.deepEqual(after(second, secondAlong, axes), []);
  }
  // What grew in one direction, and stands in the others as it did, is the machine's.
  assert.deepEqual(after(first, { ...first, 1: [2.1, 2.6, 0.3] }), ["unbalance"]);
  assert.deepEqual(after(second, { ...second, 2: [1.9, 2.1, 0.2], 3: [0.6, 0.6, 0.1] }), [
    "misalignment",
  ]);
});
