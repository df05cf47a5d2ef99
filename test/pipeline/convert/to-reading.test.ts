import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Reading } from "../../../src/core/reading.ts";
import { readingId } from "../../../src/core/record/identity.ts";
import type { ChannelSamples, RawRecord } from "../../../src/core/record.ts";
import { POLLED_KINDS, type PolledKind, type Sensor } from "../../../src/core/sensor.ts";
import { kindValues } from "../../../src/core/sensors/kind-values.ts";
import { offsetText, readingSteps, toReading } from "../../../src/pipeline/convert/to-reading.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 15);
const plans = new DftPlans();

function recordOf(kind: PolledKind, parts: Partial<RawRecord> = {}): RawRecord {
  return {
    kind,
    sensorCode: "10234",
    fields: {},
    times: {},
    channels: [],
    extra: {},
    faults: [],
    ...parts,
  };
}

function sensorOf(kind: PolledKind, parts: Partial<Sensor> = {}): Sensor {
  return { code: "10234", type: 3, kinds: [kind], channels: {}, ...parts };
}

function convert(
  record: RawRecord,
  sensor: Sensor = sensorOf(record.kind),
  context: Partial<Parameters<typeof toReading>[2]> = {},
): Reading {
  return toReading(record, sensor, {
    id: "5f0c",
    time: { ms: NOW_MS - 60_000, offsetMinutes: -360 },
    timeSource: "time_data",
    gatewayNowMs: NOW_MS,
    plans,
    ...context,
  });
}

/** A 50 Hz tone of 1 G zero-to-peak: 31.19 mm/s peak, 22.06 mm/s RMS. */
const tone = (size = 2048): ChannelSamples => ({
  state: "ok",
  samples: Int16Array.from({ length: size }, (_, n) =>
    Math.round(2000 * Math.sin((2 * Math.PI * 50 * n) / 6400)),
  ),
});
const ABSENT: ChannelSamples = { state: "absent" };
const ACCEL_FIELDS = { calibration: 0.0005, sample_rate: 6400, temperature: 31.5 };
const accel = (channels: ChannelSamples[], fields = {}, parts: Partial<RawRecord> = {}) =>
  recordOf("accel", { channels, fields: { ...ACCEL_FIELDS, ...fields }, ...parts });

const SUFFIXES = [
  "accel_rms",
  "accel_peak",
  "accel_pp",
  "crest_factor",
  "kurtosis",
  "vel_rms",
  "disp_pp",
  "env_rms",
];

function assertLost(reading: Reading, channel: number, reason: string): void {
  for (const suffix of SUFFIXES) {
    const name = `channel${channel}_${suffix}`;
    assert.equal(reading.values[name], null, name);
    assert.deepEqual(reading.quality[name], { quality: "bad", reason }, name);
  }
}

test("accel – without calibration or sample rate no value is invented and no waveform kept", () => {
  for (const fields of [
    { calibration: 0 },
    { calibration: -0.1 },
    { calibration: Number.NaN },
    { sample_rate: 0 },
    { sample_rate: Number.NaN },
  ]) {
    const reading = convert(accel([tone(), tone(), ABSENT], fields));
    assertLost(reading, 1, "no_calibration");
    assertLost(reading, 2, "no_calibration");
    assert.equal(reading.waveform, null);
    assert.equal(reading.values.temperature, 31.5);
  }
});

test("accel – a damaged channel affects only itself, and says how it is damaged", () => {
  const damage = (reason: Extract<ChannelSamples, { state: "damaged" }>["reason"]) =>
    convert(accel([{ state: "damaged", reason, digest: "" }, tone(), tone()]));
  const over = damage("sample_out_of_range");
  assertLost(over, 1, "over_range");
  assert.equal(over.quality.channel2_vel_rms, undefined);
  assert.deepEqual(over.attributes.flags, ["sample_out_of_range"]);
  assert.deepEqual(
    over.waveform?.channels.map(({ channel }) => channel),
    [2, 3],
  );
  const broken = damage("sample_not_integer");
  assertLost(broken, 1, "not_a_number");
  assert.deepEqual(broken.attributes.flags, ["sample_not_integer"]);
});

