import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { AgentStatus, SensorState } from "../../../src/core/agent-status.ts";
import type { Gap } from "../../../src/core/delivery/delivery.ts";
import type { Site } from "../../../src/core/site.ts";
import { fixedSite, ReplaceableSite } from "../../../src/core/site-source.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createGatesideProfile } from "../../../src/pipeline/publish/formats/gateside.ts";
import type { Naming } from "../../../src/pipeline/publish/formats/naming.ts";
import type { PayloadProfile } from "../../../src/pipeline/publish/formats/profile.ts";
import { Presence } from "../../../src/pipeline/publish/presence.ts";
import { FakeLink, turnsOver } from "../../support/fake-link.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const sensorState = (overrides: Partial<SensorState> = {}): SensorState => ({
  code: "10234",
  state: "online",
  lastReadingMs: Date.parse("2026-11-20T11:59:00Z"),
  batteryV: 3.6,
  kinds: [],
  ...overrides,
});

function status(clock: ManualClock): AgentStatus {
  return {
    site: "plant-7",
    version: "1.2.3",
    startedAtMs: clock.now() - 90_000,
    nowMs: clock.now(),
    timezone: "UTC",
    gateway: {
      isUp: true,
      isNeeded: true,
      url: "http://gateway",
      lastAnswerAtMs: clock.now(),
      lastError: null,
      lastErrorClass: null,
      skewMs: 2000,
    },
    links: [
      {
        name: "mqtt",
        uplink: "main",
        pending: 0,
        oldestTimeMs: null,
        isConnected: true,
        url: "mqtt://b",
        since: clock.now(),
        lastError: null,
        refused: null,
        delivered: 9,
        failures: { not_authorized: 3 },
      },
    ],
    buffer: {
      lanes: {
        json: { readings: 5, oldestTimeMs: clock.now() - 60_000 },
        plain: { readings: 0, oldestTimeMs: null },
      },
      readings: 5,
      databaseBytes: 1000,
      limitBytes: 2000,
      diskFreeBytes: 3000,
      hoursUntilFull: 12.5,
      hours: { bytes: 0, limitBytes: 16_777_216, oldestHourMs: null, oldestDayMs: null },
      dropped: { space: 2 },
      alarm: null,
      isWritable: true,
      kept: { measurements: 0, pins: 0, bytes: 0, limitBytes: 16 << 20, isFull: false },
    },
    sensors: [sensorState(), sensorState({ state: "silent" })],
    delivered: 42,
    activeAlarms: { warning: 2, alarm: 1 },
    clock: { skewMs: 2000, isPlausible: true, isConfirmed: true },
    configuration: "0123456789ab",
    pendingRestart: [],
    renewedByRestart: [],
    notifications: [],
    certificates: [],
    daysSetAside: [],
    pendingReload: [],
    configurationFaults: [],
    http: { address: null, lastError: null },
  };
}

const profileOf = (naming: Partial<Naming> = {}) =>
  createGatesideProfile(
    { waveforms: { read: () => null } },
    {
      prefix: "gateside",
      site: "plant-7",
      source: fixedSite({ site: "plant-7", sensors: [] }),
      version: "1.2.3",
      formats: ["json"],
      waveforms: "alarm",
      withRaw: false,
      retain: true,
      clearRemoved: false,
      isWanted: null,
      ...naming,
    },
  );

