import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../../src/core/ports.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { property, rebirth, valueFields, valueOf } from "./peer.ts";
import { MOTOR, metric, PUMP, TestSite } from "./site.ts";

const skip = skipWithoutMosquitto;
const isData = ({ verb }: { verb: string }) => verb === "DDATA";

test("sparkplug – births come first: NBIRTH, every DBIRTH, then data", { skip }, async (t) => {
  const site = await TestSite.open(t);
  site.append(site.reading({ channel1: 4.5, channel1_ma: 11.2 }));
  site.run(site.node());
  await site.until((m) => m.some(isData));
  assert.deepEqual(site.verbs(), ["NBIRTH", "DBIRTH 30007", "DBIRTH 20871", "DDATA 30007"]);
  assert.deepEqual(
    site.seen.map((m) => m.topic),
    [
      "spBv1.0/plant/NBIRTH/edge",
      "spBv1.0/plant/DBIRTH/edge/30007",
      "spBv1.0/plant/DBIRTH/edge/20871",
      "spBv1.0/plant/DDATA/edge/30007",
    ],
  );
  assert.deepEqual(
    site.seen.map((m) => m.payload.seq),
    [0, 1, 2, 3],
  );
});

test("sparkplug – every message is QoS 0, not retained, and stamped with its send time", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  site.append(site.reading({ channel1: 4.5 }));
  const stop = site.run(site.node());
  await site.until((m) => m.some(isData));
  await stop();
  await site.until((m) => m.some(({ verb }) => verb === "NDEATH"));
  for (const { verb, qos, retain, at, payload } of site.seen) {
    if (verb !== "NDEATH") assert.equal(qos, 0);
    assert.equal(retain, false);
    const age = at - (payload.timestamp ?? 0);
    assert.ok(age >= 0 && age < deadlineMs(5000), `${verb} is ${age} ms old`);
  }
});

test("sparkplug – the NBIRTH carries bdSeq, the rebirth control and the node's own metrics", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  site.nodeValues = [
    { name: "gateway/up", type: "Boolean", value: true },
    { name: "buffer/oldest_age", type: "Double", value: null, unit: "s" },
  ];
  site.run(site.node());
  await site.until((m) => m.some(({ verb }) => verb === "NBIRTH"));
  const [birth] = site.of("NBIRTH");
  const bdSeq = metric(birth, "bdSeq");
  assert.equal(bdSeq?.datatype, 4);
  assert.equal(valueOf(bdSeq), 0);
  const control = metric(birth, "Node Control/Rebirth");
  assert.equal(control?.datatype, 11);
  assert.equal(control?.alias, undefined);
  assert.equal(valueOf(control), false);
  assert.equal(valueOf(metric(birth, "gateway/up")), true);
  assert.equal(metric(birth, "buffer/oldest_age")?.isNull, true);
  assert.equal(property(metric(birth, "buffer/oldest_age"), "engUnit")?.stringValue, "s");
});

test("sparkplug – a DBIRTH has every metric of its kinds with type, unit, Quality, time and value or null", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const reading = site.reading({ channel1: 4.5, channel1_ma: 11.2 });
  site.append(reading);
  site.run(site.node());
  await site.until((m) => m.some(({ device }) => device === MOTOR.code));
  const [pump] = site.of("DBIRTH", PUMP.code);
  assert.deepEqual(pump?.payload.metrics.map((m) => m.name).sort(), [
    "loop/battery",
    "loop/channel1",
    "loop/channel1_ma",
    "loop/module_temperature",
    "rpm/battery",
    "rpm/module_temperature",
    "rpm/rpm",
  ]);
  const known = metric(pump, "loop/channel1");
  assert.equal(valueOf(known), 4.5);
  assert.equal(known?.timestamp, reading.timeMs);
  assert.equal(property(known, "engUnit")?.stringValue, "bar");
  assert.equal(property(known, "Quality")?.intValue, 192);
  const unknown = metric(pump, "rpm/rpm");
  assert.equal(unknown?.isNull, true);
  assert.deepEqual(valueFields(unknown ?? {}), []);
  assert.equal(property(unknown, "Quality")?.intValue, 0);
  // A sensor never heard of is born too: hosts know its tags, and no value is invented.
  const [motor] = site.of("DBIRTH", MOTOR.code);
  assert.ok((motor?.payload.metrics.length ?? 0) > 20);
  for (const m of site.of("DBIRTH").flatMap(({ payload }) => payload.metrics)) {
    assert.ok(m.datatype !== undefined && m.datatype >= 1 && m.datatype <= 19, m.name);
    assert.ok(m.timestamp !== undefined && Math.abs(m.timestamp - Date.now()) < 120_000, m.name);
    assert.equal(valueFields(m).length, m.isNull ? 0 : 1, m.name);
    assert.equal(m.properties?.keys.length, m.properties?.values.length, m.name);
  }
});

