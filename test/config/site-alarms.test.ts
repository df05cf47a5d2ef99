import assert from "node:assert/strict";
import { test } from "node:test";
import { faultLine } from "../../src/config/fault.ts";
import { loadSite } from "../../src/config/site.ts";
import { hasFeature } from "../support/features.ts";

type Part = Record<string, unknown>;
const at = (machine: number, point = 1) => ({
  location: { company: 1, area: 2, machine, point },
});
const SENSORS: Part[] = [
  { code: "10234", type: 3, kinds: ["accel"], machineClass: "group2-rigid", ...at(40) },
  { code: "50021", type: 6, kinds: ["rpm"], ...at(40, 2) },
  {
    code: "30007",
    type: 12,
    kinds: ["loop"],
    channels: { channel1: { name: "Suction pressure", unit: "bar", low: 0, high: 10 } },
    ...at(40, 3),
  },
  { code: "40010", type: 7, kinds: ["dryContact"] },
];
const RUNNING = { sensor: "50021", kind: "rpm", value: "rpm", above: 300 };
const MACHINE: Part = {
  id: 40,
  name: "Pump 4",
  running: RUNNING,
  speed: { sensor: "50021" },
  lineHz: 50,
  blades: 6,
  teeth: [23, 71],
  bearings: [
    { point: 1, name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 },
    { point: 2, bpfo: 3.58, bpfi: 5.42, bsf: 2.36, ftf: 0.4 },
  ],
};
const PRESSURE: Part = {
  name: "pressure",
  select: { sensors: ["30007"], values: ["channel1"] },
  highHigh: 9,
  high: 8,
  low: 2,
  lowLow: 1,
  hysteresis: 0.3,
  delay: { readings: 2 },
  onlyRunning: true,
};
const CHANGE: Part = {
  name: "vibration-change",
  select: { kinds: ["accel"], values: ["*_vel_rms", "*_env_rms"] },
  baseline: { readings: 300, deviations: 4 },
  onlyRunning: true,
};
const file = (alarms: readonly Part[], machines: readonly Part[] = [MACHINE]) =>
  JSON.stringify({ site: "plant-7", sensors: SENSORS, machines, alarms });
const load = (alarms: readonly Part[], machines?: readonly Part[]) =>
  loadSite(file(alarms, machines), "site.json");

test("site file – two names of one machine are a warning, one name written twice is none", () => {
  const named = (machine: string) =>
    loadSite(
      JSON.stringify({
        site: "plant-7",
        sensors: [
          { ...SENSORS[0], location: { ...at(40).location, names: { machine } } },
          ...SENSORS.slice(1),
        ],
        machines: [MACHINE],
      }),
      "site.json",
    );
  assert.deepEqual(named("Pump 4").warnings, []);
  const { faults, warnings } = named("Feed pump");
  assert.deepEqual(faults, []);
  assert.match(
    warnings.map(faultLine).join(),
    /machines\[0\]\.name.*2 names: "Pump 4", "Feed pump"/,
  );
});

test("site file – a contact that reports when a machine runs needs no limit", () => {
  const running = { sensor: "40010", kind: "dryContact", value: "input1" };
  assert.deepEqual(load([], [{ ...MACHINE, running }]).faults, []);
});

test("site file – accepts machines and alarm rules as the specification shows them", () => {
  const { site, faults, warnings } = load([PRESSURE, CHANGE]);
  assert.deepEqual([...faults, ...warnings].map(faultLine), []);
  assert.equal(site?.machines?.[0]?.bearings?.length, 2);
  assert.equal(site?.alarms?.length, 2);
});

test("site file – a limit below zero for what a node reports about itself, such as dBm", {
  skip: !hasFeature("nodes"),
}, () => {
  const stateReads = [
    { operation: "getVibrationState", fields: { rssi: { from: "Rssi", unit: "dBm" } } },
  ];
  const alarms = [{ name: "weak", select: { values: ["rssi"] }, low: -90 }];
  const sensors = [{ ...SENSORS[3], stateReads }];
  const { faults } = loadSite(JSON.stringify({ site: "plant-7", sensors, alarms }), "site.json");
  assert.deepEqual(faults.map(faultLine), []);
});

