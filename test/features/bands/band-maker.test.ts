import assert from "node:assert/strict";
import { test } from "node:test";
import type { Machine } from "../../../src/core/machine.ts";
import { HeldDefinitions } from "../../../src/features/bands/held-definitions.ts";
import {
  bandBench,
  MACHINE,
  MINUTE_MS,
  RATE_HZ,
  SHAFT_HZ,
  SIZE,
  siteOf,
} from "../../support/band-bench.ts";
import { append, DAY_MS, dayOf, keyOf, readingOf, START_MS } from "../../support/temp-database.ts";
import { longestTurnMs } from "../../support/turns.ts";

test("bands – a record waits for the speed at its time, and its bands are those of the record", async (t) => {
  const b = bandBench(t);
  await b.look();
  await b.rpm(0, 60 * SHAFT_HZ);
  const record = await b.vibration(5);
  await b.look();
  assert.deepEqual(b.made, []);
  await b.rpm(10, 60 * SHAFT_HZ * 1.005);
  await b.look();
  const [reading] = b.stored();
  assert.ok(reading);
  const values = JSON.parse(reading.values);
  assert.deepEqual(Object.keys(values), ["channel1_1x", "channel1_band_hf", "speed_rpm"]);
  assert.ok(Math.abs(values.channel1_band_hf - 0.5 / Math.SQRT2) < 0.01);
  const velocity = ((0.1 / Math.SQRT2) * 9800) / (2 * Math.PI * SHAFT_HZ);
  assert.ok(Math.abs(values.channel1_1x / velocity - 1) < 0.05);
  assert.equal(values.speed_rpm, 1500);
  assert.deepEqual(JSON.parse(reading.attributes), {
    record_id: record.id,
    sample_rate: RATE_HZ,
    samples: SIZE,
    speed_time: new Date(b.timeOf(0)).toISOString(),
  });
  assert.equal(reading.timeMs, record.timeMs);
  assert.deepEqual(JSON.parse(reading.quality), {});
  assert.equal(b.made.length, 1);
});

test("bands – a speed that changes makes what follows the shaft uncertain", async (t) => {
  const b = bandBench(t);
  await b.look();
  await b.rpm(0, 1500);
  await b.vibration(5);
  await b.rpm(10, 1530);
  await b.look();
  assert.deepEqual(JSON.parse(b.stored()[0]?.quality ?? ""), {
    channel1_1x: { quality: "uncertain", reason: "inconsistent" },
  });
});

test("bands – no record loses them or gets them twice over restarts", async (t) => {
  const b = bandBench(t);
  await b.look();
  await b.rpm(0, 1500);
  const first = await b.vibration(5);
  await b.restart();
  await b.rpm(10, 1500);
  const second = await b.vibration(12);
  await b.look();
  await b.restart();
  await b.rpm(20, 1500);
  await b.look();
  await b.restart();
  await b.look();
  assert.deepEqual(
    b.stored().map(({ attributes }) => JSON.parse(attributes).record_id),
    [first.id, second.id],
  );
});

test("bands – a machine that stands or hardly turns has none, one of unknown speed gets them later", async (t) => {
  const b = bandBench(t, {
    ...MACHINE,
    running: { sensor: "400", kind: "dryContact", value: "input1" },
  });
  await b.look();
  await b.contact(0, false);
  await b.rpm(0, 1500);
  await b.vibration(1);
  await b.contact(2, true);
  await b.rpm(2, 20);
  await b.vibration(3);
  await b.contact(4, true);
  await b.rpm(4, 1500);
  await b.look();
  assert.deepEqual(b.stored(), []);
  // An hour later no speed is known; the reading that tells it comes late.
  const record = await b.vibration(70);
  await b.contact(69, true);
  await b.contact(71, true);
  await b.clock.advance(40 * MINUTE_MS);
  await b.look();
  assert.deepEqual(b.stored(), []);
  await b.rpm(69, 1500);
  await b.clock.advance(2 * MINUTE_MS);
  await b.look();
  assert.deepEqual(
    b.stored().map(({ attributes }) => JSON.parse(attributes).record_id),
    [record.id],
  );
});