test("sparkplug – no data names a metric that its birth did not carry: a new birth comes first", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  site.append(
    site.reading({ channel1: 1, channel7: 2, text: "x" }, { units: '{"channel7":"bar"}' }),
    site.reading({ rpm: 5 }, { sensor: "99", kind: "rpm" }),
  );
  site.states.delete("99");
  await site.until((m) => m.filter(isData).length === 2);
  const born = new Map<string | undefined, Set<string | undefined>>();
  for (const { verb, device, payload } of site.seen) {
    const names = payload.metrics.map((m) => m.name);
    if (verb === "DBIRTH") born.set(device, new Set(names));
    if (verb === "DDATA") for (const name of names) assert.ok(born.get(device)?.has(name), name);
  }
  const again = site.of("DBIRTH", PUMP.code)[1];
  assert.equal(property(metric(again, "loop/channel7"), "engUnit")?.stringValue, "bar");
  // Sensor 99 left the site file; what is owed of it still goes out, marked stale.
  const [gone] = site.of("DBIRTH", "99");
  assert.equal(property(metric(gone, "rpm/rpm"), "Quality")?.intValue, 500);
});

test("sparkplug – a live reading is sent whole, not historical, in time order, at its own time", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  const loop = site.reading({ channel1: 1, channel1_ma: 5 }, { timeMs: Date.now() - 100 });
  const rpm = site.reading({ rpm: 1480 }, { kind: "rpm", timeMs: Date.now() - 200 });
  site.append(loop, rpm);
  await site.until((m) => m.some(isData));
  const [data] = site.of("DDATA");
  assert.deepEqual(
    data?.payload.metrics.map((m) => [m.name, m.timestamp, m.isHistorical ?? false]),
    [
      ["rpm/rpm", rpm.timeMs, false],
      ["loop/channel1", loop.timeMs, false],
      ["loop/channel1_ma", loop.timeMs, false],
    ],
  );
  await site.settled(2);
});

test("sparkplug – a reading is sent when it comes, not at the next tick", { skip }, async (t) => {
  const clock: Clock = {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) resolve();
        signal?.addEventListener("abort", () => resolve(), { once: true });
      }),
  };
  const site = await TestSite.born(t, {}, { clock });
  for (let n = 1; n <= 3; n++) {
    site.append(site.reading({ channel1: n }));
    await site.until(() => site.of("DDATA").length === n);
  }
});

test("sparkplug – a bad value is null with Quality 0 and its reason, and 192 is sent again on recovery", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  const send = async (value: number | null, quality: object) => {
    const count = site.of("DDATA").length;
    site.append(site.reading({ channel1: value }, { quality: JSON.stringify(quality) }));
    await site.until((m) => m.filter(isData).length > count);
    return metric(site.of("DDATA").at(-1), "loop/channel1");
  };
  const first = await send(1, {});
  assert.equal(property(first, "Quality")?.intValue, 192, "the birth contained null, thus 0");
  assert.equal((await send(2, {}))?.properties, undefined);
  const bad = await send(null, { channel1: { quality: "bad", reason: "wire_break" } });
  assert.equal(bad?.isNull, true);
  assert.equal(property(bad, "Quality")?.intValue, 0);
  assert.equal(property(bad, "Reason")?.stringValue, "wire_break");
  const doubtful = await send(3, { channel1: { quality: "uncertain", reason: "over_range" } });
  assert.equal(valueOf(doubtful), 3);
  assert.equal(property(doubtful, "Quality")?.intValue, 192);
  assert.equal(property(doubtful, "Reason")?.stringValue, "over_range");
  const good = await send(4, {});
  assert.equal(property(good, "Quality")?.intValue, 192);
  assert.equal(property(good, "Reason")?.isNull, true);
  assert.equal((await send(5, {}))?.properties, undefined);
});