test("site file – a hysteresis as large as the band between two limits", () => {
  assert.deepEqual(load(rule({ hysteresis: 1 })).faults.map(faultLine), []);
});

const rule = (change: Part, base = PRESSURE): Part[] => [{ ...base, ...change }];
const machine = (change: Part): Part[] => [{ ...MACHINE, ...change }];

/** Each is one mistake: exactly one fault, at this place. */
const WRONG: readonly [string, readonly Part[], readonly Part[], string][] = [
  ["limits in the wrong order", rule({ high: 9.5 }), [MACHINE], "alarms[0].highHigh"],
  ["low limits in the wrong order", rule({ lowLow: 3 }), [MACHINE], "alarms[0].low"],
  [
    "a hysteresis larger than the band",
    rule({ hysteresis: 1.5 }),
    [MACHINE],
    "alarms[0].hysteresis",
  ],
  ["no limit", [{ name: "none" }], [MACHINE], "alarms[0]"],
  ["a limit above the range", rule({ highHigh: 11 }), [MACHINE], "alarms[0].highHigh"],
  [
    "a limit below what can be",
    [{ name: "x", select: { kinds: ["rpm"], values: ["rpm"] }, low: 0 }],
    [MACHINE],
    "alarms[0].low",
  ],
  [
    "an unknown value",
    rule({ select: { sensors: ["30007"], values: ["chanel1"] } }),
    [MACHINE],
    "alarms[0].select.values[0]",
  ],
  [
    "a text as value",
    rule({ select: { values: ["*_zone"] } }),
    [MACHINE],
    "alarms[0].select.values[0]",
  ],
  [
    "an unknown sensor",
    rule({ select: { sensors: ["3007"] } }),
    [MACHINE],
    "alarms[0].select.sensors[0]",
  ],
  [
    "an unknown machine",
    rule({ select: { machines: [41] } }),
    [MACHINE],
    "alarms[0].select.machines[0]",
  ],
  ["an unknown area", rule({ select: { areas: [9] } }), [MACHINE], "alarms[0].select.areas[0]"],
  [
    "a kind that no sensor gives",
    rule({ select: { kinds: ["accCurrent"] } }),
    [MACHINE],
    "alarms[0].select.kinds[0]",
  ],
  [
    "a selection of nothing",
    rule({ select: { kinds: ["rpm"], sensors: ["30007"] } }),
    [MACHINE],
    "alarms[0].select",
  ],
  ["an unknown key", rule({ hihi: 4 }), [MACHINE], "alarms[0].hihi"],
  [
    "both kinds of delay",
    rule({ delay: { readings: 2, seconds: 3 } }),
    [MACHINE],
    "alarms[0].delay",
  ],
  ["a name that is no topic level", rule({ name: "a/b" }), [MACHINE], "alarms[0].name"],
  ["the name of a built-in alarm", rule({ name: "Zone" }), [MACHINE], "alarms[0].name"],
  ["a name given twice", [PRESSURE, { ...CHANGE, name: "Pressure" }], [MACHINE], "alarms[1].name"],
  [
    "a baseline beside limits",
    rule({ baseline: { readings: 300, deviations: 4 } }),
    [MACHINE],
    "alarms[0].baseline",
  ],
  [
    "a running signal of an unknown sensor",
    [],
    machine({ running: { ...RUNNING, sensor: "1" } }),
    "machines[0].running.sensor",
  ],
  [
    "a running signal of a kind not configured",
    [],
    machine({ running: { ...RUNNING, kind: "loop" } }),
    "machines[0].running.kind",
  ],
  [
    "a running signal of an unknown value",
    [],
    machine({ running: { ...RUNNING, value: "speed" } }),
    "machines[0].running.value",
  ],
  [
    "a running signal without a bound",
    [],
    machine({ running: { ...RUNNING, above: undefined } }),
    "machines[0].running",
  ],
  [
    "a contact with a bound",
    [],
    machine({ running: { sensor: "40010", kind: "dryContact", value: "input1", above: 0.5 } }),
    "machines[0].running.above",
  ],
  [
    "a speed that nobody measures",
    [],
    machine({ speed: { sensor: "30007" } }),
    "machines[0].speed.sensor",
  ],
  [
    "a bearing of a machine whose speed is not measured",
    [],
    machine({ speed: undefined, blades: undefined, teeth: undefined }),
    "machines[0].bearings",
  ],
  [
    "a bearing without balls and ratios",
    [],
    machine({ bearings: [{ point: 1 }] }),
    "machines[0].bearings[0]",
  ],
  [
    "a bearing without its pitch",
    [],
    machine({ bearings: [{ point: 1, balls: 9, ballMm: 8 }] }),
    "machines[0].bearings[0]",
  ],
  [
    "balls larger than their pitch",
    [],
    machine({ bearings: [{ point: 1, balls: 9, ballMm: 40, pitchMm: 39 }] }),
    "machines[0].bearings[0].ballMm",
  ],
  ["a machine given twice", [], [MACHINE, MACHINE], "machines[1].id"],
];

