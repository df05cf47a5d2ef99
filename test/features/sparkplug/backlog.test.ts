import assert from "node:assert/strict";
import { test } from "node:test";
import { fixedSite } from "../../../src/core/site-source.ts";
import type { StoredReading } from "../../../src/core/stored-reading.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { property, rebirth, valueOf } from "./peer.ts";
import { MOTOR, metric, PUMP, TestSite, WAVE } from "./site.ts";

const skip = skipWithoutMosquitto;
const allMetrics = (site: TestSite, device: string) =>
  site.of("DDATA", device).flatMap(({ payload }) => payload.metrics);

test("sparkplug – a backlog arrives complete, historical, oldest first, in limited messages, after the newest reading", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const count = 1500;
  for (let i = 0; i < count; i++) site.append(site.reading({ channel1: i, channel1_ma: i }));
  site.run(site.node());
  await site.settled(count);
  const metrics = allMetrics(site, PUMP.code).filter((m) => m.name === "loop/channel1");
  const [first, ...rest] = metrics;
  assert.equal(valueOf(first), count - 1);
  assert.equal(first?.isHistorical ?? false, false);
  assert.deepEqual(
    rest.map(valueOf),
    Array.from({ length: count - 1 }, (_, i) => i),
  );
  assert.ok(rest.every((m) => m.isHistorical));
  for (const { payload } of site.of("DDATA")) assert.ok(payload.metrics.length <= 500);
});

test("sparkplug – seq continues without a gap past 256 messages, over live data, backlog and a rebirth", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  for (let i = 0; i < 300; i++) {
    const count = i + 1;
    site.append(site.reading({ channel1: i }));
    await site.until((m) => m.filter(({ verb }) => verb === "DDATA").length >= count);
  }
  const { client, close } = await site.command();
  await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth());
  await close();
  await site.until((m) => m.filter(({ verb }) => verb === "NBIRTH").length === 2);
  let expected = 0;
  for (const { verb, payload } of site.seen) {
    expected = verb === "NBIRTH" ? 0 : (expected + 1) % 256;
    assert.equal(payload.seq, expected);
  }
});

test("sparkplug – a paced backlog keeps its rate and gives way to live readings and rebirths", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  // Ten devices, so that the backlog is many messages.
  const sensors = Array.from({ length: 10 }, (_, i) => ({ ...PUMP, code: `${100 + i}` }));
  for (const { code } of sensors) site.states.set(code, { state: "online", lastReadingMs: null });
  for (const { code: sensor } of sensors) {
    site.append(
      site.reading({ channel1: 0 }, { sensor }),
      site.reading({ channel1: 1 }, { sensor }),
    );
  }
  site.run(site.node({ site: fixedSite({ site: "s", sensors }), backlogRatePerS: 5 }));
  const historical = () =>
    site.of("DDATA").filter((m) => m.payload.metrics.some((x) => x.isHistorical));
  await site.until(() => historical().length === 2);
  assert.equal(site.of("DDATA").filter((m) => !m.payload.metrics[0]?.isHistorical).length, 10);
  site.append(site.reading({ channel1: 7 }, { sensor: "105" }));
  await site.until((m) => m.some(({ payload }) => valueOf(payload.metrics[0]) === 7));
  const { client, close } = await site.command();
  await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth());
  await close();
  await site.until((m) => m.filter(({ verb }) => verb === "NBIRTH").length === 2);
  assert.ok(historical().length < 8, "neither waited for the backlog");
  await site.settled(21);
  const times = historical().map((m) => m.at);
  assert.equal(new Set(historical().map((m) => m.device)).size, 10);
  assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) > 1500, "10 messages at 5 a second");
});

function measured(site: TestSite, reason: number, fileIds: number[]): StoredReading {
  return site.reading(
    { channel1_accel_rms: 1 },
    {
      sensor: MOTOR.code,
      kind: "accel",
      attributes: JSON.stringify({ recording_reason: reason }),
      waveforms: fileIds.map((fileId) => ({ fileId, channel: fileId, axis: "H" as const })),
    },
  );
}

