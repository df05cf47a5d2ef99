import assert from "node:assert/strict";
import { test } from "node:test";
import { sensorBands } from "../../../src/core/bands/definition.ts";
import type { Machine } from "../../../src/core/machine.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import {
  ACCEL,
  Disk,
  engineOf,
  type Fed,
  feed,
  judgeDue,
  MINUTE,
  reading,
  siteWith,
  speeds,
  T0,
  PUMP as WITH_SIGNAL,
} from "./support.ts";

const MACHINE = {
  id: 40,
  bands: { custom: [{ name: "hf", from: 900, to: 1100, unit: "Hz", of: "accel" }] },
} as const;
const BANDS = sensorBands(ACCEL, [MACHINE]);
assert.ok(BANDS !== null);
const PUMP: Sensor = { ...ACCEL, bands: BANDS };
const RULE = {
  name: "change",
  select: { kinds: ["bands"], values: ["channel1_band_hf"] },
  baseline: { readings: 10, deviations: 4 },
} as const;
const KEY = "change/channel1_band_hf@any#6400/4096";

/** Band readings a minute apart, of records in this zone and of this shape. */
function bandsOf(
  values: readonly number[],
  fromMinute: number,
  zone: string | null,
  shape: string,
) {
  return values.map((value, i): Fed => {
    const timeMs = T0 + (fromMinute + i) * MINUTE;
    const one = reading(PUMP.code, timeMs, { channel1_band_hf: value, channel2_band_hf: null });
    return { sensor: PUMP, kind: "bands", reading: { ...one, record: { zone, shape } } };
  });
}

const steady = (count: number) => Array.from({ length: count }, (_, i) => 1 + 0.01 * (i % 3));
const engine = (machine: Machine = MACHINE) => {
  const site = siteWith([RULE], [machine]);
  return engineOf({
    ...site,
    sensors: site.sensors.map((one) => (one.code === PUMP.code ? PUMP : one)),
  });
};

test("alarms on bands – a baseline learns from records in zone A, B or none, and then watches", () => {
  const alarms = engine();
  feed(alarms, bandsOf(steady(8), 0, "C", "6400/4096"));
  assert.equal(alarms.baselines(PUMP.code).get(KEY)?.count ?? 0, 0);
  feed(alarms, bandsOf(steady(5), 10, "B", "6400/4096"));
  feed(alarms, bandsOf(steady(5), 20, null, "6400/4096"));
  assert.notEqual(alarms.baselines(PUMP.code).get(KEY)?.first, null);
  const events = feed(alarms, bandsOf([3, 3, 3], 30, "A", "6400/4096"));
  assert.deepEqual(
    events.map(({ alarm, kind, value, state }) => [alarm, kind, value, state]),
    [["change", "bands", "channel1_band_hf", "active"]],
  );
});

test("alarms on bands – a band that waited for the machine's state is learned by the zone of its record", () => {
  const alarms = engine({ ...WITH_SIGNAL, ...MACHINE });
  feed(alarms, [...bandsOf(steady(3), 0, "C", "6400/4096"), ...bandsOf([1], 3, "A", "6400/4096")]);
  feed(alarms, speeds([1480, 1480, 1480, 1480, 1480]));
  judgeDue(alarms);
  const learned = alarms.baselines(PUMP.code).get(KEY.replace("any", "running"));
  assert.equal(learned?.count, 1);
});

test("alarms on bands – the limit of a baseline is at least 1.2 times what was learned", () => {
  const alarms = engine();
  feed(alarms, bandsOf(steady(10), 0, "A", "6400/4096"));
  assert.deepEqual(feed(alarms, bandsOf([1.18, 1.18, 1.18], 20, "A", "6400/4096")), []);
  assert.equal(feed(alarms, bandsOf([1.25, 1.25, 1.25], 30, "A", "6400/4096")).length, 1);
});

const OTHER = KEY.replace("6400", "12800");

test("alarms on bands – records of another rate or length have a baseline of their own, and take nothing from the first", () => {
  const alarms = engine();
  feed(alarms, bandsOf(steady(10), 0, "A", "6400/4096"));
  assert.deepEqual(feed(alarms, bandsOf([3, 3, 3], 20, "A", "12800/4096")), []);
  assert.equal(alarms.baselines(PUMP.code).get(OTHER)?.count, 3);
  assert.notEqual(alarms.baselines(PUMP.code).get(KEY)?.first, null);
  // An odd record among them interrupts no delay.
  const mixed = [
    ...bandsOf([3, 3], 30, "A", "6400/4096"),
    ...bandsOf([3], 32, "A", "12800/4096"),
    ...bandsOf([3], 33, "A", "6400/4096"),
  ];
  assert.equal(feed(alarms, mixed).length, 1);
});

test("alarms on bands – records of two lengths make no baseline together, also with a restart between", () => {
  const disk = new Disk();
  feed(engine(), bandsOf(steady(6), 0, "A", "6400/4096"), disk);
  const restarted = engine();
  restarted.load(disk.saved());
  feed(restarted, bandsOf(Array<number>(4).fill(3), 10, "A", "12800/4096"), disk);
  const levels = restarted.baselines(PUMP.code);
  assert.deepEqual([levels.get(KEY)?.count, levels.get(OTHER)?.count], [6, 4]);
  feed(restarted, bandsOf(steady(4), 20, "A", "6400/4096"), disk);
  assert.equal(restarted.baselines(PUMP.code).get(KEY)?.first?.median, 1.01);
});

test("alarms on bands – while an alarm stands, one record of another length neither ends it nor is learned as normal", () => {
  const alarms = engine();
  feed(alarms, bandsOf(steady(10), 0, "A", "6400/4096"));
  assert.equal(feed(alarms, bandsOf([3, 3, 3], 20, "A", "6400/4096")).length, 1);
  assert.deepEqual(feed(alarms, bandsOf([3], 30, "A", "6400/8192")), []);
  assert.equal(alarms.baselines(PUMP.code).has(KEY.replace("4096", "8192")), false);
  assert.deepEqual(feed(alarms, bandsOf(Array<number>(40).fill(3), 40, "A", "6400/4096")), []);
});

test("alarms on bands – an alarm ends once records of another length have replaced those that it stands for", () => {
  const alarms = engine();
  feed(alarms, bandsOf(steady(10), 0, "A", "6400/4096"));
  feed(alarms, bandsOf([3, 3, 3], 20, "A", "6400/4096"));
  const events = feed(alarms, bandsOf(Array<number>(25).fill(3), 30, "A", "6400/8192"));
  assert.deepEqual(
    events.map(({ state, reason }) => [state, reason]),
    [["cleared", "configuration_changed"]],
  );
});

test("alarms on bands – at most four rates and lengths are remembered, and no samples of more", () => {
  const alarms = engine();
  for (let n = 0; n < 12; n += 1)
    feed(alarms, bandsOf(steady(10), n * 20, "A", `6400/${4096 + n}`));
  const keys = [...alarms.baselines(PUMP.code).keys()];
  assert.equal(keys.length, 4);
  assert.ok(keys.some((key) => key.endsWith("/4107")));
});

test("alarms on bands – a value that the record cannot show is no bad quality of the sensor", () => {
  const alarms = engine();
  const bad = { channel2_band_hf: { quality: "bad", reason: "too_short" } } as const;
  const events = bandsOf(steady(5), 0, "A", "6400/4096").flatMap((fed) =>
    feed(alarms, [{ ...fed, reading: { ...fed.reading, quality: bad } }]),
  );
  assert.deepEqual(events, []);
});
