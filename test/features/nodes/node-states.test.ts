/** When state reads are asked for: a reload that adds and removes them, sources that are away, operations that do not exist. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { CallFailure } from "../../../src/core/failure.ts";
import type { ReadingLog } from "../../../src/core/ports.ts";
import type { Reading } from "../../../src/core/reading.ts";
import type { StateRead } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { ModbusFailure } from "../../../src/features/nodes/modbus-states.ts";
import { NodeStates } from "../../../src/features/nodes/node-states.ts";
import type { StateSample } from "../../../src/features/nodes/rules/state-sample.ts";
import { deviceOf } from "../../../src/features/nodes/state-job.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const HOUR_MS = 3_600_000;
const BATTERY: StateRead = {
  operation: "getBattery",
  request: "none",
  fields: { battery: { from: "B", unit: "V" } },
};
const MISSING: StateRead = {
  operation: "getNothing",
  request: "none",
  fields: { x: { from: "x" } },
};
const device = (port: number, value: string): StateRead => ({
  via: "modbus",
  url: `tcp://10.0.0.1:${port}`,
  registers: [{ address: 0, type: "uint16", value }],
});

const siteOf = (stateReads: readonly StateRead[]): Site => ({
  site: "plant-7",
  sensors: [{ code: "100", type: 3, kinds: ["accel"], channels: {}, stateReads }],
});

const sample = (values: StateSample["values"]): StateSample => ({
  time: null,
  values,
  units: {},
  quality: {},
  raw: {},
});

/** Sources of a few lines; `away` names the Modbus addresses that are not reached. */
function start(
  t: TestContext,
  stateReads: readonly StateRead[],
  pollMs = HOUR_MS,
  took: number | (() => number) = 0,
  { sensors = 1, commitPaceMs = 0, random = (): number => 0 } = {},
) {
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const [sensor] = siteOf(stateReads).sensors;
  assert.ok(sensor);
  const site = new ReplaceableSite({
    site: "plant-7",
    sensors: Array.from({ length: sensors }, (_, i) => ({ ...sensor, code: String(100 + i) })),
  });
  /** Instants of the reads by sensor, ms. */
  const reads = new Map<string, number[]>();
  const asked: string[] = [];
  const stored: Reading[] = [];
  const away = new Set<string>();
  const log: ReadingLog = {
    progress: () => null,
    newestTimeMs: () => null,
    begin: () => ({
      isKnown: () => false,
      add: (reading) => void stored.push(reading),
      // All that is written in one pace shares a commit.
      commit: async () => {
        if (commitPaceMs > 0) await clock.sleep(commitPaceMs - (clock.monotonic() % commitPaceMs));
        return { stored: 1, duplicates: 0 };
      },
      discard: () => {},
    }),
  };
  const states = new NodeStates({
    site,
    service: {
      read: ({ code }, { operation }, _date, signal) => {
        asked.push(operation);
        reads.set(code, [...(reads.get(code) ?? []), clock.monotonic()]);
        if (operation === "getNothing")
          return Promise.reject(
            new CallFailure({
              message: "the gateway returned HTTP 404",
              failureClass: "request",
              code: "http_status",
              httpStatus: 404,
            }),
          );
        const samples = [sample({ battery: commitPaceMs === 0 ? 3.5 : asked.length })];
        const tookMs = typeof took === "number" ? took : took();
        const answer = { samples, records: 1, gatewayTimeMs: clock.now() };
        return tookMs === 0
          ? Promise.resolve(answer)
          : clock.sleep(tookMs, signal).then(() => answer);
      },
    },
    modbus: () =>
      Promise.resolve({
        read: ({ url, registers }) => {
          asked.push(url);
          if (away.has(`${url} ${registers[0]?.value}`))
            return Promise.reject(new ModbusFailure(`${url}: silent`, false, null, true));
          if (away.has(url)) return Promise.reject(new ModbusFailure(`${url}: nobody`, true));
          return Promise.resolve(sample({ [registers[0]?.value ?? ""]: 1 }));
        },
        keep: () => {},
        close: () => {},
      }),
    log,
    stored: () => [],
    newestTimeMs: () => stored.at(-1)?.timeMs ?? null,
    isPolled: () => true,
    pollIntervalMs: pollMs,
    clock,
    logger,
    metrics: createMetrics(),
    gatewayNow: () => clock.now(),
    zone: "UTC",
    random,
  });
  const ending = new AbortController();
  const running = states.run(ending.signal);
  t.after(async () => {
    ending.abort();
    // Commits under way end at their pace.
    await Promise.all([running, clock.advance(commitPaceMs)]);
  });
  /** What is asked in a time. */
  const during = async (ms: number): Promise<string[]> => {
    asked.length = 0;
    await clock.advance(ms);
    return [...asked];
  };
  return { clock, site, states, away, stored, during, lines: logger.lines, reads };
}

test("state reads – a reload starts what it adds at once, leaves unchanged reads alone, and stops what it removes", async (t) => {
  const { site, states, stored, during } = start(t, [BATTERY]);
  assert.deepEqual(await during(HOUR_MS / 2), ["getBattery"]);
  site.replace(siteOf([BATTERY, device(502, "supply")]));
  assert.deepEqual(await during(60_000), ["tcp://10.0.0.1:502"], "the other one is not due");
  assert.deepEqual(stored.at(-1)?.values, { battery: 3.5, supply: 1 }, "the node's whole state");
  site.replace(siteOf([device(502, "supply")]));
  assert.deepEqual(await during(2 * HOUR_MS), ["tcp://10.0.0.1:502", "tcp://10.0.0.1:502"]);
  site.replace(siteOf([]));
  assert.deepEqual(await during(24 * HOUR_MS), []);
  assert.equal(states.condition("100"), null);
});