test("bands – records of a machine that stood are judged once, also over restarts and reloads", async (t) => {
  const b = bandBench(t, {
    ...MACHINE,
    running: { sensor: "400", kind: "dryContact", value: "input1" },
  });
  await b.look();
  await b.contact(0, false);
  const minutes = Array.from({ length: 60 }, (_, i) => i + 1);
  await b.vibrations(minutes);
  for (const minute of [1, 20, 40, 61]) await b.contact(minute, false);
  await b.clock.advance(90 * MINUTE_MS);
  await b.look();
  await b.restart();
  await b.look();
  const { seq: newest } =
    [
      ...b.store.history.range({
        sensor: "200",
        kind: "accel",
        fromMs: 0,
        toMs: START_MS + DAY_MS,
      }),
    ].at(-1) ?? {};
  const [judged = ""] = (b.store.meta.get("bands-judged/200") ?? "").split("\n");
  assert.ok(Number(judged) > 0 && Number(judged) <= (newest ?? 0), judged);
  // What is stored later is looked at, whatever was judged before; so is all of it once the machine is another one.
  await b.contact(100, true);
  await b.rpm(100, 1500);
  const record = await b.vibration(101);
  await b.contact(102, true);
  await b.rpm(102, 1500);
  await b.look();
  assert.deepEqual(
    b.stored().map(({ attributes }) => JSON.parse(attributes).record_id),
    [record.id],
  );
});

test("bands – a record dated in the future gives bands that say so, and never live ones", async (t) => {
  const b = bandBench(t, { id: 40, bands: { custom: MACHINE.bands?.custom ?? [] } });
  await b.look();
  await b.vibration(1);
  const flags = ["time_in_future"];
  await b.unmeasurable(2, "no_calibration", { sample_rate: RATE_HZ, samples: SIZE, flags });
  await b.look();
  assert.deepEqual(
    b.stored().map(({ attributes }) => JSON.parse(attributes).flags),
    [undefined, flags],
  );
});

test("bands – a record without calibration or samples gives null values with its reason, at once or by a backfill", async (t) => {
  const b = bandBench(t);
  await b.look();
  await b.rpm(0, 1500);
  const uncalibrated = await b.unmeasurable(5, "no_calibration", {
    sample_rate: RATE_HZ,
    samples: SIZE,
  });
  const empty = await b.unmeasurable(6, "missing", { samples: 0 });
  await b.rpm(10, 1500);
  await b.look();
  const shown = () =>
    b
      .stored()
      .map(({ attributes, quality, values }) => [
        JSON.parse(attributes).record_id,
        JSON.parse(values),
        Object.values(JSON.parse(quality)),
      ]);
  const values = { channel1_1x: null, channel1_band_hf: null, speed_rpm: 1500 };
  const expected = [
    [uncalibrated.id, values, Array(2).fill({ quality: "bad", reason: "no_calibration" })],
    [empty.id, values, Array(2).fill({ quality: "bad", reason: "missing" })],
  ];
  assert.deepEqual(shown(), expected);
  const [first, second] = b.stored().map(({ attributes }) => JSON.parse(attributes));
  assert.deepEqual([first.sample_rate, first.samples], [RATE_HZ, SIZE]);
  assert.deepEqual([second.sample_rate, second.samples], [undefined, 0]);
  // Where a reading has values but no samples, they were there and are gone.
  await append(
    b.store,
    [readingOf("200", b.timeOf(7), { kind: "accel", values: { channel1_accel_rms: 0.4 } })],
    keyOf("200", "accel", dayOf(b.timeOf(7))),
  );
  b.maker().readAgain([dayOf(b.timeOf(5))], "200");
  await b.look();
  assert.deepEqual(shown(), expected);
});

test("bands – records that a response brings together each get theirs", async (t) => {
  const { custom } = MACHINE.bands ?? {};
  const b = bandBench(t, { id: 40, bands: { custom: custom ?? [] } });
  await b.look();
  const records = await b.vibrations([5, 15, 25]);
  await b.look();
  assert.deepEqual(
    b.stored().map(({ attributes }) => JSON.parse(attributes).record_id),
    records.map(({ id }) => id),
  );
});

test("bands – without a speed signal, bands in Hz come at once and say no speed", async (t) => {
  const { custom } = MACHINE.bands ?? {};
  const b = bandBench(t, { id: 40, bands: { custom: custom ?? [] } });
  await b.look();
  await b.vibration(5);
  await b.look();
  assert.deepEqual(Object.keys(JSON.parse(b.stored()[0]?.values ?? "")), ["channel1_band_hf"]);
  assert.equal("speed_time" in JSON.parse(b.stored()[0]?.attributes ?? ""), false);
});

