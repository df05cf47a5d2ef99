import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Message } from "../../../../src/core/message.ts";
import type { Kind, Sensor } from "../../../../src/core/sensor.ts";
import { fixedSite, ReplaceableSite } from "../../../../src/core/site-source.ts";
import type { StoredWaveform } from "../../../../src/core/stored-reading.ts";
import { topicLevel } from "../../../../src/core/topics/topic-level.ts";
import { createTopics } from "../../../../src/core/topics/topics.ts";
import { aboutPayload } from "../../../../src/pipeline/publish/formats/about.ts";
import { createTimeText } from "../../../../src/pipeline/publish/formats/encoder.ts";
import { createJsonEncoder } from "../../../../src/pipeline/publish/formats/json.ts";
import { createPlainEncoder } from "../../../../src/pipeline/publish/formats/plain.ts";
import { createWaveformEncoder } from "../../../../src/pipeline/publish/formats/waveform.ts";
import { storedReading } from "../../../support/memory-outbox.ts";

const sensor: Sensor = {
  code: "20871",
  type: 9,
  name: 'Pump "4" – größe',
  kinds: ["currentV2"],
  location: { company: 1, area: 2, machine: 40, point: 1, names: { machine: "Pump 4" } },
  channels: {},
};
const reading = storedReading(7, {
  id: "5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c",
  sensor: "20871",
  kind: "currentV2",
  timeMs: Date.parse("2026-11-20T15:04:05Z"),
  values: '{"current1_avg":12.5,"current2_avg":null,"battery":3.6}',
  units: '{"current1_avg":"A","current2_avg":"A","battery":"V"}',
  quality: '{"current2_avg":{"quality":"bad","reason":"missing"}}',
  attributes: '{"version":12,"utc_offset":"-0600"}',
  raw: '{"max1":5}',
});
const json = (withRaw: boolean, sensors = [sensor]) =>
  createJsonEncoder({
    prefix: "gateside",
    site: "plant-7",
    source: fixedSite({ site: "plant-7", sensors }),
    withRaw,
  });
const source = fixedSite({ site: "plant-7", sensors: [] });
const only = (messages: readonly Message[]): Message => {
  assert.equal(messages.length, 1);
  return messages[0] as Message;
};

test("json – a live reading is the contract's text, byte for byte, retained on its live topic", () => {
  const message = only(json(false)({ reading, live: true }));
  assert.equal(
    message.payload,
    '{"v":1,"id":"5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c","site":"plant-7","sensor":"20871","kind":"currentV2",' +
      '"name":"Pump \\"4\\" – größe","time":"2026-11-20T15:04:05.000Z",' +
      '"values":{"current1_avg":12.5,"current2_avg":null,"battery":3.6},' +
      '"units":{"current1_avg":"A","current2_avg":"A","battery":"V"},' +
      '"quality":{"current2_avg":{"quality":"bad","reason":"missing"}},' +
      '"attributes":{"version":12,"utc_offset":"-0600"},' +
      '"location":{"company":1,"area":2,"machine":40,"point":1,"names":{"machine":"Pump 4"}},' +
      '"historical":false}',
  );
  const { payload: _, ...rest } = message;
  assert.deepEqual(rest, {
    topic: "gateside/plant-7/20871/currentV2",
    qos: 1,
    retain: true,
    contentType: "application/json",
    userProperties: { id: reading.id, kind: "currentV2" },
  });
});

test("json – everything else is historical, not retained, on the history topic; raw only if requested", () => {
  const message = only(json(true, [])({ reading, live: false }));
  assert.equal(message.topic, "gateside/plant-7/20871/currentV2/history");
  assert.equal(message.retain, false);
  const body = JSON.parse(String(message.payload));
  assert.deepEqual(Object.keys(body), [
    "v",
    "id",
    "site",
    "sensor",
    "kind",
    "time",
    "values",
    "units",
    "quality",
    "attributes",
    "raw",
    "historical",
  ]);
  assert.deepEqual(body.raw, { max1: 5 });
  assert.equal(body.historical, true);
});

test("plain – bare values as text; a bad one clears its topic; history is not sent", () => {
  const pump: Sensor = {
    code: "20871",
    type: 3,
    kinds: ["accel", "dryContact"],
    channels: {},
    machineClass: "group1-rigid",
  };
  const site = fixedSite({ site: "plant-7", sensors: [pump] });
  const encode = createPlainEncoder({ prefix: "a/b", site: "plant-7", source: site });
  const plain = (kind: Kind, values: string) =>
    encode({ reading: { ...reading, kind, values }, live: true }).map(
      ({ topic, payload, qos, retain }) => [topic, payload, qos, retain],
    );
  assert.deepEqual(
    plain("accel", '{"channel1_vel_rms":12.5,"channel1_zone":"B","channel2_vel_rms":null}'),
    [
      ["a/b/plant-7/20871/accel/channel1_vel_rms", "12.5", 1, true],
      ["a/b/plant-7/20871/accel/channel1_zone", "B", 1, true],
      ["a/b/plant-7/20871/accel/channel2_vel_rms", "", 1, true],
    ],
  );
  assert.deepEqual(plain("dryContact", '{"input1":true}'), [
    ["a/b/plant-7/20871/dryContact/input1", "true", 1, true],
  ]);
  assert.deepEqual(encode({ reading, live: false }), []);
});

