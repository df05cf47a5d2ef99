import assert from "node:assert/strict";
import { test } from "node:test";
import { faultLine } from "../../../src/config/fault.ts";
import { loadSite } from "../../../src/config/site.ts";

type Part = Readonly<Record<string, unknown>>;

const location = { company: 1, area: 1, machine: 40, point: 1 };
const SENSORS: readonly Part[] = [
  { code: "200", type: 3, kinds: ["accel"], location },
  { code: "300", type: 6, kinds: ["rpm"] },
];
const MACHINE = {
  id: 40,
  speed: { sensor: "300" },
  blades: 5,
  teeth: [23, 71],
  bearings: [
    { point: 1, name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04 },
    { point: 1, name: "NU 216", bpfo: 7.2 },
  ],
};
const ALL = {
  orders: [1, 2, 3],
  bearings: true,
  blades: true,
  teeth: true,
  custom: [
    { name: "belt", from: 0.3, to: 0.5, unit: "order", of: "velocity" },
    { name: "hf", from: 1000, to: 1600, unit: "Hz", of: "accel" },
  ],
};

const load = (machine: Part, more: Part = {}) =>
  loadSite(
    JSON.stringify({ site: "plant-7", sensors: SENSORS, machines: [machine], ...more }),
    "site.json",
  );
const faultsOf = (machine: Part, more: Part = {}) =>
  load(machine, more).faults.map(({ place }) => place.replace("site.json: ", ""));

test("site file – bands give a sensor values of its machine, and rules and selections know them", () => {
  const alarms = [
    { name: "outer", select: { kinds: ["bands"], values: ["channel1_bpfo"] }, high: 0.5 },
  ];
  const { site, faults, warnings } = load({ ...MACHINE, bands: ALL }, { alarms });
  assert.deepEqual([faults, warnings], [[], []]);
  const [sensor] = site?.sensors ?? [];
  assert.deepEqual(
    sensor?.bands?.bands.map(({ name }) => name),
    "1x 2x 3x bpfo bpfi bsf ftf NU_216_bpfo blade mesh_23 mesh_71 band_belt band_hf".split(" "),
  );
  assert.equal(sensor?.bands?.hasSpeed, true);
  assert.equal(site?.sensors[1]?.bands, undefined);
});

test("site file – bands without their numbers, speed, order or names are faults with their place", () => {
  const bare = { id: 40, speed: { sensor: "300" } };
  assert.deepEqual(faultsOf({ ...bare, bands: { bearings: true, blades: true, teeth: true } }), [
    "machines[0].bands.bearings",
    "machines[0].bands.blades",
    "machines[0].bands.teeth",
  ]);
  const { speed: _, ...still } = MACHINE;
  assert.deepEqual(faultsOf({ ...still, bands: ALL }), [
    "machines[0].bands.orders",
    "machines[0].bands.bearings",
    "machines[0].bands.blades",
    "machines[0].bands.teeth",
    "machines[0].bands.custom[0].unit",
  ]);
  const [, hf] = ALL.custom;
  assert.deepEqual(faultsOf({ id: 40, bands: { custom: [hf] } }), []);
  assert.deepEqual(faultsOf({ id: 40, bands: { custom: [{ ...hf, to: 1000 }] } }), [
    "machines[0].bands.custom[0].to",
  ]);
  assert.deepEqual(faultsOf({ id: 40, bands: { custom: [hf, hf] } }), ["machines[0].bands"]);
  assert.deepEqual(faultsOf({ ...MACHINE, bands: { orders: [1, 1] } }), ["machines[0].bands"]);
  const unnamed = [...MACHINE.bearings, { point: 1, bpfi: 9 }];
  assert.deepEqual(faultsOf({ ...MACHINE, bearings: unnamed, bands: ALL }), [
    "machines[0].bearings[2].name",
  ]);
});

test("site file – the schema limits orders, names and edges, and `bands` is no kind of a sensor", () => {
  const custom = (part: Part) => ({
    ...MACHINE,
    bands: { custom: [{ ...ALL.custom[1], ...part }] },
  });
  for (const machine of [
    { ...MACHINE, bands: { orders: [0] } },
    { ...MACHINE, bands: { orders: [101] } },
    { ...MACHINE, bands: { orders: [1.5] } },
    { ...MACHINE, bands: { orders: Array.from({ length: 33 }, (_, n) => n + 1) } },
    custom({ name: "a b" }),
    custom({ name: "" }),
    custom({ from: 0 }),
    custom({ unit: "rpm" }),
    custom({ of: "displacement" }),
  ])
    assert.equal(faultsOf(machine).length, 1, JSON.stringify(machine.bands));
  const { faults } = loadSite(
    JSON.stringify({ site: "p", sensors: [{ code: "1", type: 3, kinds: ["accel", "bands"] }] }),
    "site.json",
  );
  assert.equal(faults.length, 1);
});

test("site file – a fault of bands is told for points where vibration is measured, not for the others of the machine", () => {
  const twin = { name: "a", from: 1, to: 2, unit: "Hz", of: "accel" };
  const machine = { ...MACHINE, bands: { custom: [twin, { ...twin, to: 3 }] } };
  const speed = { code: "301", type: 6, kinds: ["rpm"], location: { ...location, point: 9 } };
  const [fault, ...others] = load(machine, { sensors: [...SENSORS, speed] }).faults;
  assert.match(fault?.problem ?? "", /^two bands at point 1 would be called channel1_band_a$/);
  assert.deepEqual(others, []);
});

test("site file – at most 200 values a sensor", () => {
  const bands = (count: number) => ({
    custom: Array.from({ length: count }, (_, n) => ({ ...ALL.custom[1], name: `b${n}` })),
  });
  assert.deepEqual(faultsOf({ id: 40, bands: bands(64) }), []);
  const many = { ...MACHINE, bands: { ...ALL, ...bands(64) } };
  assert.deepEqual(faultsOf(many), ["machines[0].bands"]);
});

test("site file – bands stand in select.kinds alone: no machine runs by its bands", () => {
  const running = { sensor: "200", kind: "bands", value: "channel1_1x", above: 1 };
  assert.deepEqual(faultsOf({ ...MACHINE, running, bands: ALL }), ["machines[0].running.kind"]);
});

test("site file – the name of a band that cannot be one says which characters it may have", () => {
  const custom = [{ ...ALL.custom[0], name: "a.b" }];
  const [fault] = load({ ...MACHINE, bands: { custom } }).faults;
  assert.match(
    `${fault?.problem}; ${fault?.remedy}`,
    /^"a\.b" .*; use 1 to 32 letters, digits, _ and -/,
  );
});

test("site file – bands whose names differ only in letter case are one metric to Sparkplug hosts", () => {
  const [belt] = ALL.custom;
  const bands = { custom: [belt, { ...belt, name: "BELT" }, { ...belt, name: "belt2" }] };
  const machines = [{ ...MACHINE, bands }];
  const text = JSON.stringify({ site: "plant-7", sensors: SENSORS, machines });
  assert.deepEqual(loadSite(text, "site.json").faults, []);
  const faults = loadSite(text, "site.json", { sparkplug: true }).faults.map(faultLine);
  assert.equal(faults.length, 1);
  assert.match(
    faults[0] ?? "",
    /machines\[0\]\.bands: channel1_band_BELT at point 1 differs from channel1_band_belt only in letter case/,
  );
});