test("accel – an empty array means no samples, a missing channel 3 is a biaxial node", () => {
  const reading = convert(accel([tone(), { state: "ok", samples: new Int16Array(0) }, ABSENT]));
  assertLost(reading, 2, "missing");
  assert.deepEqual(reading.attributes.flags, ["channel_length_mismatch"]);
  assert.ok(!Object.keys(reading.values).some((name) => name.startsWith("channel3")));
  assert.deepEqual(
    reading.waveform?.channels.map(({ channel }) => channel),
    [1],
  );
  assertLost(convert(accel([ABSENT, tone(), ABSENT])), 1, "missing");
});

test("accel – channels of unequal length keep their own, with a flag", () => {
  const reading = convert(accel([tone(2048), tone(4096), ABSENT]));
  assert.deepEqual(reading.attributes.flags, ["channel_length_mismatch"]);
  assert.deepEqual(
    reading.waveform?.channels.map(({ samples }) => samples.length),
    [2048, 4096],
  );
  assert.equal(reading.attributes.samples, 4096);
});

test("accel – configuration and data that disagree on the third channel are flagged", () => {
  const two = { channel1: {}, channel2: {} };
  const biaxial = sensorOf("accel", { channels: two });
  const three = convert(accel([tone(), tone(), tone()]), biaxial);
  assert.deepEqual(three.attributes.flags, ["channel_count_mismatch"]);
  assert.ok(!("channel3_vel_rms" in three.values), "a channel that is not listed is not published");
  const triaxial = sensorOf("accel", { channels: { ...two, channel3: {} } });
  const missing = convert(accel([tone(), tone(), ABSENT]), triaxial);
  assertLost(missing, 3, "missing");
  assert.deepEqual(missing.attributes.flags, ["channel_count_mismatch"]);
});

test("accel – values, units, attributes and axes of a good record", () => {
  const sensor = sensorOf("accel", {
    channels: { channel1: { axis: "V" }, channel2: { axis: "H" } },
    machineClass: "group2-rigid",
  });
  const reading = convert(
    accel(
      [tone(), tone(), ABSENT],
      { recording_reason: 3, device: "ab", battery_type: 2, hasrealtime: true },
      { times: { time_data: { ms: NOW_MS, offsetMinutes: 120 } } },
    ),
    sensor,
  );
  assert.deepEqual(reading.quality, {});
  const velocity = reading.values.channel1_vel_rms;
  assert.ok(typeof velocity === "number" && Math.abs(velocity - 22.06) < 0.1, `${velocity}`);
  assert.equal(reading.values.channel2_zone, "D");
  const suffixUnits = ["G", "G", "G", "1", "1", "mm/s", "um", "GE"];
  assert.deepEqual(reading.units, {
    ...Object.fromEntries(
      [1, 2].flatMap((n) => SUFFIXES.map((suffix, i) => [`channel${n}_${suffix}`, suffixUnits[i]])),
    ),
    temperature: "degC",
  });
  assert.deepEqual(reading.attributes, {
    battery_type: 2,
    sample_rate: 6400,
    samples: 2048,
    recording_reason: 3,
    device: "ab",
    time_data: "2026-11-20T15:00:00.000Z",
    time_source: "time_data",
    utc_offset: "-0600",
  });
  assert.deepEqual(
    reading.waveform?.channels.map(({ channel, axis }) => [channel, axis]),
    [
      [1, "V"],
      [2, "H"],
    ],
  );
  assert.equal(reading.waveform?.recordingReason, 3);
});

test("accel – what is learned of a reading belongs to the rate and length of its record", () => {
  const shapeOf = (size: number, fields = {}) => convert(accel([tone(size)], fields)).record?.shape;
  const shapes = [shapeOf(2048), shapeOf(4096), shapeOf(2048, { sample_rate: 25_600 })];
  assert.deepEqual(shapes, ["6400/2048", "6400/4096", "25600/2048"]);
});