function start(
  t: TestContext,
  sensors: () => SensorState[] = () => [],
  gaps: Gap[] = [],
  profile: PayloadProfile = profileOf(),
  stateRefreshMs = 60_000,
) {
  const clock = new ManualClock();
  const link = new FakeLink();
  const settled: number[] = [];
  const now: { changes: Partial<AgentStatus> } = { changes: {} };
  /** Entities are announced once after each renewal. */
  let isRenewed = false;
  const descriptions = {
    sync: async () => {
      const hasAnnounced = isRenewed;
      isRenewed = false;
      if (hasAnnounced)
        await link.publish({ topic: "entity/config", payload: "{}", qos: 1, retain: false });
      return hasAnnounced;
    },
    renew: () => {
      isRenewed = true;
    },
    entitiesRemoved: () => [],
  };
  const presence = new Presence({
    link,
    turns: turnsOver(link),
    clock,
    logger: silentLogger,
    status: () => ({ ...status(clock), ...now.changes }),
    sensors,
    gaps: {
      pendingGaps: (max) => gaps.filter(({ gapId }) => !settled.includes(gapId)).slice(0, max),
      settleGaps: (ids) => void settled.push(...ids),
    },
    profile,
    stateRefreshMs,
    board: { online: () => Promise.resolve(), renew: () => Promise.resolve() },
    descriptions,
    others: { sending: () => {}, heard: () => {}, isRepeatDue: false },
    readBack: { sending: () => {}, heard: () => {}, isRepeatDue: false },
    retained: {
      begin: () => {},
      received: () => {},
      look: () => Promise.resolve(),
      ended: () => {},
    },
  });
  const stop = new AbortController();
  const run = async () => {
    const ended = presence.run(stop.signal);
    t.after(async () => {
      stop.abort();
      await ended;
    });
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, link, presence, settled, run, now };
}

test("presence – a state that the broker refused is tried again after five minutes, because its access list may be corrected", async (t) => {
  const { clock, presence, link, run } = start(t);
  const isState = ({ topic }: { topic: string }) => topic === "gateside/plant-7/agent/state";
  const states = () => link.messages.filter(isState).length;
  link.outcome = (message) =>
    isState(message) ? { result: "refused", code: 0x87 } : { result: "delivered" };
  await presence.online();
  await run();
  await clock.advance(290_000);
  assert.equal(states(), 1);
  await clock.advance(20_000);
  assert.equal(states(), 2);
  link.outcome = () => ({ result: "delivered" });
  await clock.advance(310_000);
  assert.equal(states(), 3);
  await clock.advance(900_000);
  assert.equal(states(), 3);
});

test("presence – the will and the farewell publish offline on the topic that says online, all retained", async (t) => {
  const { presence, link } = start(t);
  await presence.online();
  await presence.online();
  const topic = "gateside/plant-7/agent/state";
  const time = "2026-11-20T12:00:00.000Z";
  // A will may be published long after it was made: it says nothing about the configuration.
  const text = (state: string, reason: string) =>
    JSON.stringify({
      state,
      time,
      version: "1.2.3",
      reason,
      ...(reason === "connection lost"
        ? {}
        : { configuration: "0123456789ab", pendingRestart: [] }),
      site: "plant-7",
    });
  assert.deepEqual(
    link.messages.map(({ payload }) => payload),
    [text("online", "started"), text("online", "reconnected")],
  );
  for (const message of [presence.will(), ...presence.offline("stopped"), ...link.messages]) {
    assert.equal(message?.topic, topic);
    assert.deepEqual([message?.qos, message?.retain], [1, true]);
  }
  assert.equal(presence.will()?.payload, text("offline", "connection lost"));
  assert.deepEqual(
    presence.offline("stopped").map(({ payload }) => payload),
    [text("offline", "stopped")],
  );
});

test("presence – statistics are published with each session and every minute, with the members of contract section 6", async (t) => {
  const { clock, link, run } = start(t);
  const topic = "gateside/plant-7/agent/stats";
  await run();
  const [stats] = link.payloads(topic);
  assert.deepEqual(stats?.["buffer"], {
    depth: 5,
    readings: 5,
    oldestAgeS: 62,
    bytes: 1000,
    limitBytes: 2000,
    diskFreeBytes: 3000,
    hoursUntilFull: 12.5,
    isWritable: true,
    alarm: null,
    kept: { measurements: 0, bytes: 0 },
    lanes: {
      json: { readings: 5, oldest: "2026-11-20T11:59:00.000Z" },
      plain: { readings: 0, oldest: null },
    },
    hours: { bytes: 0, limitBytes: 16_777_216, oldestHour: null, oldestDay: null },
  });
  assert.equal(stats?.["delivered"], 42);
  assert.deepEqual(stats?.["dropped"], { space: 2 });
  const [broker] = (stats?.["brokers"] ?? []) as Record<string, unknown>[];
  assert.deepEqual([broker?.["delivered"], broker?.["failures"]], [9, { not_authorized: 3 }]);
  assert.deepEqual(stats?.["clock"], { skewS: 2, isPlausible: true, isConfirmed: true });
  assert.deepEqual(stats?.["alarms"], { warning: 2, alarm: 1 });
  assert.deepEqual(stats?.["sensors"], { online: 1, silent: 1, unknown: 0 });
  for (let i = 0; i < 11; i++) await clock.advance(5000);
  assert.equal(link.payloads(topic).length, 1, "not within the minute");
  await clock.advance(5000);
  assert.equal(link.payloads(topic).length, 2);
  link.session += 1;
  await clock.advance(5000);
  assert.equal(link.payloads(topic).length, 3);
});

