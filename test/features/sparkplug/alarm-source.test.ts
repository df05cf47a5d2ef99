import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { Doubt } from "../../../src/core/quality.ts";
import type { Value } from "../../../src/core/reading.ts";
import { fixedSite, ReplaceableSite } from "../../../src/core/site-source.ts";
import type { Tx } from "../../../src/core/tx.ts";
import type { FollowUp } from "../../../src/features/alarms/rules/follow-up.ts";
import { sparkplugAlarms } from "../../../src/features/alarms/sparkplug-port.ts";
import { FindingEngine } from "../../../src/features/diagnosis/rules/engine.ts";
import type { AlarmSource, AlarmStand } from "../../../src/features/sparkplug/alarms.ts";
import { Device } from "../../../src/features/sparkplug/device.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { Transactions } from "../../support/tx.ts";
import { EMPTY, PRESSURE, reading } from "../alarms/support.ts";
import { rebirth, valueOf } from "./peer.ts";
import { metric, PUMP, TestSite } from "./site.ts";

const tx = new Transactions();

const NAME = "alarm/pressure/channel1";
const SITE = { site: "s", sensors: [PUMP], machines: [], alarms: [PRESSURE] };

/** An engine over one sensor, and what the node hears of it. */
function watchedPump() {
  const listeners = new Set<(events: readonly AlarmEvent[]) => void>();
  const engine = new FollowingEngine(SITE);
  /** As the store does: in a transaction, after which it announces the events. */
  const write = (make: (tx: Tx) => FollowUp) => {
    const { events } = make(tx.now);
    tx.commit();
    for (const listener of listeners) listener(events);
  };
  engine.load(EMPTY);
  let timeMs = Date.now() - 3_600_000;
  const follow = (values: Record<string, Value>, quality: Record<string, Doubt> = {}) => {
    timeMs += 1000;
    const readings = [reading(PUMP.code, timeMs, values, quality)];
    write((now) => engine.follow(now, PUMP.code, "loop", readings));
  };
  const findings = new FindingEngine(SITE, { wait: engine.wait });
  const source = {
    alarms: engine,
    onEvents: (listener: (events: readonly AlarmEvent[]) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return { follow, write, engine, alarms: sparkplugAlarms(source, findings, () => true, Date.now) };
}

test("sparkplug – an alarm is announced in the birth of its device, and its severity sent as data when it changes", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  site.states.clear();
  site.states.set(PUMP.code, { state: "online", lastReadingMs: null });
  const { follow, alarms } = watchedPump();
  site.run(site.node({ site: fixedSite(SITE) }, { alarms }));
  await site.until((m) => m.some(({ verb }) => verb === "DBIRTH"));
  assert.equal(valueOf(metric(site.of("DBIRTH")[0], NAME)), "normal");
  const published = () =>
    site.of("DDATA").flatMap(({ payload }) => payload.metrics.filter((m) => m.name === NAME));
  // The rule wants two readings beyond its limit.
  for (const value of [8.5, 8.5, 9.5, 9.5, 5, 5]) follow({ channel1: value });
  await site.until(() => published().length === 3);
  assert.deepEqual(published().map(valueOf), ["warning", "alarm", "normal"]);
  assert.ok(published().every((m) => m.isHistorical !== true));

  follow({ channel1: 8.5 });
  follow({ channel1: 8.5 });
  await site.until(() => published().length === 4);
  const { client, close } = await site.command();
  await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth());
  await close();
  await site.until((m) => m.filter(({ verb }) => verb === "DBIRTH").length === 2);
  assert.equal(valueOf(metric(site.of("DBIRTH")[1], NAME)), "warning");
});

test("sparkplug – an alarm whose rule is removed and returns does not go back in time with a reading that was measured before", () => {
  const { follow, write, engine, alarms } = watchedPump();
  const changes: { severity: string; timeMs: number }[] = [];
  alarms.onChange((_sensor, { severity, timeMs }) => changes.push({ severity, timeMs }));
  follow({ channel1: 8.5 });
  follow({ channel1: 8.5 });
  engine.setSite({ ...SITE, alarms: [] });
  write((now) => engine.reconcile(now, Date.now()));
  engine.setSite(SITE);
  follow({ channel1: 8.5 });
  follow({ channel1: 8.5 });
  assert.deepEqual(
    changes.map(({ severity }) => severity),
    ["warning", "normal", "warning"],
  );
  const times = changes.map(({ timeMs }) => timeMs);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
});