test("accel – zones follow the configured limits, the displacement check, and the quality of the velocity", () => {
  const record = accel([tone(), tone(), ABSENT]);
  const zone = (parts: Partial<Sensor>, of = record) =>
    convert(of, sensorOf("accel", parts)).values.channel1_zone;
  assert.equal(zone({}), undefined, "without a class there is no zone");
  assert.equal(zone({ limits: [23, 30, 40] }), "A");
  assert.equal(zone({ limits: [5, 30, 40], machineClass: "class1" }), "B");
  // 22.06 mm/s at 50 Hz is 70.2 um RMS: zone C of group 1 rigid, whatever the velocity limits say.
  const limits = [50, 60, 70] as const;
  assert.equal(zone({ limits, machineClass: "group1-rigid" }), "A");
  assert.equal(zone({ limits, machineClass: "group1-rigid", checkDisplacement: true }), "C");
  const short = convert(accel([tone(200), tone(200), ABSENT]), sensorOf("accel", { limits }));
  assert.equal(short.values.channel1_zone, null);
  assert.deepEqual(short.quality.channel1_zone, { quality: "bad", reason: "too_short" });
  assert.deepEqual(short.quality.channel1_accel_rms, { quality: "uncertain", reason: "too_short" });
  const coarse = convert(accel([tone(1024), tone(1024), ABSENT]), sensorOf("accel", { limits }));
  assert.equal(coarse.values.channel1_zone, "A");
  assert.deepEqual(coarse.quality.channel1_zone, { quality: "uncertain", reason: "too_short" });
  const huge = convert(
    accel([tone(), tone(), ABSENT], { calibration: 1e308 }),
    sensorOf("accel", { limits }),
  );
  assert.equal(huge.values.channel1_vel_rms, null);
  assert.equal(huge.values.channel1_zone, null, "a velocity that is bad has no zone");
});

test("accel – clipping is counted per channel and makes every value uncertain", () => {
  const clipped = tone();
  if (clipped.state === "ok") clipped.samples.fill(32767, 10, 15);
  const reading = convert(accel([tone(), clipped, ABSENT]));
  assert.equal(reading.attributes.channel2_clip_count, 5);
  assert.ok(!("channel1_clip_count" in reading.attributes));
  assert.deepEqual(reading.quality.channel2_vel_rms, { quality: "uncertain", reason: "clipped" });
  assert.equal(typeof reading.values.channel2_vel_rms, "number");
});

test("accel – conversion yields between channels with the same result", () => {
  const record = accel([tone(), tone(), tone()]);
  const sensor = sensorOf("accel");
  const context = {
    id: "5f0c",
    time: { ms: NOW_MS, offsetMinutes: null },
    timeSource: "time_data",
    gatewayNowMs: NOW_MS,
  } as const;
  const steps = readingSteps(record, sensor, context);
  let turns = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) turns += 1;
  assert.equal(turns, 2);
  assert.deepEqual(step.value, toReading(record, sensor, context));
});

test("current – only channels with a clamp are published; a missing field is bad", () => {
  const sensor = sensorOf("current", {
    channels: { current1: { clamp: 250 }, current3: { clamp: 50 }, current4: { clamp: 50 } },
  });
  const reading = convert(recordOf("current", { fields: { current1: 4, current2: 9 } }), sensor);
  assert.deepEqual(reading.values, { current1: 10, current3: null });
  assert.deepEqual(reading.units, { current1: "A", current3: "A" });
  assert.deepEqual(reading.quality, { current3: { quality: "bad", reason: "missing" } });
});

test("currentV2 – minimum, maximum and average are independent values", () => {
  const sensor = sensorOf("currentV2", { channels: { current2: { clamp: 100 } } });
  const fields = { min_current2: 11, max_current2: 14.2, avg_current2: Number.NaN, battery: 3.6 };
  const reading = convert(recordOf("currentV2", { fields }), sensor);
  assert.deepEqual(reading.values, {
    current2_min: 11,
    current2_max: 14.2,
    current2_avg: null,
    battery: 3.6,
  });
  assert.deepEqual(reading.quality, {
    current2_avg: { quality: "bad", reason: "not_a_number" },
  });
  assert.equal(reading.units.battery, "V");
});

test("current – a value too large for a number is bad, not infinite", () => {
  const sensor = sensorOf("current", { channels: { current1: { clamp: 500 } } });
  const reading = convert(recordOf("current", { fields: { current1: 1e308 } }), sensor);
  assert.deepEqual(reading.values, { current1: null });
  assert.deepEqual(reading.quality, { current1: { quality: "bad", reason: "not_a_number" } });
});

test("loop – binary rounding noise in a voltage does not move it across a limit", () => {
  const sensor = sensorOf("loop", { channels: { channel1: { unit: "bar", low: 0, high: 10 } } });
  const at = (volts: number) =>
    convert(recordOf("loop", { fields: { channel1_voltage: volts } }), sensor).quality.channel1;
  assert.deepEqual(at(2.1 - 4e-16), { quality: "bad", reason: "over_range" });
  assert.deepEqual(at(0.36 + 1e-16), { quality: "bad", reason: "under_range" });
  assert.equal(at(0.38 - 1e-16), undefined);
  assert.equal(at(2.05 + 4e-16), undefined);
});