test("sparkplug – a waveform is a Bytes metric of little-endian floats, announced in the birth, and sent after the scalars", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  site.waveforms.set(1, WAVE);
  site.waveforms.set(2, { ...WAVE, fileId: 2, channel: 2, axis: "V" });
  site.append(measured(site, 3, [1, 2]));
  for (let i = 0; i < 600; i++) site.append(site.reading({ channel1: i }));
  site.run(site.node());
  await site.settled(602);
  const born = metric(site.of("DBIRTH", MOTOR.code)[0], "accel/waveform/channel1");
  assert.equal(born?.datatype, 17);
  assert.equal(born?.isNull, true);
  assert.equal(property(born, "engUnit")?.stringValue, "G");
  assert.equal(property(born, "axis")?.stringValue, "H");
  const isWaveform = (m: { name?: string }) => m.name?.startsWith("accel/waveform/") ?? false;
  const data = site.of("DDATA");
  const first = data.findIndex((m) => m.payload.metrics.some(isWaveform));
  assert.equal(data.length - first, 2, "both channels come last");
  const [wave, ...others] = data[first]?.payload.metrics ?? [];
  assert.equal(others.length, 0);
  const bytes = Buffer.from(wave?.bytesValue ?? []);
  assert.deepEqual(
    [0, 4, 8, 12].map((at) => bytes.readFloatLE(at)),
    [-1, -0.5, 0, 1.5],
  );
  assert.equal(property(wave, "sampleRate")?.doubleValue, 6400);
  assert.equal(property(wave, "Quality")?.intValue, 192);
  assert.equal(wave?.timestamp, WAVE.timeMs);
  assert.equal(wave?.isHistorical ?? false, false, "it is the newest of its sensor");
  assert.deepEqual(wave?.metadata, { contentType: "application/octet-stream", size: 16 });
});

test("sparkplug – a silent sensor gets no death between two of its pending waveforms", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  site.states.set(MOTOR.code, { state: "silent", lastReadingMs: null });
  site.waveforms.set(1, WAVE);
  site.run(site.node());
  await site.until((m) => m.some(({ verb }) => verb === "DBIRTH"));
  site.outbox.add("sparkplugWaveform", [measured(site, 3, [1])]);
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  // What a tick publishes about the node comes behind the deaths it found.
  site.nodeValues = [{ name: "gateway/up", type: "Boolean", value: false }];
  await site.until((m) => m.some(({ verb }) => verb === "NDATA"));
  assert.deepEqual(
    site.verbs().filter((verb) => verb.endsWith(MOTOR.code)),
    [`DBIRTH ${MOTOR.code}`, `DDATA ${MOTOR.code}`],
  );
});

test("sparkplug – waveforms that are not selected or deleted leave the lane without a message", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  site.waveforms.set(1, WAVE);
  site.append(measured(site, 2, [1]), measured(site, 3, [77]));
  site.run(site.node({ waveforms: "alarm" }));
  await site.settled(1, "skipped");
  await site.settled(3);
  const names = allMetrics(site, MOTOR.code).map((m) => m.name);
  assert.ok(names.every((name) => name === "accel/channel1_accel_rms"));
});

test("sparkplug – a message over the broker's limit is not sent, is parked and blocks nothing; seq has no gap", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t, { maxPacketSize: 8000 });
  site.waveforms.set(1, { ...WAVE, samples: new Int16Array(4096) });
  site.append(measured(site, 3, [1]));
  for (let i = 0; i < 400; i++) site.append(site.reading({ channel1: i }));
  site.append(site.reading({ text: "x".repeat(9000) }, { kind: "rpm", values: '{"rpm":1}' }));
  const huge = site.reading({ rpm: 1, note: "x".repeat(9000) }, { kind: "rpm", timeMs: 1 });
  site.outbox.add("sparkplug", [huge]);
  site.run(site.node());
  await site.settled(402);
  await site.settled(2, "oversize");
  assert.deepEqual(
    site.outbox.settled.filter((s) => s.outcome === "oversize").map((s) => s.lane),
    ["sparkplug", "sparkplugWaveform"],
  );
  for (const [index, { payload }] of site.seen.entries()) assert.equal(payload.seq, index % 256);
});

test("sparkplug – history that is divided for the broker's limit is no refused topic", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t, { maxPacketSize: 4000 });
  for (let i = 0; i < 400; i++) site.append(site.reading({ channel1: i }));
  const node = site.node();
  site.run(node);
  await site.settled(400);
  assert.equal(node.state.refused, null);
});

test("sparkplug – MQTT 4: a broker that disconnects on a large packet is sent it three times, then never again", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t, { maxPacketSize: 9000 });
  site.waveforms.set(1, { ...WAVE, samples: new Int16Array(4096) });
  site.append(measured(site, 3, [1]));
  site.run(site.node({ link: { version: 4 } }));
  await site.settled(1, "oversize");
  site.append(site.reading({ channel1: 1 }));
  await site.settled(2);
  await site.until((m) => m.some(({ device, verb }) => verb === "DDATA" && device === PUMP.code));
  const births = site.of("NBIRTH").length;
  assert.equal(births, 4);
});