test("bands – a changed definition holds for new records; days that are read again get what they lack", async (t) => {
  const b = bandBench(t, { id: 40 });
  await b.look();
  const old = await b.vibration(5);
  b.site.replace(siteOf({ id: 40, bands: { custom: MACHINE.bands?.custom ?? [] } }));
  await b.look();
  const next = await b.vibration(10);
  await b.look();
  const idsOf = () => b.stored().map(({ attributes }) => JSON.parse(attributes).record_id);
  assert.deepEqual(idsOf(), [next.id]);
  b.maker().readAgain([dayOf(old.timeMs)], "200");
  await b.look();
  assert.deepEqual(idsOf(), [old.id, next.id]);
});

test("bands – the first records of a sensor that a reload adds come before the next look, and get theirs", async (t) => {
  const machine = { id: 40, bands: { custom: MACHINE.bands?.custom ?? [] } };
  const b = bandBench(t, { id: 41 });
  await b.look();
  b.site.replace(siteOf(machine));
  const records = await b.vibrations([5, 15]);
  // A second change before the look: the definition holds since the first one.
  b.site.replace({ ...siteOf(machine) });
  await b.look();
  assert.deepEqual(
    b.stored().map(({ attributes }) => JSON.parse(attributes).record_id),
    records.map(({ id }) => id),
  );
});

test("bands – a backfill makes those of records whose samples are gone from the records that it reads again", async (t) => {
  const b = bandBench(t, { id: 40, speed: { sensor: "300" } });
  await b.look();
  await b.rpm(0, 60 * SHAFT_HZ);
  const records = await b.vibrations([5, 15, 25]);
  await b.rpm(30, 60 * SHAFT_HZ);
  b.site.replace(siteOf(MACHINE));
  b.gateway.samplesAreGone = true;
  b.gateway.failure = "the gateway does not respond";
  const day = dayOf(b.timeOf(5));
  b.maker().readAgain([day], "200");
  await b.look();
  // What a backfill asks for is kept over a restart.
  await b.restart();
  await b.look();
  assert.deepEqual(b.stored(), []);
  b.gateway.failure = null;
  await b.clock.advance(MINUTE_MS);
  await b.look();
  assert.deepEqual(
    b.stored().map(({ attributes }) => JSON.parse(attributes).record_id),
    records.map(({ id }) => id),
  );
  assert.ok(Math.abs(JSON.parse(b.stored()[0]?.values ?? "").channel1_1x - 4.41) < 0.3);
  const reads = b.gateway.reads.length;
  b.maker().readAgain([day], null);
  await b.look();
  assert.equal(b.gateway.reads.length, reads);
  assert.equal(b.stored().length, 3);
});

test("bands – a record that waits while the definition changes gets those that held when it was stored, without names that go", async (t) => {
  const band = { from: 900, to: 1100, unit: "Hz", of: "accel" } as const;
  const custom = (...all: readonly (readonly [string, number])[]): Machine => ({
    ...MACHINE,
    bands: { custom: all.map(([name, to]) => ({ ...band, name, to })) },
  });
  const b = bandBench(t, custom(["hf", 1100], ["old", 1100]));
  await b.look();
  await b.rpm(0, 1500);
  await b.vibration(5);
  await b.look();
  b.site.replace(siteOf(custom(["hf", 950], ["new", 1100])));
  await b.look();
  await b.restart();
  await b.vibration(6);
  await b.rpm(10, 1500);
  await b.look();
  const shown = b.stored().map(({ values }) => Object.entries<number>(JSON.parse(values)));
  assert.deepEqual(
    shown.map((values) => values.map(([name, value]) => [name, value > 0.3])),
    [
      [
        ["channel1_band_hf", true],
        ["speed_rpm", true],
      ],
      [
        ["channel1_band_hf", false],
        ["channel1_band_new", true],
        ["speed_rpm", true],
      ],
    ],
  );
});

test("bands – a reload that changes the definitions of 300 sensors holds the event loop for less than 50 ms", async (t) => {
  const b = bandBench(t);
  const definitions = new HeldDefinitions(b.store.meta);
  const [pump] = b.site.current.sensors;
  const bands = pump?.bands;
  assert.ok(pump !== undefined && bands !== undefined);
  const sensors = Array.from({ length: 300 }, (_, n) => ({ ...pump, bands, code: `${1000 + n}` }));
  definitions.hold(sensors, 1);
  const ms = await longestTurnMs(async () => definitions.hold(sensors, 2));
  t.diagnostic(`${ms.toFixed(1)} ms`);
  assert.ok(ms < 50, `${ms} ms`);
  assert.ok(sensors.every((sensor) => definitions.isHeld(sensor)));
  definitions.forget(sensors.map(({ code }) => code));
  assert.ok(!sensors.some((sensor) => definitions.isHeld(sensor)));
});