test("accCurrent – ampere-hours as received, without any clamp factor", () => {
  const sensor = sensorOf("accCurrent", { channels: { current1: { clamp: 500 } } });
  const reading = convert(
    recordOf("accCurrent", {
      fields: { accumulated_current1: 7.25 },
      times: { startPeriod: { ms: NOW_MS - 3_600_000, offsetMinutes: 0 } },
      faults: [{ field: "accumulated_current3", reason: "not_a_number" }],
    }),
    sensor,
    { timeSource: "endPeriod", time: { ms: NOW_MS, offsetMinutes: null } },
  );
  assert.deepEqual(reading.values, { accumulated_current1: 7.25 });
  assert.deepEqual(reading.attributes, { startPeriod: "2026-11-20T14:00:00.000Z" });
});

test("loop – the current is published in every state, the value only if it can be trusted", () => {
  const sensor = sensorOf("loop", {
    channels: {
      channel1: { unit: "bar", low: 0, high: 10 },
      channel2: { unit: "bar", low: 0, high: 10 },
      channel4: { unit: "m", low: 0, high: 4 },
    },
  });
  const fields = { channel1_voltage: 1.2, channel2_voltage: 0.1, channel3_voltage: 1 };
  const reading = convert(recordOf("loop", { fields }), sensor);
  assert.deepEqual(reading.values, {
    channel1: 5,
    channel1_ma: 12,
    channel2: null,
    channel2_ma: 1,
    channel4: null,
    channel4_ma: null,
  });
  assert.deepEqual(reading.quality, {
    channel2: { quality: "bad", reason: "wire_break" },
    channel4: { quality: "bad", reason: "missing" },
    channel4_ma: { quality: "bad", reason: "missing" },
  });
  assert.equal(reading.units.channel1, "bar");
  assert.equal(reading.units.channel1_ma, "mA");
});

test("dryContact – booleans and 0 or 1, inverted if configured, anything else is bad", () => {
  const sensor = sensorOf("dryContact", {
    channels: { input1: {}, input2: { invert: true }, input3: {} },
  });
  const fields = { input1: true, input2: 1, input3: 2 };
  const reading = convert(recordOf("dryContact", { fields }), sensor);
  assert.deepEqual(reading.values, { input1: true, input2: false, input3: null });
  assert.deepEqual(reading.units, {});
  assert.deepEqual(reading.quality, { input3: { quality: "bad", reason: "not_a_number" } });
});

test("accCurrent and dryContact – if channels are listed, only those are published, whatever the record contains", () => {
  const fields = { input1: true, input2: false, input3: true, input4: true };
  const listed = sensorOf("dryContact", { channels: { input2: {}, input4: {} } });
  const contacts = convert(recordOf("dryContact", { fields }), listed);
  assert.deepEqual(contacts.values, { input2: false, input4: true });
  const charge = convert(
    recordOf("accCurrent", { fields: { accumulated_current1: 1, accumulated_current4: 4 } }),
    sensorOf("accCurrent", { channels: { current4: { clamp: 100 } } }),
  );
  assert.deepEqual(charge.values, { accumulated_current4: 4 });
});

test("kinds without channels – a value that did not arrive is missing, unless the site file lists only others", () => {
  const missing = { quality: "bad", reason: "missing" };
  const contact = (parts: Partial<Sensor>) =>
    convert(recordOf("dryContact", { fields: { input1: true } }), sensorOf("dryContact", parts));
  const whole = contact({});
  assert.deepEqual(whole.values, { input1: true, input2: null, input3: null, input4: null });
  assert.deepEqual(whole.quality, { input2: missing, input3: missing, input4: missing });
  assert.deepEqual(contact({ channels: { input1: {}, input3: {} } }).values, {
    input1: true,
    input3: null,
  });
  const charge = convert(recordOf("accCurrent"), sensorOf("accCurrent"));
  assert.deepEqual(
    Object.keys(charge.values),
    [1, 2, 3, 4].map((n) => `accumulated_current${n}`),
  );
  assert.deepEqual(charge.quality["accumulated_current4"], missing);
});