test("sparkplug – a sensor that goes silent dies, and is born again when it returns, before its data", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  site.states.set(PUMP.code, { state: "silent", lastReadingMs: null });
  await site.until((m) => m.some(({ verb }) => verb === "DDEATH"));
  const [death] = site.of("DDEATH", PUMP.code);
  assert.equal(death?.payload.seq, 3);
  assert.ok(death?.payload.timestamp);
  // The reading is leased before anyone has called the sensor online again.
  const reading = site.reading({ channel1: 9 });
  site.newest.set(`${PUMP.code} loop`, reading);
  site.outbox.add("sparkplug", [reading]);
  await site.until((m) => m.some(isData));
  assert.deepEqual(site.verbs().slice(3), ["DDEATH 30007", "DBIRTH 30007", "DDATA 30007"]);
  // The value that brings it back is not stale, in the birth as little as in the data.
  const back = metric(site.of("DBIRTH", PUMP.code)[1], "loop/channel1");
  assert.equal(valueOf(back), 9);
  assert.equal(property(back, "Quality")?.intValue, 192);
  assert.equal(metric(site.of("DDATA")[0], "loop/channel1")?.properties, undefined);
});

test("sparkplug – a sensor that is silent at the start is not born", { skip }, async (t) => {
  const site = await TestSite.open(t);
  site.states.set(PUMP.code, { state: "silent", lastReadingMs: null });
  site.run(site.node());
  await site.until((m) => m.length === 2);
  assert.deepEqual(site.verbs(), ["NBIRTH", "DBIRTH 20871"]);
});

test("sparkplug – a rebirth request brings NBIRTH and all DBIRTHs with the same bdSeq and no death", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  const { client, close } = await site.command();
  for (const [i, datatype] of [false, true].entries()) {
    const options = { qos: i === 0 ? 0 : 1 } as const;
    await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth({ datatype }), options);
    await site.until((m) => m.length === 3 * (i + 2));
  }
  await close();
  const expected = ["NBIRTH", "DBIRTH 30007", "DBIRTH 20871"];
  assert.deepEqual(site.verbs(), [...expected, ...expected, ...expected]);
  const numbers = site.of("NBIRTH").map((m) => valueOf(metric(m, "bdSeq")));
  assert.deepEqual(numbers, [0, 0, 0]);
  assert.deepEqual(
    site.seen.map((m) => m.payload.seq),
    [0, 1, 2, 0, 1, 2, 0, 1, 2],
  );
});

test("sparkplug – a node metric that changes is reported, an unchanged one is not", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  site.nodeValues = [
    { name: "gateway/up", type: "Boolean", value: true },
    { name: "agent/version", type: "String", value: "1" },
  ];
  site.run(site.node());
  await site.until((m) => m.length === 3);
  site.nodeValues = [
    { name: "gateway/up", type: "Boolean", value: false },
    { name: "agent/version", type: "String", value: "1" },
    { name: "unborn", type: "String", value: "x" },
  ];
  await site.until((m) => m.some(({ verb }) => verb === "NDATA"));
  const [data] = site.of("NDATA");
  assert.deepEqual(
    data?.payload.metrics.map((m) => [m.name, valueOf(m)]),
    [["gateway/up", false]],
  );
  assert.equal(data?.payload.seq, 3);
});
