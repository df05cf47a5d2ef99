import assert from "node:assert/strict";
import { test } from "node:test";
import type { BaselineTest } from "../../../src/core/alarm/compile.ts";
import {
  baselineBounds,
  baselineStatus,
  follow,
  learn,
  levelOf,
  UNLEARNED,
} from "../../../src/features/alarms/rules/baseline.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import {
  ACCEL,
  Disk,
  engineOf,
  feed,
  MINUTE,
  PUMP,
  pressures,
  reading,
  siteWith,
  speeds,
  summaries,
  T0,
  vibrations,
} from "./support.ts";

const tx = new Transactions();

const TEST: BaselineTest = {
  type: "baseline",
  readings: 5,
  deviations: 4,
  hysteresis: null,
  isTwoSided: false,
  leastRatio: 0,
  cap: null,
  zone: null,
};
const learned = (values: readonly number[], zone: string | null = null, of = TEST) => {
  const samples: number[] = [];
  return values.reduce(
    (state, value, i) => learn(state, samples, of, { value, timeMs: T0 + i, zone }),
    UNLEARNED,
  );
};

test("baseline – median and median absolute deviation", () => {
  assert.deepEqual(levelOf([1, 2, 4, 6, 9]), { median: 4, mad: 2 });
  assert.deepEqual(levelOf([1, 2, 3, 4]), { median: 2.5, mad: 1 });
});

test("baseline – gives no limit while it learns, then one based on its deviations", () => {
  assert.equal(baselineBounds(learned([1, 1, 1, 1]), TEST), null);
  const bounds = baselineBounds(learned([1, 1.1, 0.9, 1.2, 0.8]), TEST);
  assert.ok(Math.abs((bounds?.limits.high ?? 0) - (1 + 4 * 1.4826 * 0.1)) < 1e-9);
  assert.equal(bounds?.limits.low, undefined);
});

test("baseline – is never looser than zone B/C of the class", () => {
  const bounds = baselineBounds(learned([1, 2, 1.5, 0.5, 2.5]), { ...TEST, cap: 2.8 });
  assert.equal(bounds?.limits.high, 2.8);
});

test("baseline – a machine that is bad while it is learned is reported, not taken as normal", () => {
  const bad = learned([3, 3, 3, 3, 3], "C");
  assert.equal(baselineStatus(bad), "zone_c");
  assert.equal(baselineBounds(bad, TEST), null);
  assert.equal(baselineStatus(learned([5, 5, 5, 5, 5], "D")), "zone_d");
});

test("baseline – a slow drift moves the limit by at most half its margin", () => {
  let state = learned([1, 1.1, 0.9, 1.2, 0.8]);
  const before = baselineBounds(state, TEST)?.limits.high ?? 0;
  for (let i = 0; i < 100_000; i++) state = follow(state, TEST, 1 + i / 1000, 16);
  const after = baselineBounds(state, TEST)?.limits.high ?? 0;
  assert.ok(after > before && after <= 1 + (before - 1) * 1.5 + 1e-9, `${before} → ${after}`);
  assert.equal(state.first?.median, 1);
});

test("baseline – its samples are kept until it has learned, also over a restart, and then dropped", () => {
  const rule = {
    name: "change",
    select: { sensors: ["50021"], values: ["rpm"] },
    baseline: { readings: 6, deviations: 4 },
  };
  const site = siteWith([rule]);
  const disk = new Disk();
  feed(engineOf(site), speeds([1000, 1001, 1002]), disk);
  assert.equal(disk.samples.length, 3);
  const restarted = new FollowingEngine(site);
  restarted.load(disk.saved());
  feed(restarted, speeds([1003, 1004, 1005], T0 + 3 * MINUTE), disk);
  const [learnedNow] = restarted.baselines("50021").values();
  assert.equal(learnedNow?.first?.median, 1002.5);
  assert.deepEqual(disk.samples, []);
});