test("rpm – a speed is present, or bad with its reason", () => {
  const rpm = (fields: RawRecord["fields"]) => convert(recordOf("rpm", { fields }));
  assert.deepEqual(rpm({ RPM: 1487.5 }).values, { rpm: 1487.5 });
  assert.equal(rpm({ RPM: 0 }).values.rpm, 0);
  assert.equal(rpm({ RPM: -1 }).quality.rpm?.reason, "under_range");
  assert.equal(rpm({}).quality.rpm?.reason, "missing");
  assert.equal(rpm({ RPM: Number.NaN }).quality.rpm?.reason, "not_a_number");
});

test("flags – a time beyond tomorrow, flags of the caller, and an unknown recording reason", () => {
  const future = { time: { ms: NOW_MS + 86_400_001, offsetMinutes: null } };
  const reading = convert(recordOf("rpm", { fields: { RPM: 1 } }), sensorOf("rpm"), {
    ...future,
    flags: ["partial_answer"],
  });
  assert.deepEqual(reading.attributes, { flags: ["partial_answer", "time_in_future"] });
  const edge = convert(recordOf("rpm"), sensorOf("rpm"), {
    time: { ms: NOW_MS + 86_400_000, offsetMinutes: null },
  });
  assert.deepEqual(edge.attributes, {});
  const odd = convert(accel([tone(), tone(), ABSENT], { recording_reason: 9 }));
  assert.deepEqual(odd.attributes.flags, ["recording_reason_unknown"]);
  assert.equal(odd.attributes.recording_reason, 9);
  const times = { realnodetime: { ms: 1e12, offsetMinutes: null } };
  const fallback = convert(accel([tone(), tone(), ABSENT], {}, { times }));
  assert.deepEqual(fallback.attributes.flags, ["time_from_time_data"]);
});

test("offset – hours and minutes with their sign, none if the wire had none", () => {
  assert.equal(offsetText(-360), "-0600");
  assert.equal(offsetText(345), "+0545");
  assert.equal(offsetText(-210), "-0330");
  assert.equal(offsetText(0), "+0000");
  assert.equal(offsetText(null), null);
});

test("raw – times stay as received, and no id changes with their spelling", () => {
  const time = { ms: NOW_MS, offsetMinutes: 120 };
  const written = recordOf("rpm", {
    fields: { RPM: 1500 },
    times: { time_data: time },
    timeTexts: { time_data: `/Date(${NOW_MS}+0200)/` },
  });
  const reading = convert(written, sensorOf("rpm"));
  assert.equal(reading.raw.time_data, `/Date(${NOW_MS}+0200)/`);
  assert.equal(
    readingId("1", "rpm", NOW_MS, written),
    readingId("1", "rpm", NOW_MS, { ...written, timeTexts: { time_data: "other" } }),
  );
});

test("raw – neutral names, times as text, no samples, and unknown members stay plain data", () => {
  const extra: RawRecord["extra"] = JSON.parse('{"__proto__": {"polluted": 1}, "RPM": 5}');
  const reading = convert(
    recordOf("rpm", {
      fields: { RPM: Number.NaN, version: 12 },
      times: { time_data: { ms: 0, offsetMinutes: null } },
      extra,
    }),
  );
  assert.equal(
    JSON.stringify(reading.raw),
    '{"__proto__":{"polluted":1},"RPM":null,"sensor_code":"10234","version":12,"time_data":"1970-01-01T00:00:00.000Z"}',
  );
  assert.equal(Object.getPrototypeOf(reading.raw), Object.prototype);
  assert.equal(reading.raw.RPM, null);
});

test("kindValues – names, units and order are those of a full reading", () => {
  const full: Record<PolledKind, [RawRecord, Partial<Sensor>]> = {
    accel: [accel([tone(), tone(), tone()]), { machineClass: "class1" }],
    current: [recordOf("current"), { channels: { current1: { clamp: 50 } } }],
    currentV2: [recordOf("currentV2"), { channels: { current4: { clamp: 50 } } }],
    accCurrent: [
      recordOf("accCurrent", {
        fields: Object.fromEntries([1, 2, 3, 4].map((n) => [`accumulated_current${n}`, n])),
      }),
      {},
    ],
    loop: [recordOf("loop"), { channels: { channel2: { unit: "bar", low: 0, high: 1 } } }],
    dryContact: [
      recordOf("dryContact", {
        fields: { input1: true, input2: true, input3: false, input4: false },
      }),
      {},
    ],
    rpm: [recordOf("rpm"), {}],
  };
  for (const kind of POLLED_KINDS) {
    const [record, parts] = full[kind];
    const hasHealth = kind !== "accel" && kind !== "accCurrent";
    const health = hasHealth ? { battery: 3.6, module_temperature: 21 } : {};
    const sensor = sensorOf(kind, parts);
    const reading = convert({ ...record, fields: { ...record.fields, ...health } }, sensor);
    const promised = kindValues(sensor, kind);
    assert.deepEqual(
      promised.map(({ name }) => name),
      Object.keys(reading.values),
      kind,
    );
    for (const { name, unit, type } of promised) {
      assert.equal(reading.units[name] ?? null, unit, name);
      const value = reading.values[name];
      if (value !== null) assert.equal(typeof value, type, name);
    }
  }
});