test("presence – another agent of the same site is in the statistics while there is one", async (t) => {
  const { clock, link, run, now } = start(t);
  const { links } = status(clock);
  now.changes = { links: links.map((one) => ({ ...one, otherAgent: "stop one of them" })) };
  await run();
  now.changes = {};
  await clock.advance(60_000);
  const told = link
    .payloads("gateside/plant-7/agent/stats")
    .map(({ brokers }) => (brokers as { otherAgent?: string }[])[0]?.otherAgent);
  assert.deepEqual(told, ["stop one of them", undefined]);
});

test("presence – a gateway outage and its end are published within seconds, because the last statistics are retained", async (t) => {
  const { clock, link, run, now } = start(t);
  const { gateway } = status(clock);
  now.changes = { gateway: { ...gateway, isUp: false } };
  await run();
  const isUp = () =>
    link
      .payloads("gateside/plant-7/agent/stats")
      .map((payload) => (payload["gateway"] as { isUp: boolean }).isUp);
  assert.deepEqual(isUp(), [false]);
  now.changes = {};
  await clock.advance(5_000);
  assert.deepEqual(isUp(), [false, true]);
  await clock.advance(55_000);
  assert.deepEqual(isUp(), [false, true], "the minute begins anew");
  await clock.advance(5_000);
  assert.deepEqual(isUp(), [false, true, true]);
  now.changes = { buffer: { ...status(clock).buffer, alarm: "the disk is full" } };
  await clock.advance(5_000);
  assert.equal(isUp().length, 4);
});

test("presence – a reload and what then waits for a restart are in the agent's state within seconds, once", async (t) => {
  const { clock, link, run, now } = start(t);
  await run();
  const states = () =>
    link
      .payloads("gateside/plant-7/agent/state")
      .map(({ configuration, pendingRestart }) => [configuration, pendingRestart]);
  const before = states().length;
  now.changes = { configuration: "ba9876543210" };
  await clock.advance(5_000);
  now.changes = { ...now.changes, pendingRestart: ["HTTP_PORT"] };
  await clock.advance(15_000);
  assert.deepEqual(states().slice(before), [
    ["ba9876543210", []],
    ["ba9876543210", ["HTTP_PORT"]],
  ]);
});

test("presence – a sensor's state is published at the start and on change, and again until it is acknowledged", async (t) => {
  let current = sensorState({ state: "unknown", lastReadingMs: null, batteryV: null });
  const { clock, link, run, presence } = start(t, () => [current]);
  const topic = "gateside/plant-7/10234/state";
  link.outcome = () => ({ result: "lost" });
  await run();
  link.outcome = () => ({ result: "delivered" });
  await clock.advance(5000);
  await clock.advance(5000);
  const named = { site: "plant-7", sensor: "10234" };
  const unknown = { state: "unknown", lastReading: null, battery: null, ...named };
  assert.deepEqual(link.payloads(topic), [unknown, unknown]);
  current = sensorState();
  await clock.advance(5000);
  assert.deepEqual(link.payloads(topic).at(-1), {
    state: "online",
    lastReading: "2026-11-20T11:59:00.000Z",
    battery: 3.6,
    ...named,
  });
  current = sensorState({ lastReadingMs: clock.now() });
  await clock.advance(5000);
  assert.equal(link.payloads(topic).length, 3, "a reading alone is no change of state");
  await presence.online();
  await clock.advance(5000);
  assert.equal(link.payloads(topic).length, 4, "a new session hears all states");
});

