import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { type SeenMessage, skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { decode, encode } from "../sparkplug/peer.ts";

test("machines on Sparkplug – devices born with the node for a decoder that is not ours, names and limits with the sensors, dead once removed", {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 14 },
    env: { PUBLISH_FORMATS: "sparkplug", SPARKPLUG_MACHINES: "true" },
  });
  const seen = await plant.subscribe({ topics: ["spBv1.0/#"] });
  const agent = plant.startAgent();
  const address = await agent.address;
  const of = (verb: string, device: string) => (message: SeenMessage) =>
    message.topic === `spBv1.0/plant/${verb}/gateside/${device}`;
  const machine = await seen.waitFor(
    (message) => message.topic.includes("/DBIRTH/gateside/machine-"),
    deadlineMs(30_000),
  );
  const device = machine.topic.split("/").at(-1) ?? "";
  const birth = decode(machine.payload).metrics ?? [];
  const names = birth.map(({ name }) => name);
  for (const name of ["condition", "reason", "zone", "running", "stage", "since", "acknowledged"])
    assert.ok(names.includes(name), name);
  // DateTime is 13.
  assert.equal(birth.find(({ name }) => name === "since")?.datatype, 13);
  // Known once its sensors were read.
  await seen.waitUntil(
    (messages) =>
      messages
        .filter(of("DDATA", device))
        .some(({ payload }) =>
          decode(payload).metrics?.some(
            ({ name, stringValue }) => name === "condition" && stringValue !== undefined,
          ),
        ),
    deadlineMs(30_000),
  );
  const sensor = seen.messages
    .filter(({ topic }) => topic.includes("/DBIRTH/") && !topic.includes("machine-"))
    .map(({ payload }) => decode(payload).metrics ?? [])
    .find((metrics) => metrics.some(({ name }) => name === "accel/channel1_vel_rms"));
  const valueOf = (name: string) => sensor?.find((metric) => metric.name === name);
  assert.equal(typeof valueOf("info/machine")?.stringValue, "string");
  const velocity = sensor?.find(({ name }) => name === "accel/channel1_vel_rms");
  const limit = (key: string) => {
    const { keys = [], values = [] } = velocity?.properties ?? {};
    return values[keys.indexOf(key)]?.doubleValue;
  };
  const [high, highHigh] = [limit("high"), limit("highHigh")];
  assert.ok(
    typeof high === "number" && typeof highHigh === "number" && high < highHigh,
    JSON.stringify(velocity),
  );

  const id = Number(device.replace("machine-", ""));
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  site.sensors = site.sensors.filter(
    (one: { location?: { machine: number } }) => one.location?.machine !== id,
  );
  site.machines = (site.machines ?? []).filter((one: { id: number }) => one.id !== id);
  writeFileSync(plant.siteFile, JSON.stringify(site));
  const reload = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(reload.status, 200, await reload.text());
  await seen.waitFor(of("DDEATH", device), deadlineMs(30_000));
  await agent.stop();
});

const REBIRTH = { metrics: [{ name: "Node Control/Rebirth", booleanValue: true }] };
const LIMIT = 12_288;
const MACHINES = 300;
const POINTS = 6;
/** One of them has so many bearings that its birth exceeds the limit. */
const LARGE = 7;

function bearings(machine: number) {
  const each = machine === LARGE ? 10 : 1;
  return Array.from({ length: POINTS * each }, (_, n) => ({
    point: Math.floor(n / each) + 1,
    name: `NU ${n} ECP, drive end, right`,
    bpfo: 3.58,
    bpfi: 5.42,
    bsf: 2.36,
    ftf: 0.4,
  }));
}

test("machines on Sparkplug – births of 300 machines of six sensors below the broker's packet limit; one above it is logged once, counted, and the rest goes on", {
  skip: skipWithoutMosquitto || skipWithoutBuild,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 7 },
    broker: { maxPacketSize: LIMIT },
    env: { PUBLISH_FORMATS: "sparkplug", SPARKPLUG_MACHINES: "true" },
  });
  const ids = Array.from({ length: MACHINES }, (_, at) => at + 1);
  const site = {
    site: "plant",
    sensors: ids.flatMap((machine) =>
      Array.from({ length: POINTS }, (_, at) => ({
        code: `${machine * 10 + at}`,
        type: 3,
        kinds: ["accel"],
        machineClass: "group2-rigid",
        speedRpm: 1480,
        location: { company: 1, area: 1, machine, point: at + 1 },
      })),
    ),
    machines: ids.map((id) => ({
      id,
      speed: { sensor: `${id * 10}` },
      bearings: bearings(id),
    })),
  };
  writeFileSync(plant.siteFile, JSON.stringify(site));
  const seen = await plant.subscribe({ topics: ["spBv1.0/#"] });
  const agent = plant.startAgent({ POLL_INTERVAL_S: "3600" });
  const address = await agent.address;
  const births = () =>
    seen.messages.filter(({ topic }) => topic.includes("/DBIRTH/gateside/machine-"));
  const expectBirths = async (count: number) => {
    await seen.waitUntil(() => births().length >= count, deadlineMs(60_000));
    assert.equal(births().length, count);
  };
  await expectBirths(MACHINES - 1);
  // Nothing was read, so all is null.
  for (const { topic, payload } of births()) {
    assert.ok(payload.length + topic.length + 10 <= LIMIT, topic);
    const metrics = decode(payload).metrics;
    const findings = metrics.filter(({ name = "" }) => name.startsWith("finding/"));
    assert.equal(findings.length, 3 + 4 * POINTS, topic);
    assert.ok(metrics.every(({ isNull, datatype }) => isNull === true && datatype !== undefined));
  }
  assert.ok(births().every(({ topic }) => !topic.endsWith(`machine-${LARGE}`)));
  const refused = async () => {
    const text = await (await fetch(`${address}/metrics`)).text();
    return Number(/^gateside_delivery_failures_total\{.*oversize.*\} (\d+)$/m.exec(text)?.[1]);
  };
  assert.equal(await refused(), 1);

  // Asked for again in this session, it is neither sent nor counted again.
  seen.clear();
  await seen.publish("spBv1.0/plant/NCMD/gateside", encode(REBIRTH) as never);
  await expectBirths(MACHINES - 1);
  assert.equal(await refused(), 1);
  const lines = agent.log.filter(({ msg }) => String(msg).includes("packet limit"));
  assert.deepEqual(
    lines.map(({ what }) => what),
    [`DBIRTH of machine-${LARGE}`],
  );
  const seqs = seen.messages
    .filter(({ topic }) => !topic.includes("CMD"))
    .map(({ payload }) => decode(payload).seq ?? 0);
  assert.ok(seqs.every((seq, at) => at === 0 || seq === ((seqs[at - 1] ?? 0) + 1) % 256));

  // With fewer bearings it is born like any other.
  site.machines = site.machines.map((one) => ({ ...one, bearings: bearings(1) }));
  writeFileSync(plant.siteFile, JSON.stringify(site));
  const reload = await fetch(`${address}/api/v1/reload`, { method: "POST" });
  assert.equal(reload.status, 200, await reload.text());
  await seen.waitFor(
    ({ topic }) => topic.endsWith(`/DBIRTH/gateside/machine-${LARGE}`),
    deadlineMs(30_000),
  );
  await agent.stop();
});