test("sparkplug – a host that orders by timestamp has the severity that stands: before the first reading, after a rebirth while normal, and after one while active", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  site.states.set(PUMP.code, { state: "online", lastReadingMs: null });
  const { follow, alarms } = watchedPump();
  site.run(site.node({ site: fixedSite(SITE) }, { alarms }));
  const host = () => {
    const messages = [...site.of("DBIRTH"), ...site.of("DDATA")];
    const points = messages.flatMap(({ payload }) =>
      payload.metrics.filter(({ name }) => name === NAME),
    );
    const newest = points.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp)).at(-1);
    return newest && valueOf(newest);
  };
  const reborn = async (births: number) => {
    const { client, close } = await site.command();
    await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth());
    await close();
    await site.until((m) => m.filter(({ verb }) => verb === "DBIRTH").length === births);
  };
  await site.until((m) => m.some(({ verb }) => verb === "DBIRTH"));
  assert.equal(host(), "normal");
  // The readings are an hour old: older than any birth.
  for (const value of [8.5, 8.5]) follow({ channel1: value });
  await site.until(() => host() === "warning");
  for (const value of [5, 5]) follow({ channel1: value });
  await site.until(() => host() === "normal");
  await reborn(2);
  for (const value of [8.5, 8.5]) follow({ channel1: value });
  await site.until(() => host() === "warning");
  await reborn(3);
  assert.equal(host(), "warning");
});

test("sparkplug – an alarm that no rule announces causes a new birth of its device only", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  const { follow, alarms } = watchedPump();
  site.run(site.node({ site: fixedSite(SITE) }, { alarms }));
  await site.until((m) => m.some(({ verb }) => verb === "DBIRTH"));
  const name = "alarm/bad_quality/channel1";
  const bad = { channel1: { quality: "bad", reason: "wire_break" } } as const;
  for (let i = 0; i < 3; i++) follow({ channel1: null }, bad);
  await site.until((m) => m.filter(({ verb }) => verb === "DBIRTH").length === 2);
  assert.equal(valueOf(metric(site.of("DBIRTH")[1], name)), "warning");
  follow({ channel1: 5 });
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  assert.equal(valueOf(metric(site.of("DDATA")[0], name)), "normal");
  assert.equal(site.of("NBIRTH").length, 1);
});

test("sparkplug – an alarm ends with its rule at a host that orders by time: its normal is not dated 1970, in no later birth either", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  const { engine, alarms } = watchedPump();
  const source = new ReplaceableSite(SITE);
  let tell: Parameters<AlarmSource["onChange"]>[0] = () => {};
  const onChange: AlarmSource["onChange"] = (listener) => {
    tell = listener;
    return () => {};
  };
  site.run(site.node({ site: source }, { alarms: { ...alarms, onChange } }));
  const birth = async (count: number) => {
    await site.until((m) => m.filter(({ verb }) => verb === "DBIRTH").length === count);
    return metric(site.of("DBIRTH")[count - 1], NAME);
  };
  assert.ok(await birth(1));
  const without = { ...SITE, alarms: [] };
  engine.setSite(without);
  source.replace(without);
  assert.equal(await birth(2), undefined);
  const timeMs = Date.now() - 60_000;
  tell(PUMP.code, { alarm: "pressure", value: "channel1", severity: "normal", timeMs });
  const ended = await birth(3);
  assert.deepEqual([valueOf(ended), ended?.timestamp], ["normal", timeMs]);
  const { client, close } = await site.command();
  await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth());
  await close();
  assert.equal((await birth(4))?.timestamp, timeMs);
});

test("sparkplug – with alarms disabled a birth has no alarm metrics", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  site.run(site.node({ site: fixedSite(SITE) }));
  await site.until((m) => m.some(({ verb }) => verb === "DBIRTH"));
  const names = site.of("DBIRTH")[0]?.payload.metrics.map((m) => m.name ?? "") ?? [];
  assert.ok(names.every((name) => !name.startsWith("alarm/")));
});

test("sparkplug – a silence that ends after the gateway's clock was set back is not older than its beginning: a host that orders by time gets its end", () => {
  const device = new Device(PUMP.code, []);
  const silent = { alarm: "silent", value: "state" };
  const birth = (nowMs: number, active: readonly AlarmStand[]) =>
    device.birth(nowMs, new Map(), active, () => nowMs, false);
  const stand = (severity: AlarmStand["severity"], timeMs: number) =>
    device.alarm({ ...silent, severity, timeMs })?.timeMs;
  birth(1000, [{ ...silent, severity: "warning", timeMs: 9000 }]);
  assert.equal(stand("normal", 2000), 9000);
  assert.equal(stand("warning", 3000), 9000);
  assert.equal(stand("normal", 9500), 9500);
  // A birth is the state from now on, whatever was known before.
  const [born] = birth(4000, []);
  assert.deepEqual([born?.timeMs, born?.value], [4000, "normal"]);
  assert.equal(stand("warning", 5000), 5000);
});
