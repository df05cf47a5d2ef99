import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";
import { Devices } from "../../../src/features/sparkplug/devices.ts";
import { parseReading } from "../../../src/features/sparkplug/parsed-reading.ts";
import type { Metric } from "../../../src/features/sparkplug/payload.ts";
import { storedReading } from "../../support/memory-outbox.ts";

const NOW_MS = 1_790_000_000_000;
const TANK: Sensor = {
  code: "30007",
  type: 12,
  kinds: ["loop"],
  channels: {
    channel1: { unit: "bar", low: 0, high: 10 },
    channel2: { unit: "m", low: 5, high: -1 },
  },
};

const tankReading = (values: object, units: object, quality: object = {}) =>
  storedReading(1, {
    sensor: TANK.code,
    kind: "loop",
    timeMs: NOW_MS - 1000,
    values: JSON.stringify(values),
    units: JSON.stringify(units),
    quality: JSON.stringify(quality),
  });

function tank(newest: ReturnType<typeof tankReading> | null) {
  const devices = new Devices(
    {
      newest: () => newest,
      sensors: () => [{ code: TANK.code, state: "online", lastReadingMs: NOW_MS }],
    },
    { site: fixedSite({ site: "s", sensors: [TANK] }), hasWaveforms: false, hasCommands: false },
  );
  devices.look();
  const device = devices.ofSensor(TANK.code);
  return { device, birth: () => devices.birthMetrics(device, NOW_MS, false) };
}

function of(metrics: readonly Metric[], name: string) {
  const found = metrics.find((metric) => metric.name === name);
  const pairs = (found?.properties ?? []).map(({ key, value }) => [key, value] as const);
  return { metric: found, properties: Object.fromEntries(pairs) };
}

test("sparkplug – the reason of an uncertain value in a birth is cleared by the next good one", () => {
  const doubt = { channel1: { quality: "uncertain", reason: "over_range" } };
  const { device, birth } = tank(tankReading({ channel1: 10.4 }, { channel1: "bar" }, doubt));
  const born = of(birth(), "loop/channel1");
  assert.equal(born.metric?.value, 10.4);
  assert.equal(born.properties["Quality"], 192);
  assert.equal(born.properties["Reason"], "over_range");
  const good = parseReading(tankReading({ channel1: 5 }, { channel1: "bar" }));
  assert.deepEqual(of(device.data(good, false), "loop/channel1").properties, {
    Quality: 192,
    Reason: null,
  });
  assert.deepEqual(of(device.data(good, false), "loop/channel1").properties, {});
});

test("sparkplug – a value in the unit of an older site file never counts as current", () => {
  const old = tankReading({ channel1: 90.6, battery: 3.5 }, { channel1: "psi", battery: "V" });
  const { device, birth } = tank(old);
  const born = of(birth(), "loop/channel1");
  assert.equal(born.metric?.value, null);
  assert.equal(born.properties["engUnit"], "bar");
  assert.equal(born.properties["Quality"], 0);
  const owed = device.data(parseReading(old), false);
  const value = of(owed, "loop/channel1");
  assert.equal(value.metric?.value, 90.6);
  assert.equal(value.metric?.isHistorical, true);
  assert.equal(value.properties["engUnit"], "psi");
  assert.equal(of(owed, "loop/battery").metric?.isHistorical, false);
  const now = device.data(parseReading(tankReading({ channel1: 6 }, { channel1: "bar" })), false);
  assert.equal(of(now, "loop/channel1").metric?.isHistorical, false);
  assert.equal(
    of(now, "loop/channel1").properties["Quality"],
    192,
    "the birth contained null, thus 0",
  );
});

test("sparkplug – a channel removed from the site file is in the birth only while readings of it are pending", () => {
  const old = tankReading({ channel1: 1, channel4: 2 }, { channel1: "bar", channel4: "kPa" });
  const { device, birth } = tank(old);
  assert.equal(of(birth(), "loop/channel4").metric, undefined);
  assert.equal(device.learn(parseReading(old)), true);
  assert.equal(of(birth(), "loop/channel4").properties["engUnit"], "kPa");
});