/** What depends on the sensors that are in the file: one that leaves must not keep the agent from starting. */
const WARNED = new Set([
  "a limit above the range",
  "a limit below what can be",
  "an unknown value",
  "a text as value",
  "an unknown sensor",
  "an unknown machine",
  "an unknown area",
  "a kind that no sensor gives",
  "a selection of nothing",
  "a running signal of an unknown sensor",
  "a running signal of a kind not configured",
  "a speed that nobody measures",
  "a bearing of a machine whose speed is not measured",
]);

for (const [name, alarms, machines, place] of WRONG) {
  const isWarned = WARNED.has(name);
  test(`site file – ${name} is ${isWarned ? "a warning" : "an error"} with its location`, () => {
    const { faults, warnings } = load(alarms, machines);
    const [found, others] = isWarned ? [warnings, faults] : [faults, []];
    assert.deepEqual(others.map(faultLine), []);
    assert.equal(found.length, 1, found.map(faultLine).join("\n"));
    assert.equal(found[0]?.place, `site.json: ${place}`);
  });
}

test("site file – a rule that waits for a machine of which nothing says when it runs is a warning", () => {
  const { faults, warnings } = load([PRESSURE], machine({ running: undefined }));
  assert.deepEqual(faults.map(faultLine), []);
  assert.match(
    warnings.map(faultLine).join(),
    /alarms\[0\]\.onlyRunning: sensor 30007 is on a machine without "running", so the rule can never trigger;/,
  );
});

test("site file – a machine without gear wheels, and a baseline of few readings", () => {
  const few = { ...CHANGE, baseline: { readings: 3, deviations: 4 } };
  assert.deepEqual(load([few], machine({ teeth: [] })).faults.map(faultLine), []);
});

test("site file – a rule that can never apply to some of its sensors is a warning", () => {
  const { faults, warnings } = load([
    {
      ...PRESSURE,
      select: { kinds: ["loop", "dryContact"] },
      highHigh: 0.9,
      high: 0.8,
      low: 0.2,
      lowLow: 0.1,
      hysteresis: 0,
    },
  ]);
  assert.deepEqual(faults.map(faultLine), []);
  assert.match(
    warnings.map(faultLine).join(),
    /alarms\[0\]\.onlyRunning: sensor 40010 is on a machine without "running"/,
  );
});

test("site file – a mistake in a rule is reported with the nearest name and the expected content", () => {
  const report = load([{ ...PRESSURE, hi: 8, delay: 3 }])
    .faults.map(faultLine)
    .join("\n");
  assert.match(report, /alarms\[0\]\.hi: is an unknown key; did you mean high\?/);
  assert.match(
    report,
    /delay: 3 has the wrong type; write an object in \{ \} with "readings" or "seconds"/,
  );
});