test("plain – late readings of a value that the site file no longer names are sent, but not retained again", () => {
  const pump: Sensor = {
    code: "20871",
    type: 9,
    kinds: ["currentV2"],
    channels: { current1: { clamp: 100 } },
  };
  const site = fixedSite({ site: "plant-7", sensors: [pump] });
  const encode = createPlainEncoder({ prefix: "a", site: "plant-7", source: site });
  const values = '{"current1_avg":1,"current2_avg":2,"battery":3.6}';
  const retained = (kind: Kind, sensor = "20871") =>
    encode({ reading: { ...reading, sensor, kind, values }, live: true }).map(
      ({ retain }) => retain,
    );
  assert.deepEqual(retained("currentV2"), [true, false, true]);
  assert.deepEqual(retained("rpm"), [false, false, false]);
  assert.deepEqual(retained("currentV2", "20872"), [false, false, false]);
});

const waveform: StoredWaveform = {
  fileId: 3,
  sensor: "10234",
  timeMs: Date.parse("2026-11-20T15:04:05.007Z"),
  readingId: "ab",
  channel: 2,
  axis: "V",
  samples: Int16Array.of(1, 2, 3, 6),
  sampleRateHz: 6400,
  calibration: 0.5,
  recordingReason: 3,
};
const accel = storedReading(1, {
  sensor: "10234",
  kind: "accel",
  waveforms: [
    { fileId: 3, channel: 2, axis: "V" },
    { fileId: 4, channel: 3, axis: "A" },
  ],
});
const waveformsOf = (reason: number | null, which: "always" | "alarm" = "alarm") =>
  createWaveformEncoder(
    { read: (id) => (id === 3 ? { ...waveform, recordingReason: reason } : null) },
    { prefix: "gateside", site: "plant-7", source, which },
  );

test("waveform – one message per channel that is still stored, mean-free G as little-endian floats", () => {
  const message = only(waveformsOf(3)({ reading: accel, live: false }));
  assert.equal(message.topic, "gateside/plant-7/10234/waveform/channel2");
  assert.deepEqual([message.qos, message.retain], [1, false]);
  const { base64, ...body } = JSON.parse(String(message.payload));
  assert.deepEqual(body, {
    v: 1,
    id: "ab",
    site: "plant-7",
    sensor: "10234",
    time: "2026-11-20T15:04:05.007Z",
    channel: "channel2",
    axis: "V",
    unit: "G",
    sampleRate: 6400,
    samples: 4,
    recordingReason: "alarm",
  });
  // Counts less their mean 3, times 0.5 G.
  const bytes = Buffer.from(base64, "base64");
  assert.deepEqual(
    [0, 4, 8, 12].map((at) => bytes.readFloatLE(at)),
    [-1, -0.5, 0, 1.5],
  );
});

test("waveform – `alarm` sends only alarms and requests, `always` sends all, each with its reason", () => {
  const words = (which: "always" | "alarm") =>
    [1, 2, 3, 9, null].map((reason) => {
      const [message] = waveformsOf(reason, which)({ reading: accel, live: true });
      return message ? JSON.parse(String(message.payload)).recordingReason : null;
    });
  assert.deepEqual(words("alarm"), ["requested", null, "alarm", null, null]);
  assert.deepEqual(words("always"), ["requested", "scheduled", "alarm", "unknown", "unknown"]);
  const scheduled = { ...accel, attributes: '{"recording_reason":2}' };
  const reader = {
    read: () => assert.fail("samples of an unwanted recording are not read"),
  };
  const encode = createWaveformEncoder(reader, { prefix: "p", site: "s", source, which: "alarm" });
  assert.deepEqual(encode({ reading: scheduled, live: true }), []);
});

test("topics – no code can break out of its level", () => {
  assert.equal(topicLevel("a+b#c/d\u0000e\u001f\u007f\u0085\ud800z😀é"), "a_b_c_d_e____z😀é");
  const topics = createTopics("gateside", "plant/7#");
  assert.equal(topics.reading("+", "accel"), "gateside/plant_7_/_/accel");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (code) => {
      const { reading: topicOf } = createTopics("p", "s");
      assert.doesNotMatch(topicOf(code, "rpm"), /[+#\0]/);
      assert.equal(topicOf(code, "rpm").split("/").length, 4);
    }),
  );
});

test("time text – agrees with toISOString for any instant", () => {
  const timeText = createTimeText();
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 4e12 }), (ms) => {
      assert.equal(timeText(ms), new Date(ms).toISOString());
    }),
  );
});

