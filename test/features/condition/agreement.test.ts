/** One source: whatever tells of a machine says the same, at random moments of a seeded plant. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { historyPages } from "../../../src/agent/history-pages.ts";
import type { SensorState } from "../../../src/core/agent-status.ts";
import type { Message } from "../../../src/core/message.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { createTopics } from "../../../src/core/topics/topics.ts";
import { MachineBoard } from "../../../src/features/condition/machine-board.ts";
import { MachineConditions } from "../../../src/features/condition/machine-conditions.ts";
import { createMachineMessages } from "../../../src/features/condition/machine-messages.ts";
import { MachineTimes } from "../../../src/features/condition/machine-times.ts";
import { registerPort } from "../../../src/features/condition/register-port.ts";
import { CONDITIONS } from "../../../src/features/condition/rules/words.ts";
import { machineSeries } from "../../../src/http/machine-series.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";
import { testParts } from "../../support/http-parts.ts";
import { openAlarms } from "../../support/open-alarms.ts";
import { append, readingOf } from "../../support/temp-database.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const ids = [40, 41, 42];
const vibration = (machine: number): Sensor => ({
  code: `${machine}`,
  type: 3,
  kinds: ["accel"],
  channels: {},
  machineClass: "group2-rigid",
  location: { company: 1, area: 2, machine, point: 1, names: { machine: `Pump ${machine}` } },
});
const SITE: Site = { site: "plant-7", sensors: ids.map(vibration) };

async function open(t: Parameters<typeof openAlarms>[0]) {
  const { alarms, store, clock } = openAlarms(t, SITE, NOW);
  const site = new ReplaceableSite(SITE);
  const newest = new Map<string, number>();
  const silent = new Set<string>();
  const sensors = (): SensorState[] =>
    site.current.sensors.map(({ code }) => ({
      code,
      state: silent.has(code) ? "silent" : "online",
      lastReadingMs: newest.get(code) ?? null,
      batteryV: null,
      kinds: [
        {
          kind: "accel",
          lastReadingMs: newest.get(code) ?? null,
          cadenceS: 60,
          lastReadAtMs: NOW,
          lastError: null,
          isSilent: silent.has(code),
        },
      ],
    }));
  const parts = {
    ...testParts(),
    site,
    clock,
    logger: silentLogger,
    history: historyPages(store.history),
    alarms: alarms.actions,
    findings: alarms.findingViews,
    machineSignals: alarms.engines.signals.wait,
    sensors,
    outlook: () => [],
    gatewayNow: () => clock.now(),
  };
  const conditions = new MachineConditions(parts);
  /** Computed anew, as by a process that has just started. */
  const anew = () => new MachineConditions(parts).worstFirst();
  store.alarms.onStates = (codes) => {
    for (const code of codes) conditions.note(code);
  };
  const sent: Message[] = [];
  const publish = (message: Message) => {
    sent.push(message);
    return Promise.resolve({ result: "delivered" } as const);
  };
  const memory = new Map<string, string>();
  const keep = { get: (name: string) => memory.get(name) ?? null, set: memory.set.bind(memory) };
  const board = new MachineBoard(
    {
      link: {
        session: 1,
        isConnected: true,
        inflightMax: 9,
        ready: () => Promise.resolve(true),
        publish,
      },
      turns: {
        next: () => Promise.resolve(),
        publish: (messages) => Promise.all(messages.map(publish)),
      },
      site,
      conditions,
      clock,
      logger: silentLogger,
      times: new MachineTimes({ memory: keep, clock, logger: silentLogger }),
      messages: createMachineMessages(
        { clientId: "x", compact: false, formats: ["json"], profile: "gateside", retain: true },
        { topics: createTopics("gateside", "plant-7"), site, version: "0" },
      ),
      memory: { load: () => keep.get("m"), save: (text) => void keep.set("m", text) },
    },
    {
      othersMs: 900_000,
      isOn: true,
      isCompact: false,
      isRetained: true,
      isSelected: () => true,
      hasFixedTopics: false,
    },
  );
  const read = async (code: string, timeMs: number, mmS: number, zone: string) => {
    await append(store, [
      readingOf(code, timeMs, {
        kind: "accel",
        values: { channel1_vel_rms: mmS, channel1_zone: zone } as never,
      }),
    ]);
    newest.set(code, Math.max(timeMs, newest.get(code) ?? 0));
    conditions.note(code);
  };
  const newestOf = (id: number) =>
    sent.findLast(({ topic }) => topic === `gateside/plant-7/machine/${id}`)?.payload.toString();
  return { alarms, anew, board, clock, conditions, newestOf, read, sent, silent, site };
}