test("sparkplug – the birth of a loop channel contains its range, low before high even if the range is inverted", () => {
  const born = tank(null).birth();
  const { engLow, engHigh } = of(born, "loop/channel1").properties;
  assert.deepEqual([engLow, engHigh], [0, 10]);
  const inverted = of(born, "loop/channel2").properties;
  assert.deepEqual([inverted["engLow"], inverted["engHigh"]], [-1, 5]);
  assert.equal(of(born, "loop/channel1_ma").properties["engLow"], undefined);
});

test("sparkplug – an uplink with selected values declares no metric that never comes", () => {
  const sensors: Sensor[] = [TANK, { code: "20001", type: 6, kinds: ["rpm"], channels: {} }];
  const devices = new Devices(
    {
      newest: () => null,
      sensors: () => [{ code: TANK.code, state: "online", lastReadingMs: NOW_MS }],
    },
    {
      site: fixedSite({ site: "s", sensors }),
      select: { ...SELECT_ALL, kinds: ["loop"], values: ["channel2", "battery"] },
      hasWaveforms: true,
      hasCommands: false,
    },
  );
  assert.deepEqual(
    devices.configured.map(({ code }) => code),
    [TANK.code],
  );
  const names = devices
    .birthMetrics(devices.ofSensor(TANK.code), NOW_MS, false)
    .map(({ name }) => name);
  assert.ok(names.includes("loop/channel2"), names.join());
  assert.ok(!names.includes("loop/channel1"), names.join());
});

test("sparkplug – a node's state: values with a unit are Doubles, others Strings, whatever the response contains", () => {
  const node: Sensor = {
    code: "100",
    type: 3,
    kinds: ["accel"],
    channels: {},
    stateReads: [
      {
        operation: "getState",
        fields: {
          battery: { from: "B", unit: "V" },
          firmware: { from: "F" },
          build: { from: "N" },
          isSleeping: { from: "S" },
        },
      },
    ],
  };
  const state = storedReading(1, {
    sensor: node.code,
    kind: "node",
    timeMs: NOW_MS - 1000,
    values: JSON.stringify({ battery: 3.58, firmware: "2.1-rc", build: 21, isSleeping: false }),
    units: JSON.stringify({ battery: "V" }),
  });
  const devices = new Devices(
    {
      newest: (_, kind) => (kind === "node" ? state : null),
      sensors: () => [{ code: node.code, state: "online", lastReadingMs: NOW_MS }],
    },
    { site: fixedSite({ site: "s", sensors: [node] }), hasWaveforms: false, hasCommands: false },
  );
  devices.look();
  const born = devices.birthMetrics(devices.ofSensor(node.code), NOW_MS, false);
  const values = ["battery", "firmware", "build", "isSleeping"].map((name) => {
    const { metric } = of(born, `node/${name}`);
    return [metric?.type, metric?.value];
  });
  assert.deepEqual(values, [
    ["Double", 3.58],
    ["String", "2.1-rc"],
    ["String", "21"],
    ["String", "false"],
  ]);
});

test("sparkplug – an alarm that no reading has been judged for is dated by the birth, and nothing later is older", () => {
  const name = { alarm: "pressure", value: "channel1" };
  const devices = new Devices(
    {
      newest: () => null,
      sensors: () => [{ code: TANK.code, state: "online", lastReadingMs: null }],
      alarms: {
        watched: () => [name],
        active: () => [],
        normalMs: () => 0,
        onChange: () => () => {},
      },
    },
    { site: fixedSite({ site: "s", sensors: [TANK] }), hasWaveforms: false, hasCommands: false },
  );
  devices.look();
  const device = devices.ofSensor(TANK.code);
  const born = devices.birthMetrics(device, NOW_MS, false);
  assert.equal(of(born, "alarm/pressure/channel1").metric?.timeMs, NOW_MS);
  const raised = device.alarm({ ...name, severity: "alarm", timeMs: NOW_MS - 5_000 });
  assert.deepEqual([raised?.value, raised?.timeMs], ["alarm", NOW_MS]);
});