test("json – channels carry name and axis if the site file gives them, and follow a changed site file", () => {
  const labelled: Sensor = {
    code: "20871",
    type: 9,
    kinds: ["currentV2"],
    channels: { current1: { clamp: 100, name: "L1" }, current2: { clamp: 100 } },
  };
  const site = new ReplaceableSite({ site: "plant-7", sensors: [labelled] });
  const encode = createJsonEncoder({
    prefix: "gateside",
    site: "plant-7",
    source: site,
    withRaw: false,
  });
  const channels = () => JSON.parse(String(only(encode({ reading, live: true })).payload)).channels;
  assert.deepEqual(channels(), { current1: { name: "L1" } });
  site.replace({
    site: "plant-7",
    sensors: [{ ...labelled, channels: { current1: { clamp: 100, name: "Phase 1" } } }],
  });
  assert.deepEqual(channels(), { current1: { name: "Phase 1" } });
  site.replace({ site: "plant-7", sensors: [{ ...labelled, channels: {} }] });
  assert.equal(channels(), undefined);
});

test("json – bands carry the names and directions of the channels they are measured on", () => {
  const channels = { channel1: { axis: "H", name: "Drive end" }, channel2: {} } as const;
  const sensor: Sensor = { code: "20871", type: 3, kinds: ["accel"], channels };
  const encode = createJsonEncoder({
    prefix: "gateside",
    site: "plant-7",
    source: new ReplaceableSite({ site: "plant-7", sensors: [sensor] }),
    withRaw: false,
  });
  const bands = {
    ...reading,
    kind: "bands" as const,
    values: JSON.stringify({ channel1_1x: 0.4 }),
  };
  const body = JSON.parse(String(only(encode({ reading: bands, live: true })).payload));
  assert.deepEqual(body.channels, { channel1: { name: "Drive end", axis: "H" } });
});

test("waveform – carries only the label of its own channel", () => {
  const vibration: Sensor = {
    code: "10234",
    type: 3,
    kinds: ["accel"],
    channels: { channel1: { axis: "H" }, channel2: { axis: "V", name: "Drive end" } },
  };
  const encode = createWaveformEncoder(
    { read: (id) => (id === 3 ? waveform : null) },
    {
      prefix: "gateside",
      site: "plant-7",
      source: fixedSite({ site: "plant-7", sensors: [vibration] }),
      which: "always",
    },
  );
  const body = JSON.parse(String(only(encode({ reading: accel, live: true })).payload));
  assert.deepEqual(body.channels, { channel2: { name: "Drive end", axis: "V" } });
});

test("json – an uplink that selects values gets only those, and no message if there are none", () => {
  const encode = (isWanted: (name: string) => boolean) =>
    createJsonEncoder({ prefix: "g", site: "s", source, withRaw: false, isWanted });
  const body = JSON.parse(
    String(only(encode((name) => name.startsWith("current2"))({ reading, live: true })).payload),
  );
  assert.deepEqual(body.values, { current2_avg: null });
  assert.deepEqual(body.units, { current2_avg: "A" });
  assert.deepEqual(body.quality, { current2_avg: { quality: "bad", reason: "missing" } });
  assert.deepEqual(encode(() => false)({ reading, live: true }), []);
});

test("encoders – compact readings carry no units, names or location; the description carries the units by kind and value", () => {
  const channels = { current1: { clamp: 100, name: "L1" }, current2: { clamp: 100 } } as const;
  const site = fixedSite({ site: "plant-7", sensors: [{ ...sensor, channels }] });
  const options = { prefix: "gateside", site: "plant-7", source: site, withRaw: false };
  const [message] = createJsonEncoder({ ...options, compact: true })({ reading, live: true });
  const body: Record<string, unknown> = JSON.parse(String(message?.payload));
  for (const member of ["units", "name", "location", "channels"])
    assert.equal(member in body, false, member);
  assert.deepEqual(body["values"], { current1_avg: 12.5, current2_avg: null, battery: 3.6 });
  const loop: Sensor = {
    code: "30007",
    type: 12,
    kinds: ["loop"],
    channels: { channel1: { name: "Suction", unit: "bar", low: 0, high: 10 } },
  };
  // Stored before the channel's unit was corrected, or of a sensor that is no longer described.
  const unitsOf = (sensors: readonly Sensor[], units: object) => {
    const source = fixedSite({ site: "plant-7", sensors });
    const stored = { ...reading, sensor: "30007", kind: "loop" as const };
    const values = JSON.stringify({ channel1: 5, battery: 3.6 });
    const [sent] = createJsonEncoder({ ...options, source, compact: true })({
      reading: { ...stored, values, units: JSON.stringify(units) },
      live: true,
    });
    return JSON.parse(String(sent?.payload)).units;
  };
  assert.equal(unitsOf([loop], { channel1: "bar", battery: "V" }), undefined);
  assert.deepEqual(unitsOf([loop], { channel1: "kPa", battery: "V" }), {
    channel1: "kPa",
    battery: "V",
  });
  assert.deepEqual(unitsOf([], { channel1: "bar" }), { channel1: "bar" });
  const about = (withUnits: boolean) => JSON.parse(aboutPayload("plant-7", loop, withUnits));
  assert.deepEqual(about(true).units, {
    loop: { channel1: "bar", channel1_ma: "mA", battery: "V", module_temperature: "degC" },
  });
  assert.equal("units" in about(false), false);
});