test("conditions – API, topic, metric and registers say the same at 200 random moments; times of messages rise", async (t) => {
  const { alarms, anew, board, clock, conditions, newestOf, read, sent, silent } = await open(t);
  const random = new RandomSequence(61);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)] as T;
  await board.sync();
  for (let moment = 0; moment < 200; moment++) {
    await clock.advance(11_000 + Math.floor(random.next() * 60_000));
    const code = String(pick(ids));
    const what = random.next();
    if (what < 0.6) {
      const [mmS, zone] = pick([
        [0.5, "A"],
        [2, "B"],
        [4, "C"],
        [9, "D"],
      ] as const);
      const isLate = random.next() < 0.3;
      await read(code, clock.now() - (isLate ? 3_600_000 : 0), mmS, zone);
    } else if (what < 0.75) {
      if (!silent.delete(code)) silent.add(code);
    } else {
      const [open] = alarms.actions.lists({ limit: 0, before: null }).active;
      if (open !== undefined)
        await alarms.actions.act({
          id: open.id,
          word: "acknowledge",
          by: "anna",
          note: null,
          untilMs: null,
          source: "http",
        });
    }
    const api = await conditions.worstFirst();
    // What changed within a day is looked up once in a while.
    const without = (entries: typeof api) => entries.map((entry) => ({ ...entry, changed: null }));
    assert.deepEqual(without(api), without(await anew()), `${moment}`);
    await board.look();
    const metric = machineSeries("plant-7", conditions.current);
    const registers = registerPort(conditions).registers();
    for (const entry of api) {
      if (entry.id === null) continue;
      const payload = JSON.parse(newestOf(entry.id) ?? "{}") as Record<string, unknown>;
      for (const name of [
        "condition",
        "zone",
        "stage",
        "acknowledged",
        "since",
        "alarmCount",
      ] as const)
        assert.deepEqual(payload[name], entry[name], `${moment} ${entry.id} ${name}`);
      assert.ok(
        metric.includes(`machine="${entry.id}",condition="${entry.condition}",site="plant-7"} 1`),
      );
      const known = registers.get(entry.id);
      assert.equal(known?.condition, CONDITIONS.indexOf(entry.condition) + 1);
    }
  }
  assert.ok(new Set(sent.map(({ payload }) => JSON.parse(String(payload)).condition)).size >= 4);
  for (const id of ids) {
    const times = sent
      .filter(({ topic }) => topic.endsWith(`/${id}`))
      .map(({ payload }) => Date.parse(JSON.parse(String(payload)).time));
    assert.ok(times.every((time, at) => at === 0 || time > (times[at - 1] ?? 0)));
  }
});

test("conditions – a late reading turns no topic back; a machine that leaves or is renamed leaves nothing of its own", async (t) => {
  const { board, clock, conditions, newestOf, read, sent, site } = await open(t);
  await board.sync();
  for (const id of ids) await read(String(id), NOW - 60_000, 9, "D");
  await conditions.look();
  await board.look();
  assert.equal(JSON.parse(newestOf(40) ?? "").condition, "alarm");
  const before = sent.length;
  await clock.advance(20_000);
  await read("40", NOW - 7_200_000, 0.5, "A");
  await conditions.look();
  await board.look();
  assert.equal(sent.length, before);
  site.replace({
    site: "plant-7",
    sensors: [vibration(40)],
    machines: [{ id: 40, name: "Another name" }],
  });
  await conditions.look();
  await board.sync();
  await clock.advance(1_000_000);
  await conditions.look();
  await board.look();
  assert.equal(newestOf(41), "");
  assert.equal(newestOf(42), "");
  assert.equal(JSON.parse(newestOf(40) ?? "").name, "Another name");
});

test("conditions – without a listener the loop rests, also when a machine looked at once is due again", async (t) => {
  const { clock, conditions, read } = await open(t);
  await read("40", clock.now(), 2, "B");
  const aborter = new AbortController();
  t.after(() => aborter.abort());
  const running = conditions.run(aborter.signal);
  await conditions.worstFirst();
  let rests = 0;
  const { now, sleep } = clock;
  let asked = 0;
  t.mock.method(clock, "now", () => {
    asked += 1;
    if (asked > 100_000) throw new Error("it never rests");
    return now.call(clock);
  });
  t.mock.method(clock, "sleep", (ms: number, signal?: AbortSignal) => {
    rests += 1;
    return sleep.call(clock, ms, signal);
  });
  await clock.advance(3_600_000);
  assert.ok(rests > 600 && rests < 4_000, `${rests} rests in an hour`);
  aborter.abort();
  await running;
});