test("state reads – a device that is away delays only its own reads, is tried less and less often, and is reported once", async (t) => {
  const dead = "tcp://10.0.0.1:503";
  const { states, away, during, lines } = start(t, [
    BATTERY,
    device(502, "a"),
    device(503, "b"),
    device(503, "c"),
  ]);
  away.add(dead);
  const first = await during(HOUR_MS - 1);
  assert.equal(first.filter((one) => one === "getBattery").length, 1);
  assert.equal(first.filter((one) => one.endsWith(":502")).length, 1);
  const tries = first.filter((one) => one === dead).length;
  assert.ok(tries > 1 && tries < 20, `${tries} tries in an hour`);
  // Once for each of its two reads.
  assert.ok(lines.filter(({ message }) => message === "state read failed").length <= 2);
  assert.match(states.condition("100")?.lastError ?? "", /nobody/);
  away.clear();
  await during(2 * HOUR_MS);
  assert.equal(states.condition("100")?.lastError, null);
  assert.ok(lines.some(({ message }) => message === "state reads of this node work again"));
});

test("state reads – each of several dead nodes behind one Modbus gateway says so, and its other nodes are read on time", async (t) => {
  const at = (value: string) => device(502, value);
  const { states, away, during, site } = start(t, [], 60_000);
  const nodes = ["a", "b", "c", "d"];
  const sensors = nodes.map((name, i) => ({
    code: String(100 + i),
    type: 3,
    kinds: ["accel" as const],
    channels: {},
    stateReads: [at(name)],
  }));
  for (const name of ["b", "c"]) away.add(`tcp://10.0.0.1:502 ${name}`);
  site.replace({ site: "plant-7", sensors });
  await during(60_000);
  assert.deepEqual(
    sensors.map(({ code }) => states.condition(code)?.lastError !== null),
    [false, true, true, false],
  );
  await during(6 * HOUR_MS);
  const healthy = 6 * 60 * 2;
  const { length } = await during(6 * HOUR_MS);
  assert.ok(length >= healthy, `${length} reads, of which the healthy nodes need ${healthy}`);
});

test("state reads – an operation that the gateway does not have is retried after at least five minutes, the others as usual", async (t) => {
  const { states, during } = start(t, [MISSING, BATTERY]);
  assert.deepEqual((await during(299_000)).sort(), ["getBattery", "getNothing"]);
  const day = await during(24 * HOUR_MS);
  const missing = day.filter((one) => one === "getNothing").length;
  assert.ok(missing >= 20 && missing <= 288, `${missing} in a day`);
  const usual = day.filter((one) => one === "getBattery").length;
  assert.ok(usual >= 24 && usual <= 27, `${usual} in a day`);
  assert.match(states.condition("100")?.lastError ?? "", /HTTP 404/);
});

test("state reads – without their own interval they run with the polls, and a slow gateway has nine tenths of the time without them", async (t) => {
  const quick = start(t, [BATTERY, { ...device(502, "a"), intervalS: 300 }], 60_000);
  const asked = await quick.during(600_000);
  assert.equal(asked.filter((one) => one === "getBattery").length, 10 + 1);
  assert.equal(asked.filter((one) => one.endsWith(":502")).length, 2 + 1);

  const OTHER: StateRead = { ...BATTERY, operation: "getOther", fields: { x: { from: "X" } } };
  const slow = start(t, [BATTERY, OTHER], 1_000, 1_000);
  await slow.during(10_000);
  const { length } = await slow.during(100_000);
  assert.ok(length >= 9 && length <= 11, `${length} reads of a second each in 100 s`);
  assert.equal(slow.states.condition("100")?.isStale, false);
});

test("state reads – whether a node is current does not go by a clock that is set meanwhile", async (t) => {
  const { clock, during, states } = start(t, [BATTERY], 60_000);
  await during(10_000);
  assert.equal(states.condition("100")?.isStale, false);
  clock.set(clock.now() + 30 * 86_400_000);
  assert.equal(states.condition("100")?.isStale, false, "set ahead by the network");
});

test("state reads – forty nodes of one source whose values change at every read are each read within their minute, whatever the pace of commits", async (t) => {
  const minute = 60_000;
  // 300 ms on average: a fifth of the time.
  const tookMs = () => 50 + Math.floor(500 * Math.random());
  const options = { sensors: 40, commitPaceMs: 6000, random: Math.random };
  const { reads, during } = start(t, [BATTERY], minute, tookMs, options);
  await during(30 * minute);
  assert.equal(reads.size, 40);
  for (const [code, times] of reads) {
    const steps = times.slice(1).map((at, i) => at - (times[i] ?? 0));
    const longest = Math.max(...steps);
    assert.ok(longest <= minute, `${code}: ${longest} ms`);
  }
});

test("state reads – one device is one connection, however its address is written", () => {
  for (const url of ["tcp://PLC-7", "tcp://plc-7:502", "tcp://plc-7/"])
    assert.equal(deviceOf(url), "tcp://plc-7:502");
  assert.notEqual(deviceOf("tcp://plc-7:503"), deviceOf("tcp://plc-7"));
});
