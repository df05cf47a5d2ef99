import assert from "node:assert/strict";
import { test } from "node:test";
import { AlarmUpkeep } from "../../../src/features/alarms/upkeep.ts";
import { GatewayClock } from "../../../src/pipeline/poll/gateway-clock.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const GATEWAY_MS = Date.UTC(2026, 0, 1);

/** An agent that has just started on a box whose clock is five hours ahead, with a shelf that ends in an hour. */
function restarted() {
  let monotonic = 0;
  const clock = {
    now: () => GATEWAY_MS + 5 * HOUR_MS + monotonic,
    monotonic: () => monotonic,
    sleep: async () => {},
  };
  const gatewayClock = new GatewayClock(clock);
  let hasEnded = false;
  const parts = {
    clock,
    engines: {
      alarms: {
        hasNews: (nowMs: number) => nowMs >= GATEWAY_MS + HOUR_MS,
        wait: { releases: () => false },
      },
    },
    log: { apply: async () => void (hasEnded = true) },
    gatewayNow: () => gatewayClock.now(),
    isGatewayTimeKnown: () => gatewayClock.isKnown,
    sensors: () => [],
    isGatewayUp: () => true,
  } as unknown as ConstructorParameters<typeof AlarmUpkeep>[0];
  const upkeep = new AlarmUpkeep(parts);
  return {
    gatewayClock,
    hasEndedAfter: async (ms: number) => {
      monotonic += ms;
      await upkeep.tick();
      return hasEnded;
    },
  };
}

test("upkeep of alarms – after a start with our clock ahead, a shelf ends by the gateway's", async () => {
  const { gatewayClock, hasEndedAfter } = restarted();
  assert.equal(await hasEndedAfter(0), false);
  gatewayClock.observe(GATEWAY_MS);
  assert.equal(await hasEndedAfter(30 * MINUTE_MS), false);
  assert.equal(await hasEndedAfter(30 * MINUTE_MS), true);
});

test("upkeep of alarms – without the gateway's time, shelves end by our clock after ten minutes", async () => {
  const { hasEndedAfter } = restarted();
  assert.equal(await hasEndedAfter(9 * MINUTE_MS), false);
  assert.equal(await hasEndedAfter(MINUTE_MS), true);
});

test("upkeep of alarms – a gateway that is away makes no sensor silent, until that was read again and has nothing new", async () => {
  let now = GATEWAY_MS;
  let isUp = true;
  let lastReadAtMs = now;
  let seen: readonly { code: string }[] = [];
  const clock = { now: () => now, monotonic: () => now, sleep: async () => {} };
  const upkeep = new AlarmUpkeep({
    clock,
    engines: {
      alarms: {
        hasNews: (_nowMs: number, sensors: readonly { code: string }[]) => {
          seen = sensors;
          return false;
        },
        wait: { releases: () => false },
      },
    },
    gatewayNow: () => now,
    isGatewayTimeKnown: () => true,
    sensors: () => [
      { code: "1", state: "silent", kinds: [{ lastReadAtMs }] },
      { code: "2", state: "online", kinds: [{ lastReadAtMs }] },
    ],
    isGatewayUp: () => isUp,
  } as unknown as ConstructorParameters<typeof AlarmUpkeep>[0]);
  const codesAfter = async (ms: number) => {
    now += ms;
    await upkeep.tick();
    return seen.map(({ code }) => code).join();
  };
  assert.equal(await codesAfter(0), "1,2");
  isUp = false;
  assert.equal(await codesAfter(MINUTE_MS), "2");
  isUp = true;
  assert.equal(await codesAfter(MINUTE_MS), "2");
  lastReadAtMs = now;
  assert.equal(await codesAfter(MINUTE_MS), "1,2");
});

test("upkeep of alarms – looks again when a shelf ends, not only at its next round", async () => {
  const slept: number[] = [];
  const stopping = new AbortController();
  const clock = {
    now: () => GATEWAY_MS,
    monotonic: () => 0,
    sleep: async (ms: number) => {
      slept.push(ms);
      stopping.abort();
    },
  };
  const parts = {
    clock,
    engines: {
      alarms: {
        hasNews: () => false,
        nextShelfEndMs: () => GATEWAY_MS + 1200,
        wait: { releases: () => false },
      },
    },
    log: { apply: async () => true },
    site: { onChange: () => () => {} },
    gatewayNow: () => GATEWAY_MS,
    isGatewayTimeKnown: () => true,
    sensors: () => [],
    isGatewayUp: () => true,
  } as unknown as ConstructorParameters<typeof AlarmUpkeep>[0];
  await new AlarmUpkeep(parts).run(stopping.signal);
  assert.deepEqual(slept, [1200]);
});

test("upkeep of alarms – a store that cannot be written is logged once a minute, with the number of tries", async () => {
  let now = GATEWAY_MS;
  const lines: unknown[] = [];
  const upkeep = new AlarmUpkeep({
    clock: { now: () => now, monotonic: () => now, sleep: async () => {} },
    engines: { alarms: { hasNews: () => true, wait: { releases: () => false } } },
    log: { apply: () => Promise.reject(new Error("held")) },
    logger: { warn: ({ others }: { others: number }) => void lines.push(others) },
    gatewayNow: () => now,
    isGatewayTimeKnown: () => true,
    sensors: () => [],
    isGatewayUp: () => true,
  } as unknown as ConstructorParameters<typeof AlarmUpkeep>[0]);
  for (; now <= GATEWAY_MS + MINUTE_MS; now += 5_000) await upkeep.tick();
  assert.deepEqual(lines, [0, 11]);
});
