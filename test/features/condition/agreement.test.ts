/** One source: whatever tells of a machine says the same, at random moments of a seeded plant. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { machineLines } from "../../../src/cli/status-machines.ts";
import { BUILT_PROFILES } from "../../../src/config/profiles.ts";
import { CONDITIONS } from "../../../src/core/condition/words.ts";
import type { Message } from "../../../src/core/message.ts";
import { METRIC } from "../../../src/core/read-units.ts";
import type { Profile, Uplink } from "../../../src/core/uplink.ts";
import { machineNow } from "../../../src/dashboard/machine-now.ts";
import type { Model } from "../../../src/dashboard/model.ts";
import type { MachineConditions } from "../../../src/features/condition/machine-conditions.ts";
import { registerPort } from "../../../src/features/condition/register-port.ts";
import { machineSeries } from "../../../src/features/condition/series.ts";
import { sparkplugMachines } from "../../../src/features/condition/sparkplug-port.ts";
import { machineLine, toldMachine } from "../../../src/features/notify/machines.ts";
import { gatherReport } from "../../../src/features/report/gather.ts";
import type { MachineValues } from "../../../src/features/sparkplug/devices.ts";
import { RandomSequence } from "../../../src/simulator/random.ts";
import { NOW, openMachines, UPLINK, vibration } from "./machine-plant.ts";

const IDS = [40, 41, 42];
/** Members of "a change", at most ten seconds behind. */
const CHANGES = ["condition", "zone", "stage", "acknowledged", "since", "alarmCount"] as const;

type Plant = Awaited<ReturnType<typeof openMachines>>;

type Looked = Pick<MachineConditions, "current" | "onLook" | "want">;

const conditionOf = ({ payload }: Message): string | undefined => {
  const text = String(payload);
  return text.startsWith("{") ? JSON.parse(text).condition : undefined;
};

/** What a Sparkplug host holds: the birth, then all data. */
function sparkplugHost({
  clock,
  conditions,
  site,
}: Pick<Plant, "clock" | "site"> & { readonly conditions: Looked }) {
  const source = sparkplugMachines(UPLINK as Uplink, { site, conditions, clock });
  const held = new Map(
    source.devices().map(({ id }): [string, MachineValues] => [id, source.birth(id)]),
  );
  return {
    /** Messages about the last machine that was looked at. */
    data: 0,
    look(id: number): MachineValues {
      for (const [device, values] of source.due()) {
        held.set(device, { ...held.get(device), ...values });
        if (device === `machine-${id}`) this.data += 1;
      }
      return held.get(`machine-${id}`) ?? {};
    },
  };
}

/** The page while its gateway responds. */
const PAGE = {
  status: null,
  sensors: new Map(),
  gatewayNowMs: () => NOW,
} as unknown as Model;