test("baseline – learns only while the machine runs, and then monitors", () => {
  const rule = {
    name: "change",
    select: { values: ["channel1_vel_rms"] },
    baseline: { readings: 10, deviations: 4 },
    onlyRunning: true,
  };
  const engine = engineOf(siteWith([rule], [PUMP]));
  let minute = 0;
  const run = (rpm: number, velocity: number) => {
    feed(engine, speeds([rpm], T0 + minute * MINUTE));
    const events = feed(engine, vibrations([velocity], T0 + minute * MINUTE));
    minute += 1;
    return events;
  };
  for (let i = 0; i < 5; i++) run(0, 0.01);
  assert.equal(engine.baselines("10234").size, 0);
  for (let i = 0; i < 10; i++) assert.deepEqual(run(1480, 1 + (i % 3) * 0.02), []);
  assert.equal(
    engine.baselines("10234").get("change/channel1_vel_rms@running")?.first?.median,
    1.02,
  );
  assert.deepEqual(run(1480, 1.3), []);
  assert.deepEqual(run(1480, 1.3), []);
  assert.deepEqual(summaries(run(1480, 1.3)), ["change active warning +17"]);
  const up = engine.relearn(tx.now, "10234", "change", "channel1_vel_rms", T0 + 30 * MINUTE);
  tx.commit();
  assert.deepEqual(summaries(up?.events ?? []), ["change cleared warning +30"]);
  assert.deepEqual(run(1480, 1.3), []);
  assert.equal(engine.baselines("10234").get("change/channel1_vel_rms@running")?.count, 1);
});

test("baseline – levels that no reading can reach are forgotten when a running signal comes or goes, and their alarms end", () => {
  const rule = {
    name: "change",
    select: { values: ["channel1"] },
    baseline: { readings: 5, deviations: 4 },
    delay: { readings: 1 },
  };
  const engine = engineOf(siteWith([rule]));
  feed(engine, pressures([5, 5.1, 5, 5.1, 5]));
  assert.deepEqual(summaries(feed(engine, pressures([9], T0 + 5 * MINUTE))), [
    "change active warning +5",
  ]);
  const reconcile = (machines: Parameters<typeof siteWith>[1], minute: number) => {
    engine.setSite(siteWith([rule], machines));
    const { events } = engine.reconcile(tx.now, T0 + minute * MINUTE);
    tx.commit();
    return summaries(events);
  };
  assert.deepEqual(reconcile([], 6), []);
  assert.equal(engine.baselines("30007").size, 1);
  assert.deepEqual(reconcile([PUMP], 7), ["change cleared warning +7"]);
  assert.equal(engine.baselines("30007").size, 0);
  for (let minute = 8; minute < 14; minute++) {
    feed(engine, speeds([1480], T0 + minute * MINUTE));
    feed(engine, pressures([5 + 0.1 * (minute % 2)], T0 + minute * MINUTE));
  }
  assert.deepEqual([...engine.baselines("30007").keys()], ["change/channel1@running"]);
  assert.deepEqual(reconcile([], 14), []);
  assert.equal(engine.baselines("30007").size, 0);
});

test("baseline – normal readings move the slow one; those of a standing alarm do not", () => {
  const rule = {
    name: "change",
    select: { sensors: ["50021"], values: ["rpm"] },
    baseline: { readings: 6, deviations: 4 },
  };
  const engine = engineOf(siteWith([rule]));
  let minute = 0;
  const run = (count: number, rpm: number) => {
    const events = feed(engine, speeds(Array(count).fill(rpm), T0 + minute * MINUTE));
    minute += count;
    return events.map(({ state }) => state);
  };
  const slow = () => [...engine.baselines("50021").values()][0]?.slow?.median ?? Number.NaN;
  run(6, 1000);
  assert.deepEqual(run(40, 1010), []);
  const moved = slow();
  assert.ok(moved > 1000, `${moved}`);
  assert.deepEqual(run(10, 2000), ["active"]);
  assert.equal(slow(), moved);
});

test("baseline – a constant zero gives no limit: nothing tells how far from it is far", () => {
  assert.equal(baselineBounds(learned([0, 0, 0, 0, 0]), TEST), null);
  const select = { sensors: ["50021"], values: ["rpm"] };
  const rule = { name: "change", select, baseline: { readings: 3, deviations: 4 } };
  assert.deepEqual(feed(engineOf(siteWith([rule])), speeds([0, 0, 0, 900])), []);
});

test("baseline – a vibration limit is at least 1.2 times the median, and never above the class", () => {
  const steady = learned([1, 1, 1, 1, 1]);
  const high = (of: Partial<BaselineTest>) =>
    baselineBounds(steady, { ...TEST, leastRatio: 1.2, ...of })?.limits.high;
  assert.equal(high({}), 1.2);
  assert.equal(high({ cap: 1.1 }), 1.1);
  assert.equal(baselineBounds(steady, TEST)?.limits.high, 1.08);
});