test("presence – an uplink with few readings gets states as rarely while only the time of the last reading changes, and a change at once", async (t) => {
  let current = sensorState();
  const { clock, link, run } = start(t, () => [current], [], profileOf(), 900_000);
  const topic = "gateside/plant-7/10234/state";
  await run();
  for (let minute = 0; minute < 14; minute++) {
    current = sensorState({ lastReadingMs: clock.now() });
    await clock.advance(60_000);
  }
  assert.equal(link.payloads(topic).length, 1);
  await clock.advance(65_000);
  assert.equal(link.payloads(topic).length, 2);
  current = sensorState({ state: "silent" });
  await clock.advance(5_000);
  assert.equal(link.payloads(topic).length, 3);
});

test("presence – a sensor that is removed and returns, or whose topic moves, has its state published again, changed or not", async (t) => {
  const named = (name: string): Site => ({
    site: "plant-7",
    sensors: [{ code: "10234", type: 3, name, kinds: [], channels: {} }],
  });
  const source = new ReplaceableSite(named("Pump"));
  const profile = profileOf({ source, templates: { state: "{prefix}/{name}/state" } });
  let current = [sensorState()];
  const { clock, link, run } = start(t, () => current, [], profile);
  await run();
  assert.equal(link.payloads("gateside/Pump/state").length, 1);
  current = [];
  await clock.advance(5000);
  current = [sensorState()];
  await clock.advance(5000);
  assert.equal(link.payloads("gateside/Pump/state").length, 2);
  source.replace(named("Fan"));
  await clock.advance(5000);
  assert.equal(link.payloads("gateside/Fan/state").length, 1);
});

test("presence – gaps are settled when acknowledged, and only then", async (t) => {
  const gap: Gap = {
    gapId: 7,
    sensor: "10234",
    kind: "accel",
    fromMs: 0,
    toMs: 1000,
    count: 3,
    reason: "space",
  };
  const { clock, link, run, settled } = start(t, () => [], [gap]);
  link.outcome = () => ({ result: "refused", code: 0x87 });
  await run();
  assert.deepEqual(settled, []);
  link.outcome = () => ({ result: "delivered" });
  await clock.advance(5000);
  await clock.advance(5000);
  assert.deepEqual(settled, [7]);
  assert.equal(link.payloads("gateside/plant-7/agent/gap").length, 2);
  assert.deepEqual(link.payloads("gateside/plant-7/agent/gap")[0], {
    v: 1,
    site: "plant-7",
    sensor: "10234",
    kind: "accel",
    from: "1970-01-01T00:00:00.000Z",
    to: "1970-01-01T00:00:01.000Z",
    count: 3,
    reason: "space",
  });
});

test("presence – without retained messages the states of the agent and its sensors are sent again once entities that were announced listen to them, and with them they are not", async (t) => {
  for (const marker of [null, "gateside/plant-7/agent/state"]) {
    const profile = { ...profileOf(), marker, wantsDescriptions: () => true };
    const { presence, link, clock, run } = start(t, () => [sensorState()], [], profile);
    await presence.online();
    await run();
    link.messages = [];
    presence.received("homeassistant/status", Buffer.from("online"));
    await clock.advance(10_000);
    const topics = () => link.topics.filter((topic) => /state|config/.test(topic));
    // Home Assistant has not subscribed yet.
    assert.deepEqual(topics(), ["entity/config"]);
    await clock.advance(10_000);
    const states = ["gateside/plant-7/agent/state", "gateside/plant-7/10234/state"];
    assert.deepEqual(topics(), ["entity/config", ...(marker === null ? states : [])]);
    await clock.advance(40_000);
    assert.equal(topics().length, marker === null ? 3 : 1, "once");
  }
});