test("conditions – page, API, report, topics of each profile, metric, Sparkplug, registers, messages and status say the same at 200 random moments", async (t) => {
  const plant = await openMachines(t, IDS);
  const { alarms, anew, board, boardOf, clock, conditions, newestOf, parts, read, sent, silent } =
    plant;
  const random = new RandomSequence(61);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)] as T;
  const builtIn = (profile: Profile) =>
    BUILT_PROFILES.includes(profile) ? boardOf(profile) : undefined;
  const [home, things, azure] = [
    builtIn("homeassistant"),
    builtIn("thingsboard"),
    builtIn("azure-iot"),
  ];
  const ownTopics = [sent, ...(home === undefined ? [] : [home.sent])];
  const boards = [
    board,
    ...[home, things, azure].flatMap((one) => (one === undefined ? [] : [one.board])),
  ];
  for (const one of boards) await one.sync();
  const host = sparkplugHost(plant);
  for (let moment = 0; moment < 200; moment++) {
    await clock.advance(11_000 + Math.floor(random.next() * 60_000));
    const code = String(pick(IDS));
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
    // Outputs look for changes only; sentences and numbers follow when somebody asks.
    await conditions.lookForChanges();
    const fresh = await anew();
    for (const { id, members } of conditions.current)
      for (const name of CHANGES)
        assert.deepEqual(
          members[name],
          fresh.find((entry) => entry.id === id)?.[name],
          `${moment} ${id} ${name}`,
        );
    const api = await conditions.worstFirst();
    // What changed within a day is looked up once in a while.
    const without = (entries: typeof api) => entries.map((entry) => ({ ...entry, changed: null }));
    assert.deepEqual(without(api), without(fresh), `${moment}`);
    for (const one of boards) await one.look();
    const metric = machineSeries("plant-7", conditions.current);
    const registers = registerPort(conditions).registers();
    const status = machineLines(api, String);
    for (const entry of api) {
      const { id, condition, zone, stage, running, acknowledged, alarmCount, since } = entry;
      if (id === null) continue;
      const at = `${moment} ${id}`;
      const sinceMs = since === null ? null : Date.parse(since);
      for (const from of ownTopics) {
        const payload = JSON.parse(newestOf(id, "", from) ?? "{}") as Record<string, unknown>;
        for (const name of CHANGES) assert.deepEqual(payload[name], entry[name], `${at} ${name}`);
      }
      const plain = { condition, zone: zone ?? "", running: running ?? "", stage: stage ?? 0 };
      for (const [name, value] of Object.entries(plain))
        assert.equal(newestOf(id, `/${name}`), String(value), `${at} ${name}`);
      const device = `plant-7 machine ${id}`;
      const telemetry: object | undefined = things?.sent
        .filter(({ payload }) => String(payload).includes(`"${device}":[`))
        .slice(-1)
        .map(({ payload }): object | undefined => JSON.parse(String(payload))[device]?.[0].values)
        .findLast((values) => values !== undefined);
      const { alarm, warning } = alarmCount;
      const told = { condition, zone, running, stage, alarms: alarm, warnings: warning };
      const known = Object.entries(told).filter(([, value]) => value !== null);
      if (things !== undefined) assert.deepEqual(telemetry, Object.fromEntries(known), at);
      const cloud: Message | undefined = azure?.sent.findLast(({ topic }) =>
        topic.includes(`machine=${id}`),
      );
      if (azure !== undefined)
        assert.equal(JSON.parse(String(cloud?.payload)).condition, condition, at);
      const metrics = host.look(id);
      const sparkplug = { condition, zone, running, stage: stage ?? 0, acknowledged };
      for (const [name, value] of Object.entries(sparkplug))
        assert.equal(metrics[name] ?? null, value, `${at} ${name}`);
      assert.equal(metrics["since"] ?? null, sinceMs, at);
      assert.ok(metric.includes(`machine="${id}",condition="${condition}",site="plant-7"} 1`));
      const block = registers.get(id);
      assert.equal(block?.condition, CONDITIONS.indexOf(condition) + 1, at);
      assert.deepEqual([block.zone, block.stage, block.running], [zone, stage, running], at);
      assert.equal(block.open, alarm + warning, at);
      assert.equal(machineNow(PAGE, entry).condition, condition, at);
      const line = machineLine(toldMachine(entry));
      assert.ok(line.startsWith(`Pump ${id} (Area 2): ${condition}`), line);
      const row = status.rows.split("\n").find((text) => text.startsWith(`Pump ${id} `));
      assert.equal(row?.includes(condition) ?? condition === "ok", true, at);
    }
    const entry = pick(api);
    const report = await gatherReport(
      { ...parts, conditions, outlook: null, settings: { gatewayTimezone: "UTC" } } as never,
      { id: entry.id ?? 0, fromMs: clock.now() - 60_000, toMs: clock.now(), units: METRIC },
    );
    const reported = [report?.condition, report?.reason, report?.sinceMs ?? null];
    const sinceMs = entry.since === null ? null : Date.parse(entry.since);
    assert.deepEqual(reported, [entry.condition, entry.reason, sinceMs], `${moment}`);
  }
  assert.ok(new Set(sent.map(conditionOf)).size > 4);
  for (const id of IDS) {
    const times = sent
      .filter(({ topic }) => topic.endsWith(`/${id}`))
      .map(({ payload }) => Date.parse(JSON.parse(String(payload)).time));
    assert.ok(times.every((time, at) => at === 0 || time > (times[at - 1] ?? 0)));
  }
});

test("conditions – a storm of 300 machines, all to alarm and back: each is told at once six times a minute at most, else once in ten seconds", async (t) => {
  const ids = Array.from({ length: 300 }, (_, at) => at + 1);
  const { boardOf, clock, conditions, site } = await openMachines(t, ids);
  await conditions.look();
  const as = (condition: "alarm" | "ok", since: string | null) =>
    conditions.current.map((machine) => ({
      ...machine,
      isSettled: true,
      members: { ...machine.members, condition, since },
    }));
  // Alarms are damped before; here nothing is.
  const flapping = { current: as("ok", null), onLook: () => () => {}, want: () => {} };
  const { board, sent } = boardOf("gateside", flapping);
  await board.sync();
  const host = sparkplugHost({ clock, conditions: flapping, site });
  const told = new Map<number, { readonly at: number; readonly isAlarm: boolean }[]>();
  let seen = 0;
  const note = () => {
    for (const message of sent.slice(seen)) {
      const id = Number(/machine\/(\d+)$/.exec(message.topic)?.[1] ?? 0);
      if (id === 0) continue;
      const list = told.get(id) ?? [];
      told.set(id, [...list, { at: clock.monotonic(), isAlarm: conditionOf(message) === "alarm" }]);
    }
    seen = sent.length;
  };
  const SECONDS = 80;
  for (let second = 0; second < SECONDS; second++) {
    await clock.advance(1_000);
    const since = new Date(NOW + second * 1000).toISOString();
    flapping.current = second % 2 === 0 ? as("alarm", since) : as("ok", null);
    await board.look();
    note();
    host.look(1);
  }
  assert.ok(host.data <= 6 * 3 + 15, `${host.data} DDATA of a machine`);
  assert.equal(told.size, ids.length);
  for (const [id, list] of told) {
    const atOnce = list.filter(({ at, isAlarm }, n) => {
      const before = list[n - 1];
      const isSoon = before !== undefined && at - before.at < 10_000;
      assert.ok(!isSoon || isAlarm, `machine ${id} at ${at}`);
      return isSoon;
    });
    const within = atOnce.map(
      ({ at }) => atOnce.filter((one) => one.at >= at && one.at < at + 60_000).length,
    );
    assert.equal(Math.max(...within), 6, `${id}`);
  }
});

