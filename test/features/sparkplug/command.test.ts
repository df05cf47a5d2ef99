import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { encode, rebirth, valueOf } from "./peer.ts";
import { metric, PUMP, TestSite } from "./site.ts";

const skip = skipWithoutMosquitto;
const NCMD = "spBv1.0/plant/NCMD/edge";
const DCMD = `spBv1.0/plant/DCMD/edge/${PUMP.code}`;

test("sparkplug – malformed and undecodable commands are ignored", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  const { client, close } = await site.command();
  const bytes = fc.sample(fc.uint8Array({ maxLength: 80 }), { numRuns: 60, seed: 1 });
  const odd = [
    ...bytes.map((b) => Buffer.from(b)),
    Buffer.alloc(0),
    rebirth({ value: false }),
    encode({ metrics: [{ name: "Node Control/Rebirth" }] }),
    encode({ metrics: [{ name: "Node Control/Rebirth", intValue: 1, datatype: 3 }] }),
    encode({ metrics: [{ name: "Node Control/Rebirth", isNull: true, datatype: 11 }] }),
    encode({ metrics: [{ name: "node control/rebirth", booleanValue: true }] }),
    encode({ metrics: [{ name: "Node Control/Reboot", booleanValue: true }] }),
    encode({ metrics: [{ alias: 1, booleanValue: true }] }),
    encode({ metrics: [{ name: "settings/Range", intValue: 8 }] }),
  ];
  for (const payload of odd) {
    await client.publishAsync(NCMD, payload, { qos: 1 });
    await client.publishAsync(DCMD, payload, { qos: 1 });
    await client.publishAsync("spBv1.0/plant/DCMD/edge/unknown", payload, { qos: 1 });
  }
  await client.publishAsync(NCMD, rebirth(), { qos: 1 });
  await close();
  await site.until((m) => m.length >= 6);
  assert.equal(site.of("NBIRTH").length, 2, "only the real request brought births");
  assert.equal(site.of("NDEATH").length, 0);
});

test("sparkplug – a rebirth among other metrics is honoured", { skip }, async (t) => {
  const site = await TestSite.born(t);
  const { client, close } = await site.command();
  const payload = encode({
    timestamp: 1,
    metrics: [
      { name: "unknown", stringValue: "x" },
      { name: "Node Control/Rebirth", booleanValue: true, timestamp: 1, datatype: 11 },
    ],
  });
  await client.publishAsync(NCMD, payload, { qos: 1 });
  await close();
  await site.until((m) => m.length === 6);
});

test("sparkplug – settings are neither announced nor accepted if commands are disabled", {
  skip,
}, async (t) => {
  const site = await TestSite.born(t);
  assert.equal(
    site.seen.flatMap((m) => m.payload.metrics).some((m) => m.name?.startsWith("settings/")),
    false,
  );
});

test("sparkplug – a DCMD with settings reaches the command room, and its outcome reaches the host", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const asked: [string, Readonly<Record<string, number>>][] = [];
  site.run(
    site.node(
      {},
      {
        onDeviceCommand: async (sensor, settings) => {
          asked.push([sensor, settings]);
          return "queued";
        },
      },
    ),
  );
  await site.until((m) => m.length === 3);
  const range = metric(site.of("DBIRTH", PUMP.code)[0], "settings/Range");
  assert.equal(range?.isNull, true);
  const { client, close } = await site.command();
  const payload = encode({
    metrics: [
      { name: "settings/Range", intValue: 8 },
      { name: "settings/IntervalSendData", longValue: 60, datatype: 4 },
      { name: "settings/alarm1", doubleValue: 4.5, datatype: 10 },
      { name: "settings/alarm2", stringValue: "9" },
      { name: "settings/Unknown", intValue: 1 },
    ],
  });
  await client.publishAsync(DCMD, payload, { qos: 1 });
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  await close();
  assert.deepEqual(asked, [[PUMP.code, { Range: 8, IntervalSendData: 60, alarm1: 4.5 }]]);
  const outcome = metric(site.of("DDATA", PUMP.code)[0], "settings/outcome");
  assert.equal(valueOf(outcome), "queued");
});

test("sparkplug – a command room that fails is reported to the host and affects nothing else", {
  skip,
}, async (t) => {
  const site = await TestSite.born(
    t,
    {},
    { onDeviceCommand: () => Promise.reject(new Error("broken")) },
  );
  const { client, close } = await site.command();
  await client.publishAsync(DCMD, encode({ metrics: [{ name: "settings/Range", intValue: 8 }] }));
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  await close();
  assert.equal(valueOf(metric(site.of("DDATA")[0], "settings/outcome")), "failed");
});

test("sparkplug – a retained command, which the broker would repeat at each connection, is not executed", {
  skip,
}, async (t) => {
  const site = await TestSite.open(t);
  const { client, close } = await site.command();
  const settings = (range: number) =>
    encode({ metrics: [{ name: "settings/Range", intValue: range }] });
  await client.publishAsync(DCMD, settings(2), { qos: 1, retain: true });
  await client.publishAsync(NCMD, rebirth(), { qos: 1, retain: true });
  const asked: unknown[] = [];
  const onDeviceCommand = async (_sensor: string, settings: object) => {
    asked.push(settings);
    return "queued";
  };
  site.run(site.node({ rebirthMs: 0 }, { onDeviceCommand }));
  await site.until((m) => m.length === 3);
  await client.publishAsync(DCMD, settings(8), { qos: 1 });
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  await close();
  assert.deepEqual(asked, [{ Range: 8 }]);
  assert.equal(site.of("NBIRTH").length, 1);
  const lines = site.logs.filter(({ message }) => message.startsWith("a retained command"));
  assert.equal(lines.length, 1);
});

test("sparkplug – a flood of commands is not executed, a large one not even decoded", {
  skip,
}, async (t) => {
  let asked = 0;
  const onDeviceCommand = async () => `${++asked}`;
  const site = await TestSite.born(t, { rebirthMs: 0 }, { onDeviceCommand });
  const { client, close } = await site.command();
  const large = [
    ...Array.from({ length: 3_000 }, () => ({})),
    { name: "Node Control/Rebirth", booleanValue: true },
    { name: "settings/Range", intValue: 8 },
  ];
  await client.publishAsync(NCMD, encode({ metrics: large }), { qos: 1 });
  await client.publishAsync(DCMD, encode({ metrics: large }), { qos: 1 });
  const one = encode({ metrics: [{ name: "settings/Range", intValue: 8 }] });
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: 400 }, () => client.publishAsync(DCMD, one, { qos: 1 })));
  await client.publishAsync(NCMD, rebirth(), { qos: 1 });
  await site.until((m) => m.filter(({ verb }) => verb === "NBIRTH").length === 2);
  await close();
  const seconds = Math.ceil((performance.now() - startedAt) / 1_000) + 1;
  assert.ok(asked > 0 && asked <= 20 * seconds, `${asked} in ${seconds} s`);
});