test("baseline – a machine that becomes worse slowly, with its noise, is one alarm; a repaired one ends it", () => {
  const rule = {
    name: "change",
    select: { values: ["channel1_vel_rms"] },
    baseline: { readings: 100, deviations: 4 },
  };
  const level = (i: number) => (i < 300 ? 1 : 1 + (i - 300) / 300);
  const noise = (i: number) => 1 + 0.15 * Math.sin(i * 12.9898) * Math.cos(i * 4.1);
  const life = Array.from({ length: 900 }, (_, i) => level(i) * noise(i));
  const repaired = Array.from({ length: 30 }, (_, i) => noise(i));
  const events = feed(engineOf(siteWith([rule])), vibrations([...life, ...repaired]));
  const change = events.filter(({ alarm }) => alarm === "change");
  assert.deepEqual(
    change.map(({ state }) => state),
    ["active", "cleared"],
  );
  assert.ok((change[0]?.limit ?? 0) >= 1.19, `${change[0]?.limit}`);
});

test("baseline – a damaged bearing that heals and worsens in turns is one alarm, also over restarts", () => {
  const rule = {
    name: "change",
    select: { values: ["channel1_env_rms"] },
    baseline: { readings: 60, deviations: 6 },
    delay: { readings: 2 },
  };
  // Run-to-failure tests show it: bursts of 2 to 5 times the start, with readings at the start's level between them.
  const noise = (i: number) => 1 + 0.1 * Math.sin(i * 12.9898) * Math.cos(i * 4.1);
  const burst = (i: number) => (i % 9 < 4 ? 2 + (i % 7) / 2 : 0.9);
  const life = Array.from({ length: 600 }, (_, i) => noise(i) * (i < 200 ? 1 : burst(i)));
  const repaired = Array.from({ length: 30 }, (_, i) => noise(i));
  const site = siteWith([rule]);
  const disk = new Disk();
  const states: string[] = [];
  for (const [i, value] of [...life, ...repaired].entries()) {
    // Each reading meets an engine that has just been started.
    const engine = new FollowingEngine(site);
    engine.load(disk.saved());
    const one = reading("10234", T0 + i * MINUTE, { channel1_env_rms: value });
    const events = feed(engine, [{ sensor: ACCEL, kind: "accel", reading: one }], disk);
    states.push(...events.map(({ state }) => state));
  }
  assert.deepEqual(states, ["active", "cleared"]);
});

test("baseline – a rule that says by what its alarm ends, and values that are no vibration, end with the first reading back", () => {
  const baseline = { readings: 60, deviations: 6 };
  const delay = { readings: 2 };
  const stated = { values: ["channel1_env_rms"] };
  for (const [rule, calmReadings] of [
    [{ name: "change", select: stated, baseline, delay }, 20],
    [{ name: "change", select: stated, baseline, delay, hysteresis: 0.1 }, 1],
    [{ name: "change", select: { values: ["module_temperature"] }, baseline, delay }, 1],
  ] as const) {
    const engine = new FollowingEngine(siteWith([rule]));
    engine.load(new Disk().saved());
    const name = rule.select.values[0];
    const learning = Array.from({ length: 100 }, (_, i) => 10 + 0.1 * Math.sin(i * 12.9898));
    const values = [...learning, 19, 19, 19, ...Array<number>(40).fill(9.8)];
    const ended: number[] = [];
    for (const [i, value] of values.entries()) {
      const one = reading("10234", T0 + i * MINUTE, { [name]: value });
      const events = feed(engine, [{ sensor: ACCEL, kind: "accel", reading: one }], new Disk());
      for (const { state } of events) if (state === "cleared") ended.push(i);
    }
    assert.deepEqual(ended, [102 + calmReadings], JSON.stringify(rule));
  }
});

test("baseline – one of which the store holds no numbers is learned anew", () => {
  const site = siteWith([
    {
      name: "change",
      select: { values: ["channel1"] },
      baseline: { readings: 5, deviations: 4 },
      delay: { readings: 1 },
    },
  ]);
  const disk = new Disk();
  const first = new FollowingEngine(site);
  first.load(disk.saved());
  feed(first, pressures([5, 5.1, 5, 5.1, 5]), disk);
  const text = disk.states.get("30007");
  assert.match(text ?? "", /"median":5/);
  disk.states.set("30007", (text ?? "").replaceAll(/"(median|mad)":[\d.]+/g, '"$1":null'));
  const again = new FollowingEngine(site);
  again.load(disk.saved());
  assert.deepEqual(feed(again, pressures([5, 5.1], T0 + 10 * MINUTE), disk), []);
  assert.equal(again.baselines("30007").get("change/channel1@any")?.count, 2);
});