test("conditions – a late reading turns no topic back; a machine that leaves or is renamed leaves nothing of its own", async (t) => {
  const { board, boardOf, clock, conditions, newestOf, read, sent, site } = await openMachines(
    t,
    IDS,
  );
  // There a topic has the name.
  const named = boardOf("gateside", conditions, { machine: "plant-7/{machine}" });
  await board.sync();
  await named.board.sync();
  for (const id of IDS) await read(String(id), NOW - 60_000, 9, "D");
  await conditions.look();
  await board.look();
  await named.board.look();
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
  const renamedAt = named.sent.length;
  await named.board.sync();
  await named.board.look();
  assert.deepEqual(
    named.sent
      .slice(renamedAt)
      .filter(({ topic }) => !/\/(zone|running|stage)$/.test(topic))
      .map(({ topic, payload }) => [topic, payload === "" ? "" : "told"])
      .toSorted(),
    [
      ["plant-7/Another name", "told"],
      ["plant-7/Another name/condition", "told"],
      ...["Pump 40", "Pump 41", "Pump 42"].flatMap((name) => [
        [`plant-7/${name}`, ""],
        [`plant-7/${name}/condition`, ""],
      ]),
    ],
  );
  await clock.advance(1_000_000);
  await conditions.look();
  await board.look();
  assert.equal(newestOf(41), "");
  assert.equal(newestOf(42), "");
  assert.equal(JSON.parse(newestOf(40) ?? "").name, "Another name");
});

test("conditions – without a listener the loop rests, also when a machine looked at once is due again", async (t) => {
  const { clock, conditions, read } = await openMachines(t, IDS);
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

test("conditions – on a slow box, a machine that lacks nothing is not computed again at each look", async (t) => {
  const { clock, conditions, read } = await openMachines(t, IDS);
  await read("40", clock.now(), 2, "B");
  await conditions.look();
  // Each look takes longer than the time for what looks back over days.
  let slowMs = 0;
  const { monotonic } = clock;
  t.mock.method(clock, "monotonic", () => monotonic.call(clock) + (slowMs += 1_000));
  await clock.advance(60_000);
  await read("40", clock.now(), 2, "B");
  await conditions.look();
  const [before] = conditions.current;
  await clock.advance(1_000);
  await conditions.look();
  assert.equal(conditions.current[0]?.members, before?.members);
});

test("conditions – readings that change only numbers compute nothing, until a message or the API says them", async (t) => {
  const { board, clock, conditions, newestOf, read } = await openMachines(t, IDS);
  await board.sync();
  const minute = async (mmS: number) => {
    await clock.advance(60_000);
    for (const id of IDS) await read(String(id), clock.now(), mmS, "D");
    await conditions.lookForChanges();
  };
  const told = async () => {
    await board.look();
    await conditions.lookForChanges();
    await board.look();
  };
  for (let n = 0; n < 3; n++) await minute(9);
  await told();
  const toldReason = () => JSON.parse(newestOf(40) ?? "{}").reason as string;
  const first = toldReason();
  assert.match(first, /9/);
  const before = conditions.current.map(({ members }) => members);
  for (let n = 0; n < 12; n++) await minute(9.5 + n / 10);
  assert.deepEqual(
    conditions.current.map(({ members }, at) => members === before[at]),
    IDS.map(() => true),
  );
  assert.equal(conditions.current[0]?.judgedMs, clock.now());
  await told();
  assert.equal(toldReason(), first, "numbers alone are told after 15 minutes");
  for (let n = 0; n < 3; n++) await minute(11);
  await told();
  const [entry] = await conditions.worstFirst();
  assert.notEqual(toldReason(), first);
  assert.equal(toldReason(), entry?.reason);
});
