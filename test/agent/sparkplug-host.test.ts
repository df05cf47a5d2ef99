/** The built agent before a host application that holds it to the rules of Sparkplug, while things are done to both. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import mqtt from "mqtt";
import { rebirth, valueOf } from "../features/sparkplug/peer.ts";
import { type HostMessage, StrictHost } from "../features/sparkplug/strict-host.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { truthOf } from "../support/seen-readings.ts";
import { waitUntil } from "../support/wait-until.ts";

interface SiteJson {
  sensors: { code: string; kinds: string[]; channels?: Record<string, unknown> }[];
}

test("sparkplug – a host application that holds the built agent to its rules: births, data, rebirth, silence, removed sensors and channels, kills and stops", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const cadenceS = { accel: 3, accCurrent: 3, current: 3, currentV2: 3, loop: 3, dryContact: 3 };
  const plant = await startPlant(t, {
    simulator: {
      sensors: 7,
      historyDays: 0.002,
      waveform: { sampleRateHz: 6400, samples: 512 },
      cadenceS: { ...cadenceS, rpm: 3 },
    },
    env: {
      PUBLISH_FORMATS: "sparkplug",
      PUBLISH_WAVEFORMS: "never",
      SPARKPLUG_GROUP_ID: "plant",
      SPARKPLUG_HOST_ID: "scada",
    },
  });
  const { simulator, broker } = plant;
  const startMs = simulator.clock.now();
  const seen: HostMessage[] = [];
  const readings = new Set<string>();
  /** What a host that orders by timestamp shows. */
  const shown = new Map<string, { timeMs: number; value: unknown }>();
  const host = new StrictHost(broker.url, "scada", (message) => {
    seen.push(message);
    const { verb, device, payload } = message;
    for (const { name = "", timestamp = 0, ...metric } of payload.metrics) {
      if (verb === "DDATA") readings.add(`${device} ${name.split("/")[0]} ${timestamp}`);
      const key = `${device ?? ""} ${name}`;
      if (timestamp >= (shown.get(key)?.timeMs ?? 0))
        shown.set(key, { timeMs: timestamp, value: valueOf(metric) });
    }
  });
  t.after(() => host.close());
  const observer = await mqtt.connectAsync(broker.url);
  t.after(() => observer.endAsync(true));
  const codes = simulator.plant.sensors.map(({ code }) => code);
  const since = (mark: number, verb: string, device?: string) =>
    seen
      .slice(mark)
      .filter((one) => one.verb === verb && (device === undefined || one.device === device));
  const until = (what: string, holds: () => boolean) =>
    waitUntil(() => `${what}; ${host.faults.join("; ")}`, holds, 40_000);
  const bornAgain = (mark: number, expected: readonly string[]) =>
    until("births of every device", () => {
      const at = seen.findIndex(({ verb }, index) => index >= mark && verb === "NBIRTH");
      return at >= 0 && expected.every((code) => since(at, "DBIRTH", code).length > 0);
    });
  const allRead = async (what: string, isSelected: (code: string) => boolean = () => true) => {
    const wanted = [...truthOf(simulator, startMs - 120_000).values()].flatMap(
      ({ sensor, kind, timeMs }) => (isSelected(sensor) ? [`${sensor} ${kind} ${timeMs}`] : []),
    );
    assert.ok(wanted.length > 0);
    await until(what, () => wanted.every((one) => readings.has(one)));
  };
  const bdSeqOf = (message: HostMessage | undefined) =>
    Number(valueOf(message?.payload.metrics.find(({ name }) => name === "bdSeq")));

  let agent = plant.startAgent();
  await bornAgain(0, codes);
  await allRead("everything that the gateway has");
  const bdSeq = bdSeqOf(since(0, "NBIRTH")[0]);

  // A host that has missed something asks for the births.
  let mark = seen.length;
  await observer.publishAsync("spBv1.0/plant/NCMD/gateside", rebirth(), { qos: 1 });
  await bornAgain(mark, codes);
  assert.equal(bdSeqOf(since(mark, "NBIRTH")[0]), bdSeq);
  assert.equal(since(mark, "NDEATH").length, 0);

  // A machine that reads too late has silent sensors, too: who is dead does not die again, and who was silent is born again.
  const isDead = (code: string) =>
    seen.findLast(({ verb, device }) => device === code && verb !== "DDATA")?.verb === "DDEATH";

  // A sensor whose records stay away dies, and is born again with its next one.
  const [quiet = ""] = codes.filter((_, index) => index === 3);
  mark = seen.length;
  const silence = simulator.faults.add({ name: "late", sensor: quiet, ms: 3_600_000 });
  await until("the death of a silent sensor", () => isDead(quiet));
  mark = seen.length;
  silence.remove();
  await until("its birth", () => since(mark, "DBIRTH", quiet).length > 0);
  await until("its data", () => since(mark, "DDATA", quiet).length > 0);

  // Files change: a sensor leaves, and a channel of another one.
  const text = readFileSync(plant.siteFile, "utf8");
  const site: SiteJson = JSON.parse(text);
  const [gone] = site.sensors.filter(({ code }) => code !== quiet);
  const fewer = site.sensors.find(({ kinds }) => kinds.includes("loop"));
  assert.ok(gone && fewer?.channels && gone !== fewer);
  const [channel = ""] = Object.keys(fewer.channels);
  delete fewer.channels[channel];
  mark = seen.length;
  const wasDead = isDead(fewer.code);
  const changed = { ...site, sensors: site.sensors.filter(({ code }) => code !== gone.code) };
  writeFileSync(plant.siteFile, JSON.stringify(changed));
  agent.process.kill("SIGHUP");
  const born = (code: string) => since(mark, "DBIRTH", code).at(-1);
  const hasChannel = (birth: HostMessage) =>
    birth.payload.metrics.some(({ name = "" }) => name.startsWith(`loop/${channel}`));
  await until("the death and the birth that a reload causes", () => {
    const birth = born(fewer.code);
    return isDead(gone.code) && birth !== undefined && !hasChannel(birth);
  });
  assert.ok(wasDead || since(mark, "DDEATH", fewer.code).length > 0);
  const others = codes.filter((code) => code !== gone.code && since(mark, "DDEATH", code).length);
  await until("no other death that lasts", () =>
    others.every((code) => since(mark, "DBIRTH", code).length > 0),
  );
  assert.equal(since(mark, "NBIRTH").length, 0);
  mark = seen.length;
  writeFileSync(plant.siteFile, text);
  agent.process.kill("SIGHUP");
  await until("its return", () => since(mark, "DBIRTH", gone.code).length > 0);
  await allRead("what was measured meanwhile");

  // The will of a killed agent, and the next number with the next one.
  mark = seen.length;
  await agent.kill();
  await until("the death of the node", () => since(mark, "NDEATH").length === 1);
  assert.equal(bdSeqOf(since(mark, "NDEATH")[0]), bdSeq);
  mark = seen.length;
  agent = plant.startAgent();
  await bornAgain(mark, codes);
  assert.equal(bdSeqOf(since(mark, "NBIRTH")[0]), (bdSeq + 1) % 256);
  await allRead("what was measured while the agent was down");

  // A host that goes and returns, and a broker that is killed.
  mark = seen.length;
  host.leave(true);
  host.comeBack();
  await bornAgain(mark, codes);
  mark = seen.length;
  await broker.kill();
  await broker.restart();
  await bornAgain(mark, codes);
  await allRead("what was measured meanwhile");

  // At the end the host shows the newest record of everything.
  const newest = new Map<string, number>();
  for (const { sensor, kind, timeMs } of truthOf(simulator, startMs - 120_000).values())
    newest.set(`${sensor} ${kind}`, Math.max(timeMs, newest.get(`${sensor} ${kind}`) ?? 0));
  const isShown = ([stream, timeMs]: [string, number]) =>
    [...shown].some(([key, value]) => key.startsWith(`${stream}/`) && value.timeMs >= timeMs);
  await until("the newest of every sensor", () => [...newest].every(isShown));

  mark = seen.length;
  const last = bdSeqOf(seen.filter(({ verb }) => verb === "NBIRTH").at(-1));
  assert.equal(await agent.stop(), 0);
  await until("the death that is said", () => since(mark, "NDEATH").length > 0);
  assert.equal(bdSeqOf(since(mark, "NDEATH")[0]), last);
  assert.deepEqual(host.faults, []);
  t.diagnostic(`${seen.length} messages, ${host.births} births of the node`);
});