test("kindValues – of contacts and ampere-hours, only the listed channels once one is listed", () => {
  const promised = (kind: "dryContact" | "accCurrent", channels: Sensor["channels"]) => {
    const sensor = sensorOf(kind, { channels });
    const fields = Object.fromEntries(
      [1, 2, 3, 4].flatMap((n) => [
        [`input${n}`, true],
        [`accumulated_current${n}`, n],
      ]),
    );
    const reading = convert(recordOf(kind, { fields }), sensor);
    const names = kindValues(sensor, kind).map(({ name }) => name);
    const measured = names.filter((name) => /\d$/.test(name));
    assert.deepEqual(measured, Object.keys(reading.values), kind);
    return measured;
  };
  assert.deepEqual(promised("dryContact", { input3: {}, input1: { name: "Door" } }), [
    "input1",
    "input3",
  ]);
  assert.deepEqual(promised("accCurrent", { current2: { clamp: 100 } }), ["accumulated_current2"]);
});

test("a node of several kinds keeps its vibration and its loop channels separate", () => {
  const sensor = sensorOf("accel", {
    kinds: ["accel", "loop"],
    channels: { channel1: { axis: "A" }, channel4: { unit: "bar", low: 0, high: 10 } },
  });
  const names = (kind: PolledKind) => kindValues(sensor, kind).map(({ name }) => name);
  assert.deepEqual(names("loop").slice(0, 2), ["channel4", "channel4_ma"]);
  assert.ok(names("accel").every((name) => name.startsWith("channel1") || name === "temperature"));
});

test("conversion is total – any fields give finite values, bad is null, and JSON keeps all", () => {
  const anyNumber = fc.oneof(
    fc.double(),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 1e308, -0, 0, -5, 1.2),
  );
  const anyField = fc.oneof(anyNumber, fc.boolean(), fc.string({ maxLength: 4 }));
  const names = [
    "battery",
    "module_temperature",
    "version",
    "RPM",
    "calibration",
    "sample_rate",
    "recording_reason",
    "temperature",
    ...[1, 2, 3, 4].flatMap((n) => [
      `current${n}`,
      `min_current${n}`,
      `max_current${n}`,
      `avg_current${n}`,
      `accumulated_current${n}`,
      `channel${n}_voltage`,
      `input${n}`,
    ]),
  ];
  const channels = Object.fromEntries(
    [1, 2, 3, 4].flatMap((n) => [
      [`current${n}`, { clamp: 500 }],
      [`channel${n}`, { unit: "bar", low: -1e308, high: 1e308 }],
    ]),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...POLLED_KINDS),
      fc.dictionary(fc.constantFrom(...names), anyField),
      fc.boolean(),
      (kind, fields, isConfigured) => {
        const record = recordOf(kind, { fields, channels: [tone(300), tone(20), ABSENT] });
        const sensor = sensorOf(kind, isConfigured ? { channels, machineClass: "class2" } : {});
        const reading = convert(record, sensor);
        const { values, units, quality, attributes, raw } = reading;
        for (const [name, value] of Object.entries(values)) {
          assert.equal(value === null, quality[name]?.quality === "bad", `${name} ${value}`);
          if (typeof value === "number") assert.ok(Number.isFinite(value), name);
          if (typeof value === "number") assert.ok(units[name], `${name} has a unit`);
        }
        for (const name of Object.keys({ ...quality, ...units })) assert.ok(name in values, name);
        for (const part of [values, attributes, raw]) {
          assert.ok(!JSON.stringify(part).includes("undefined"));
        }
      },
    ),
    { numRuns: 300 },
  );
});
