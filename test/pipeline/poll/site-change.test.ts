/** A reload's new site file under a running poller: what stays is left alone, what is new is read as on a first start. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { ReadRequest } from "../../../src/pipeline/poll/day-read.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const HOUR = 3_600_000;
const sensor = (code: string, more: Partial<Sensor> = {}): Sensor => ({
  code,
  type: 1,
  kinds: ["rpm"],
  channels: {},
  ...more,
});
const siteOf = (...sensors: Sensor[]) => ({ site: "s", sensors });

async function start(
  t: TestContext,
  sensors: Sensor[],
  answer: (request: ReadRequest) => Promise<void> = async () => {},
  storedMs: readonly number[] = [],
) {
  const calls: string[] = [];
  const asked: Sensor[] = [];
  const { clock, site, poller } = startPoller(t, {
    site: siteOf(...sensors),
    backfillDays: 2,
    concurrency: 4,
    storedMs,
    readDay: async (request, clock) => {
      calls.push(`${request.sensor.code} ${request.kind} ${request.day}`);
      asked.push(request.sensor);
      request.gatewayNow(clock.now());
      await answer(request);
      return { ...GOOD_READ, stored: 1 };
    },
  });
  /** The calls since the last look, after everything due now has been read. */
  const look = async () => {
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    return calls.splice(0).sort();
  };
  return { clock, site, poller, asked, look };
}

test("site change – an added sensor is read as on a first start, and no other sensor is read because of it", async (t) => {
  const { site, look } = await start(t, [sensor("1")]);
  assert.deepEqual(await look(), ["1 rpm 2026-11-18", "1 rpm 2026-11-19", "1 rpm 2026-11-20"]);
  site.replace(siteOf(sensor("1", { name: "renamed" }), sensor("2")));
  assert.deepEqual(await look(), ["2 rpm 2026-11-18", "2 rpm 2026-11-19", "2 rpm 2026-11-20"]);
});

test("site change – a sensor that returns has the last reading that is stored of it", async (t) => {
  const lastMs = Date.UTC(2026, 10, 19);
  const { site, poller, look } = await start(t, [sensor("1")], undefined, [lastMs]);
  site.replace(siteOf(sensor("1"), sensor("2")));
  await look();
  assert.equal(poller.sensorStates().find(({ code }) => code === "2")?.lastReadingMs, lastMs);
});

test("site change – a new name, clamp or class applies from the next read, and causes none", async (t) => {
  const { site, clock, asked, look } = await start(t, [sensor("1")]);
  await look();
  const renamed = sensor("1", { name: "new", machineClass: "class1" });
  site.replace(siteOf(renamed));
  assert.deepEqual(await look(), []);
  await clock.advance(HOUR);
  assert.ok((await look()).includes("1 rpm 2026-11-20"));
  assert.equal(asked.at(-1), renamed);
});

test("site change – a sensor whose type changed has its open days read with it at once, even behind a read in progress", async (t) => {
  let letGo: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let holds = false;
  const { site, clock, asked, look } = await start(t, [sensor("1")], async () => {
    if (holds) await held;
  });
  await look();
  holds = true;
  t.after(letGo);
  await clock.advance(HOUR);
  assert.ok((await look()).includes("1 rpm 2026-11-20"));
  site.replace(siteOf(sensor("1", { type: 7 })));
  holds = false;
  letGo();
  assert.ok((await look()).includes("1 rpm 2026-11-20"));
  assert.equal(asked.at(-1)?.type, 7);
});

test("site change – a removed sensor is no longer read, keeps no state, and a backfill waiting for it fails", async (t) => {
  let letGo: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const { site, clock, poller, look } = await start(
    t,
    [sensor("1"), sensor("2")],
    async ({ day }) => {
      if (day === "2026-11-01") await held;
    },
  );
  await look();
  t.after(letGo);
  const job = poller.backfill(["2026-11-01"], "2");
  assert.deepEqual(await look(), ["2 rpm 2026-11-01"]);
  site.replace(siteOf(sensor("1")));
  await job.finished;
  assert.match(job.failures.join(), /no longer in the site file/);
  assert.deepEqual([job.stored, job.known, job.done], [0, 0, 1]);
  letGo();
  await clock.advance(2 * HOUR);
  assert.ok((await look()).every((call) => call.startsWith("1 ")));
  assert.deepEqual(
    poller.sensorStates().map(({ code }) => code),
    ["1"],
  );
});

test("site change – a kind added to a sensor is read, its other kinds are not", async (t) => {
  const { site, look } = await start(t, [sensor("1")]);
  await look();
  site.replace(siteOf(sensor("1", { kinds: ["rpm", "loop"] })));
  assert.deepEqual(await look(), ["1 loop 2026-11-18", "1 loop 2026-11-19", "1 loop 2026-11-20"]);
});

test("site change – a disabled sensor is not requested, has a state, and is read once it is enabled", async (t) => {
  const { site, poller, look } = await start(t, [sensor("1"), sensor("2", { enabled: false })]);
  assert.deepEqual(await look(), ["1 rpm 2026-11-18", "1 rpm 2026-11-19", "1 rpm 2026-11-20"]);
  const states = poller.sensorStates().map(({ code, state, kinds }) => [code, state, kinds.length]);
  assert.deepEqual(states.at(-1), ["2", "unknown", 0]);
  site.replace(siteOf(sensor("1", { enabled: false }), sensor("2")));
  assert.deepEqual(await look(), ["2 rpm 2026-11-18", "2 rpm 2026-11-19", "2 rpm 2026-11-20"]);
});

test("site change – whether an added sensor is silent is not said before it has been read", async (t) => {
  const { site, poller, look } = await start(t, [sensor("1")], undefined, [Date.UTC(2026, 10, 1)]);
  const settled = () => poller.settledStates().map(({ code, state }) => `${code} ${state}`);
  await look();
  assert.deepEqual(settled(), ["1 silent"]);
  site.replace(siteOf(sensor("1"), sensor("2")));
  assert.deepEqual(settled(), ["1 silent"]);
  await look();
  assert.deepEqual(settled(), ["1 silent", "2 silent"]);
});
