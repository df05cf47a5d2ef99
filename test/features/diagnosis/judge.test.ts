import assert from "node:assert/strict";
import { test } from "node:test";
import { bearingOrders } from "../../../src/core/bearing-orders.ts";
import { type JudgeInput, judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { learn, type Reference } from "../../../src/features/diagnosis/rules/reference.ts";
import {
  around,
  learned,
  MACHINE,
  normalState,
  orderAmplitudes,
  PLANT,
  raised,
  recordOf,
  SENSOR,
  shaftRecord,
} from "./support.ts";

const NORMAL = normalState();

function found(record: ReturnType<typeof recordOf>, over: Partial<JudgeInput> = {}): string[] {
  return judge(record, around(record.speedRpm, over)).verdicts.map(({ finding }) => finding);
}

test("a machine without speed says that findings need it, and finds nothing", () => {
  const { speed: _, ...machine } = MACHINE;
  const record = recordOf({ fault: "unbalance", severity: 0.9 });
  const judgement = judge(record, around(null, { machine }));
  assert.deepEqual(judgement.verdicts, []);
  assert.deepEqual(judgement.judged, []);
  assert.equal(judgement.cannot[0]?.reason, "speed_unknown");
  assert.match(judgement.cannot[0]?.text ?? "", /need the shaft speed/);
});

test("an unknown speed, a stopped machine and an unknown state find nothing and say which", () => {
  const record = recordOf({ fault: "unbalance", severity: 0.9 });
  const reason = (speedRpm: number | null, over: Partial<JudgeInput> = {}) => {
    const judgement = judge(record, around(speedRpm, over));
    assert.deepEqual(judgement.verdicts, []);
    return judgement.cannot[0]?.reason;
  };
  assert.equal(reason(null), "speed_unknown");
  assert.equal(reason(0), "machine_standing");
  assert.match(judge(record, around(20)).cannot[0]?.text ?? "", /speed of 20 r\/min is below 30/);
  assert.equal(reason(1480, { state: "standing" }), "machine_standing");
  assert.equal(reason(1480, { state: "unknown" }), "state_unknown");
});

test("a short record says that it is too short, with the required length", () => {
  const record = recordOf({ fault: "unbalance", severity: 0.9 }, 1, 1024);
  const { cannot, verdicts } = judge(record, around(record.speedRpm));
  assert.deepEqual(verdicts, []);
  assert.equal(cannot[0]?.reason, "record_short");
  assert.match(cannot[0]?.text ?? "", /3\.9 revolutions/);
});

test("a resolution too coarse to separate the mains from the shaft is reported", () => {
  // 4x lies at 99.67 Hz, a fifth of a line from twice the mains frequency.
  const record = recordOf({ fault: "electrical", severity: 0.9 }, 1, 4096, {
    ...PLANT,
    speedRpm: 1496,
  });
  const { cannot, verdicts } = judge(record, around(record.speedRpm));
  assert.deepEqual(verdicts, []);
  const own = cannot.find(({ finding }) => finding === "electrical");
  assert.equal(own?.reason, "resolution_coarse");
});

test("blade pass on twice the mains frequency cannot be determined", () => {
  const plant = { ...PLANT, speedRpm: 1190, blades: 5 };
  const machine = { ...MACHINE, blades: 5 };
  const record = recordOf({ fault: "blade_pass", severity: 0.9 }, 1, 4096, plant);
  const { cannot, verdicts, judged } = judge(record, around(record.speedRpm, { machine }));
  assert.ok(!verdicts.some(({ finding }) => finding === "blade_pass"));
  assert.ok(!judged.includes("blade_pass"));
  const own = cannot.find(({ finding }) => finding === "blade_pass");
  assert.equal(own?.reason, "resolution_coarse");
});

test("what was seen at full speed is held at a lower one against a limit lowered with its square", () => {
  const slow = recordOf({ fault: "misalignment", severity: 0.7 }, 1, 8192, {
    ...PLANT,
    speedRpm: 1480 * 0.8,
    zoneD: 4.5 * 0.8 ** 2,
  });
  const seen = { fullRpm: (key: string) => (key === "misalignment" ? 1480 : null) };
  assert.deepEqual(found(slow), []);
  assert.deepEqual(found(slow, seen), ["misalignment"]);
  // One that falls faster than the forces do is mended.
  const mended = recordOf({ fault: "misalignment", severity: 0.7 }, 1, 8192, {
    ...PLANT,
    speedRpm: 1480 * 0.8,
    zoneD: 4.5 * 0.4,
  });
  assert.deepEqual(found(mended, seen), []);
});

test("a line exactly at twice the mains frequency is distinguished from an order one line away, and an order is not mains", () => {
  // Lines of 1.56 Hz: 4x lies at 98.5 Hz, one of them below.
  assert.deepEqual(found(recordOf({ fault: "electrical", severity: 0.9 }, 1, 4096)), [
    "electrical",
  ]);
  for (let n = 0; n < 10; n++) {
    const loose = found(recordOf({ fault: "looseness", severity: 1.2 }, n, 4096));
    assert.ok(!loose.includes("electrical"), `${n}: ${loose}`);
  }
});

test("2x beside twice a mains frequency that nobody stated is no misalignment, and that is said", () => {
  const { lineHz: _, ...machine } = MACHINE;
  const lines = [
    { 1: 0.6, 2: 3 },
    { 1: 0.6, 2: 2 },
    { 1: 0.3, 2: 1.5 },
  ];
  const at = (rpm: number) => {
    const reference = {
      speeds: learned(0.6, 0.2, 0.1).speeds.map((one) => ({ ...one, rpm })),
    };
    return judge(shaftRecord(rpm, lines), around(rpm, { machine, reference }));
  };
  for (const [rpm, supply] of [
    [2985, 50],
    [3585, 60],
  ] as const) {
    const { verdicts, cannot } = at(rpm);
    assert.deepEqual(verdicts, []);
    const why = cannot.find(({ finding }) => finding === "misalignment");
    assert.equal(why?.reason, "resolution_coarse");
    assert.match(why?.text ?? "", new RegExp(`mains at ${supply} Hz`));
  }
  assert.equal(at(2900).verdicts[0]?.finding, "misalignment");
});

test("twice the mains frequency is not an order of a shaft that turns a little slower", () => {
  // 2x at 98.3 Hz: within the tolerance of a speed that was measured a minute ago.
  const machine = { ...PLANT, speedRpm: 2950 };
  for (let n = 0; n < 10; n++) {
    const record = recordOf({ fault: "electrical", severity: 0.8 }, n, 8192, machine);
    assert.deepEqual(found(record), ["electrical"], `${n}`);
  }
});

test("a gear is found at every speed of a drive, even if the shaft's own line is weak", () => {
  const machine = { ...PLANT, speedSwing: 0.3 };
  const records = Array.from({ length: 20 }, (_, n) =>
    found(recordOf({ fault: "gear_mesh", severity: 0.75 }, n, 8192, machine), {
      reference: NORMAL,
    }),
  );
  const seen = records.filter((findings) => findings.includes("gear_mesh")).length;
  assert.ok(seen >= 19, `${seen} of 20`);
});

test("a cage harmonic on BPFO is not an outer race fault", () => {
  const bearing = { balls: 8, ballMm: 19.05, pitchMm: 80, angleDeg: 0 };
  const machine = { ...MACHINE, bearings: [{ point: 1, name: "6310", ...bearing }] };
  for (const speedRpm of [985, 1480]) {
    for (let n = 0; n < 10; n++) {
      const plant = { ...PLANT, bearing, speedRpm };
      const cage = found(recordOf({ fault: "cage", severity: 0.2 }, n, 8192, plant), { machine });
      assert.ok(!cage.includes("bearing_outer_race"), `${speedRpm} ${n}: ${cage}`);
      const race = found(recordOf({ fault: "outer_race", severity: 0.2 }, n, 8192, plant), {
        machine,
      });
      assert.ok(race.includes("bearing_outer_race"), `${speedRpm} ${n}: ${race}`);
    }
  }
});

test("an overloaded sensor finds nothing", () => {
  const record = recordOf({ fault: "unbalance", severity: 0.9 });
  const tones = record.tones.map((axis) => ({ ...axis, isClipped: true }));
  const { cannot, verdicts } = judge({ ...record, tones }, around(record.speedRpm));
  assert.deepEqual(verdicts, []);
  assert.equal(cannot[0]?.reason, "overloaded");
  // One axis is dead, the others are overloaded: nothing was looked for.
  const dead = tones.map((axis, i) =>
    i === 1 ? { ...axis, isClipped: false, tones: null } : axis,
  );
  const judgement = judge({ ...record, tones: dead }, around(record.speedRpm));
  assert.deepEqual([judgement.verdicts, judgement.judged], [[], []]);
  assert.equal(judgement.cannot[0]?.reason, "overloaded");
});

test("healthy machines, bad days and knocked sensors show no fault", () => {
  for (let n = 0; n < 20; n++) {
    const machine = { ...PLANT, seed: n };
    assert.deepEqual(found(recordOf({}, n, 8192, machine)), [], `healthy ${n}`);
    assert.deepEqual(found(recordOf({ isBadDay: true }, n, 8192, machine)), [], `bad day ${n}`);
    assert.deepEqual(found(recordOf({ isKnocked: true }, n, 8192, machine)), [], `knocked ${n}`);
  }
});

const FAULTS = [
  ["unbalance", "unbalance", 0.6],
  ["misalignment", "misalignment", 0.7],
  ["looseness", "looseness", 0.5],
  ["outer_race", "bearing_outer_race", 0.2],
  ["inner_race", "bearing_inner_race", 0.2],
  ["rolling_element", "rolling_element", 0.2],
  ["cage", "cage", 0.2],
  ["blade_pass", "blade_pass", 0.6],
  ["gear_mesh", "gear_mesh", 0.5],
  ["electrical", "electrical", 0.6],
] as const;

for (const [fault, finding, severity] of FAULTS) {
  test(`${fault} is identified as itself and as nothing else`, () => {
    const record = recordOf({ fault, severity }, 3);
    const judgement = judge(record, around(record.speedRpm * 1.0005, { reference: NORMAL }));
    assert.deepEqual(
      judgement.verdicts.map((verdict) => verdict.finding),
      [finding],
    );
    const [verdict] = judgement.verdicts;
    assert.ok(verdict !== undefined && verdict.lines.length > 0);
    assert.ok(verdict.level >= verdict.limit);
    for (const line of verdict.lines) {
      assert.ok(line.amplitude > 0 && line.ratio >= 3, line.name);
      assert.ok(Math.abs(line.order - (line.hz * 60) / record.speedRpm) < 0.01 * line.order);
    }
  });
}

test("a fault of the shaft says what rose since the machine was learned; without that it stays in stage 1, from zone C on", () => {
  const fault = { fault: "unbalance", severity: 1 } as const;
  const verdictOf = (severity: number, reference: Reference | null) => {
    const record = recordOf({ ...fault, severity }, 3);
    return judge(record, around(record.speedRpm, { reference })).verdicts[0];
  };
  const known = verdictOf(1, NORMAL);
  assert.equal(known?.finding, "unbalance");
  assert.equal(known?.stage, 2);
  assert.equal((known?.normal ?? Number.NaN) < 0.5 * (known?.level ?? 0), true, `${known?.normal}`);
  const unknown = verdictOf(1, null);
  assert.equal(unknown?.finding, "unbalance");
  assert.equal(unknown?.stage, 1);
  assert.equal(unknown?.normal, null);
  assert.equal(verdictOf(0.5, null), undefined);
});

test("what a machine has shown since it was learned is its normal state", () => {
  // 1x in zone B from the first reading on.
  const plain = { fault: "unbalance", severity: 0.35 } as const;
  let reference: Reference | null = null;
  for (let n = 0; n < 10; n++) {
    const record = recordOf(plain, n);
    reference = learn(reference, judge(record, around(record.speedRpm)).levels, 1480);
  }
  assert.deepEqual(found(recordOf({ ...plain, severity: 0.45 }, 11), { reference }), []);
  assert.deepEqual(found(recordOf({ ...plain, severity: 0.9 }, 12), { reference }), ["unbalance"]);
  // A machine in zone C is nobody's normal state.
  const record = recordOf({ ...plain, severity: 1 }, 13);
  assert.equal(judge(record, around(record.speedRpm)).levels, null);
});

test("axes whose directions the site file does not state lead to no axial verdict", () => {
  const record = recordOf({ fault: "unbalance", severity: 1 }, 3);
  // The sensor is mounted with its third axis across the shaft.
  const turned = {
    ...record,
    tones: record.tones.map((axis) => ({ ...axis, axis: "A" as const })),
  };
  const verdicts = (channels: typeof SENSOR.channels) =>
    found(turned, { reference: NORMAL, sensor: { ...SENSOR, channels } });
  assert.deepEqual(verdicts({}), ["unbalance"]);
});

test("1x that rose along the shaft alone is told as ambiguous, and names nothing", () => {
  const record = recordOf({ fault: "unbalance", severity: 1 }, 3);
  const [across, , along] = record.tones;
  assert.ok(across !== undefined && along !== undefined);
  const turned = {
    ...record,
    tones: [
      { ...across, axis: "A" },
      { ...along, axis: "H" },
    ] as const,
  };
  const { verdicts, cannot } = judge(turned, around(record.speedRpm, { reference: NORMAL }));
  assert.deepEqual(verdicts, []);
  const told = cannot.filter(({ reason }) => reason === "ambiguous").map(({ finding }) => finding);
  assert.deepEqual(told, ["unbalance", "misalignment"]);
});

test("2x that rose across the shaft is a loose base's only where the orders above it fell", () => {
  const seen = recordOf({ fault: "misalignment", severity: 0.9 }, 3);
  const across = { 1: [1, 1, 0.05], 2: [1, 1, 0.05] };
  const of = (third: readonly number[], first = [1, 1, 0.05]) =>
    raised(seen, { ...across, 1: first, 3: third });
  const quiet = { reference: learned(0.2, 0.2, 0.02) };
  assert.deepEqual(found(seen, quiet), ["misalignment"]);
  const reasons = (record: typeof seen) =>
    judge(record, around(record.speedRpm, quiet)).cannot.map(({ finding }) => finding);
  assert.ok(!reasons(seen).includes("looseness"));
  // Along the shaft too, without 3x: if that is another axis, it may be a loose base.
  const along = raised(seen, { 2: [1, 1, 2], 3: [0.01, 0.01, 0.01] });
  assert.deepEqual(found(along, quiet), ["misalignment"]);
  assert.ok(reasons(along).includes("looseness"));
  const strong = { reference: learned(0.2, 0.2, 0.6) };
  const still = [0.74, 0.76, 0.94];
  // A parallel misalignment need not raise 3x, and 3x of the machine itself would hide it.
  const open = [
    [of([0.01, 0.01, 0.01]), quiet],
    [of(still), strong],
    [of(still, [0.1, 0.2, 0.1]), strong],
  ] as const;
  for (const [record, past] of open) {
    const { verdicts, cannot, judged } = judge(record, around(record.speedRpm, past));
    assert.deepEqual(verdicts, []);
    const told = cannot.filter(({ reason }) => reason === "ambiguous");
    assert.deepEqual(
      told.map(({ finding }) => finding),
      ["misalignment", "looseness"],
    );
    // Such a reading interrupts what is no finding yet.
    assert.ok(judged.includes("misalignment") && judged.includes("looseness"));
  }
  for (const first of [undefined, [0.1, 0.2, 0.1]]) {
    const fallen = of([0.3, 0.3, 0.3], first);
    assert.deepEqual(found(fallen, strong), ["looseness"]);
    // What is normal at another speed counts double, and orders of a drive fall with its speed.
    const { speeds } = strong.reference;
    const faster = speeds.map((one) => ({ ...one, rpm: 1.1 * one.rpm }));
    for (const others of [faster, [...speeds, ...faster]])
      assert.deepEqual(found(fallen, { reference: { speeds: others } }), []);
    // A sensor of two axes does not see what rose along the shaft.
    const two = { ...fallen, tones: fallen.tones.slice(0, 2) };
    assert.deepEqual(found(two, strong), []);
  }
});

test("2x of two blades is not looked at for a misalignment, and that is said", () => {
  const record = recordOf({ fault: "misalignment", severity: 0.9 }, 3);
  const machine = { ...MACHINE, blades: 2 };
  const { judged, cannot } = judge(record, around(record.speedRpm, { machine, reference: NORMAL }));
  assert.ok(!judged.includes("misalignment"));
  const told = cannot.find(({ finding }) => finding === "misalignment");
  assert.match(told?.text ?? "", /two blades/);
});

test("what is normal at one speed says nothing of another", () => {
  const reference = learned(0.2, 0.2, 0.02);
  const plant = { ...PLANT, speedRpm: 2980 };
  const seen = judge(
    recordOf({ fault: "unbalance", severity: 1.4 }, 3, 8192, plant),
    around(2980, { reference }),
  );
  assert.equal(seen.verdicts[0]?.finding, "unbalance");
  assert.equal(seen.verdicts[0]?.normal, null);
});

test("1x of a misalignment is told as no unbalance, unless that stood before", () => {
  const record = recordOf({ fault: "misalignment", severity: 0.9 }, 3);
  // 2x stands out in one direction, 1x in the other.
  const both = raised(record, { 1: [3, 0.4, 1], 2: [0.3, 1.5, 1] });
  const reference = learned(0.2, 0.2, 0.02);
  assert.deepEqual(found(both, { reference }), ["misalignment"]);
  const why = judge(both, around(both.speedRpm, { reference })).cannot;
  assert.ok(why.some(({ finding, reason }) => finding === "unbalance" && reason === "ambiguous"));
  const isHeld = (key: string) => key === "unbalance";
  assert.deepEqual(found(both, { reference, isHeld }), ["unbalance", "misalignment"]);
});

test("2x that rose by a good third of 1x names nothing below C/D and says so, and ends no unbalance that stands", () => {
  const record = recordOf({ fault: "unbalance", severity: 0.9 }, 3);
  const [line] = orderAmplitudes(record, 1);
  const [second] = orderAmplitudes(record, 2);
  const of = (share: number) =>
    raised(record, { 2: [(share * (line ?? 0)) / (second ?? 1), 1, 1] });
  const reference = learned(0.2, 0.05, 0.02);
  assert.deepEqual(found(of(0.15), { reference }), ["unbalance"]);
  const { verdicts, cannot, judged } = judge(of(0.45), around(record.speedRpm, { reference }));
  assert.deepEqual(verdicts, []);
  const told = cannot.filter(({ reason }) => reason === "ambiguous");
  assert.deepEqual(told.map(({ finding }) => finding).sort(), [
    "looseness",
    "misalignment",
    "unbalance",
  ]);
  assert.ok(judged.includes("unbalance"));
  const isHeld = (key: string) => key === "unbalance";
  assert.deepEqual(found(of(0.45), { reference, isHeld }), ["unbalance"]);
});

test("at a doubtful speed nothing is said to be absent that turns with it", () => {
  const record = recordOf({}, 3);
  const { cannot, judged } = judge(record, around(record.speedRpm * 1.03, { reference: NORMAL }));
  const doubtful = cannot.filter(({ reason }) => reason === "speed_doubtful");
  for (const finding of ["unbalance", "blade_pass", "gear_mesh"]) {
    assert.ok(doubtful.some((one) => one.finding === finding));
    assert.ok(!judged.includes(finding));
  }
});

test("a bearing is found only at its own point", () => {
  const location = { company: 1, area: 2, machine: 40, point: 2 };
  const record = recordOf({ fault: "outer_race", severity: 0.3 });
  assert.deepEqual(found(record, { sensor: { ...SENSOR, location } }), []);
});

test("bearing lines farther off than slip explains are not findings", () => {
  const record = recordOf({ fault: "outer_race", severity: 0.3 });
  const ratios = { point: 1, name: "other", bpfo: 3.3, bpfi: 5.7, bsf: 2.1, ftf: 0.367 };
  assert.deepEqual(found(record, { machine: { ...MACHINE, bearings: [ratios] } }), []);
});

test("ratios follow from the geometry, as published for the 6205; configured ones take precedence", () => {
  const bearing = { point: 1, balls: 9, ballMm: 7.94, pitchMm: 39.04 };
  const { bpfo, bpfi, bsf, ftf } = bearingOrders(bearing);
  for (const [value, table] of [
    [bpfo, 3.585],
    [bpfi, 5.415],
    [bsf, 2.357],
    [ftf, 0.398],
  ] as const) {
    assert.ok(Math.abs((value ?? 0) - table) < 0.001, `${value} ${table}`);
  }
  assert.equal(bearingOrders({ ...bearing, bpfo: 3.6 }).bpfo, 3.6);
  const none = { bpfo: null, bpfi: null, bsf: null, ftf: null };
  assert.deepEqual(bearingOrders({ point: 1 }), none);
});
