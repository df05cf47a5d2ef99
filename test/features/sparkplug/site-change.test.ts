/** A reload's new site file under a running session: births and deaths of the devices concerned, and nothing else. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { MOTOR, PUMP, TestSite } from "./site.ts";

const FAN = { code: "50001", type: 4, kinds: ["rpm" as const], channels: {} };
const siteOf = (...sensors: (typeof PUMP)[]) => ({ site: "s", sensors });

/** A session that has sent the births of these devices, and the site file that a reload replaces. */
async function born(t: TestContext, ...sensors: (typeof PUMP)[]) {
  const site = await TestSite.open(t);
  const source = new ReplaceableSite(siteOf(...sensors));
  site.run(site.node({ site: source }));
  await site.until(() => site.of("DBIRTH").length === sensors.length);
  return { site, source };
}

test("sparkplug – a value that the site file no longer names does not stay good: death, then a birth without it; late readings of it are history", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const channel = { unit: "bar", low: 0, high: 10 };
  const both = { ...PUMP, channels: { channel1: channel, channel2: channel } };
  const { site, source } = await born(t, both);
  const names = () =>
    site
      .of("DBIRTH")
      .at(-1)
      ?.payload.metrics.map(({ name }) => name) ?? [];
  assert.ok(names().includes("loop/channel2"));
  source.replace(siteOf({ ...both, channels: { channel1: channel } }));
  await site.until(() => site.of("DBIRTH").length === 2);
  assert.ok(!names().includes("loop/channel2"));
  assert.deepEqual(
    site.of("DDEATH").map(({ device }) => device),
    [PUMP.code],
  );
  site.append(
    site.reading(
      { channel1: 1, channel2: 2, battery: 3.6 },
      { units: '{"channel1":"bar","channel2":"bar","battery":"V"}' },
    ),
  );
  await site.until(() => site.of("DDATA").length > 0);
  const birth = site.of("DBIRTH").at(-1)?.payload.metrics;
  const former = birth?.find(({ name }) => name === "loop/channel2");
  assert.match(JSON.stringify(former), /removed/);
  const data = site.of("DDATA")[0]?.payload.metrics ?? [];
  assert.deepEqual(
    data.map(({ isHistorical }) => isHistorical === true),
    [false, true, false],
  );
});

test("sparkplug – a changed site file renews only the births of the devices concerned", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const { site, source } = await born(t, PUMP, MOTOR);

  site.states.set(FAN.code, { state: "online", lastReadingMs: null });
  source.replace(siteOf(PUMP, MOTOR, FAN));
  await site.until(() => site.of("DBIRTH").length === 3);
  assert.equal(site.of("DBIRTH").at(-1)?.device, FAN.code);

  const inPsi = { ...PUMP, channels: { channel1: { unit: "psi", low: 0, high: 145 } } };
  source.replace(siteOf(inPsi, { ...MOTOR, name: "only the name" }, FAN));
  site.append(site.reading({ channel1: 100 }, { units: '{"channel1":"psi"}' }));
  await site.until(() => site.of("DDATA").length > 0);
  const birth = site.of("DBIRTH").at(-1);
  assert.equal(site.of("DBIRTH").length, 4);
  assert.equal(birth?.device, PUMP.code);
  const metric = birth?.payload.metrics.find(({ name }) => name === "loop/channel1");
  assert.match(JSON.stringify(metric), /psi/);
  const data = site.of("DDATA")[0];
  assert.notEqual(data?.payload.metrics[0]?.isHistorical, true);

  site.states.delete(PUMP.code);
  source.replace(siteOf(MOTOR, FAN));
  await site.until(() => site.of("DDEATH").length > 0);
  assert.deepEqual(
    site.of("DDEATH").map(({ device }) => device),
    [PUMP.code],
  );
  assert.equal(site.of("NBIRTH").length, 1);
  assert.equal(site.of("NDEATH").length, 0);
  assert.equal(site.of("DBIRTH").length, 4);
});

test("sparkplug – a code that the site file writes with other zeros is another device: the former one dies", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const { site, source } = await born(t, PUMP, MOTOR);
  source.replace(siteOf({ ...PUMP, code: `00${PUMP.code}` }, MOTOR));
  await site.until(() => site.of("DBIRTH").length === 3 && site.of("DDEATH").length > 0);
  assert.equal(site.of("DBIRTH").at(-1)?.device, `00${PUMP.code}`);
  assert.deepEqual(
    site.of("DDEATH").map(({ device }) => device),
    [PUMP.code],
  );
});
