import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { Site } from "../../../src/core/site.ts";
import type { FollowUp } from "../../../src/features/alarms/rules/follow-up.ts";
import { sinceMs } from "../../../src/features/alarms/rules/since.ts";
import { FindingEngine } from "../../../src/features/diagnosis/rules/engine.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { Transactions } from "../../support/tx.ts";
import { EMPTY } from "../alarms/support.ts";
import { engineOf, MACHINE, readingOf, recordOf, SENSOR, siteOf } from "./support.ts";

const tx = new Transactions();

const KEY = "bearing_outer_race/6205";
const fault = (n: number) => recordOf({ fault: "outer_race", severity: 0.3 }, n);

/** Alarms and findings of one machine whose speed is known. */
function diagnosis(site: Site = siteOf()) {
  const heard: AlarmEvent[] = [];
  const findings = new FindingEngine(site, engineOf().options);
  const alarms = new FollowingEngine(site, { findings });
  alarms.load(EMPTY);
  const commit = (up: FollowUp) => {
    tx.commit();
    heard.push(...up.events);
    return up.events;
  };
  const follow = (record: ReturnType<typeof fault>, hour: number) =>
    commit(alarms.follow(tx.now, "10234", "accel", [readingOf(record, hour)], null));
  return { alarms, findings, follow, commit, heard };
}

test("a finding is an alarm: it stands among them, is acknowledged, and its end says by whom", () => {
  const { alarms, follow, commit, heard } = diagnosis();
  for (let hour = 1; hour <= 5; hour++) follow(fault(hour), hour);
  const found = [...alarms.alarms()].find(({ key }) => key === `finding/${KEY}`);
  assert.ok(found);
  const raised = heard.find(({ value }) => value === KEY);
  assert.equal(found.state.raised?.id, raised?.id);
  assert.equal(raised?.sinceMs, 3_600_000);
  assert.equal(raised?.raisedMs, 5 * 3_600_000);
  const acknowledged = { by: "anna", timeMs: 6, note: "ordered" };
  const [told] = commit(
    alarms.change(
      tx.now,
      found,
      { acknowledged, shelved: null, note: null },
      "acknowledge",
      6,
      "anna",
    ),
  );
  assert.equal(told?.alarm, "finding");
  assert.equal(alarms.find(told?.id ?? "")?.key, found.key);
  const ends = [6, 7, 8, 9, 10].flatMap((hour) => follow(recordOf({}, hour), hour));
  const end = ends.find(({ value }) => value === KEY);
  assert.equal(end?.state, "cleared");
  assert.deepEqual(end?.acknowledged, acknowledged);
  assert.equal(end?.raisedMs, 5 * 3_600_000);
  assert.equal([...alarms.alarms()].filter(({ key }) => key.startsWith("finding/")).length, 0);
});

test("a finding that stood before findings were alarms is one after the upgrade, without another event", () => {
  const { findings, follow } = diagnosis();
  for (let hour = 1; hour <= 5; hour++) follow(fault(hour), hour);
  const later = diagnosis();
  const states = findings.saved().map(({ sensor, text }) => ({ sensor, text: text ?? "" }));
  later.alarms.load({ states, samples: [] });
  const [alarm] = later.alarms.active("10234").filter(({ value }) => value === KEY);
  assert.equal(alarm?.raised?.id, findings.of("10234").states.get(KEY)?.stands?.id);
  assert.deepEqual(later.heard, []);
});

test("what is normal for findings is learned again on command, also where no baseline is learned", () => {
  const { alarms, findings, follow } = diagnosis();
  for (let hour = 1; hour <= 12; hour++) follow(recordOf({}, hour), hour);
  const relearn = (sensor: string, value: string) => {
    const up = alarms.relearn(tx.now, sensor, "finding", value, 0);
    tx.commit();
    return up;
  };
  assert.equal(relearn("10234", KEY), null);
  assert.equal(relearn("99", "normal"), null);
  assert.ok(findings.of("10234").reference);
  assert.deepEqual(
    relearn("010234", "normal")?.states.map(({ sensor }) => sensor),
    ["finding:10234"],
  );
  assert.equal(findings.of("10234").reference, null);
});

test("readings that come late date the alarm of a finding as they date the finding", () => {
  const { alarms, findings, follow, heard } = diagnosis();
  for (let hour = 101; hour <= 105; hour++) follow(fault(hour), hour);
  const since = () => {
    const [found] = alarms.active("10234").filter(({ value }) => value === KEY);
    return found?.since && sinceMs(found.since) / 3_600_000;
  };
  assert.equal(since(), 101);
  const told = heard.length;
  const { revision } = alarms;
  // The day before, read after today as on a first start.
  for (let hour = 76; hour <= 99; hour++)
    follow(hour < 82 ? recordOf({}, hour) : fault(hour), hour);
  assert.equal(findings.standingSince("10234").get(KEY), 82 * 3_600_000);
  assert.equal(since(), 82);
  assert.ok(alarms.revision > revision, "its retained topic is published again");
  assert.equal(heard.filter(({ historical }) => !historical).length, told);
  assert.equal(
    [...alarms.alarms()].find(({ key }) => key.endsWith(KEY))?.state.raised?.timeMs,
    105 * 3_600_000,
  );
});

test("a finding ends when the site file no longer names its bearing", () => {
  const { alarms, findings, follow, commit } = diagnosis();
  for (let hour = 1; hour <= 5; hour++) follow(fault(hour), hour);
  const without = siteOf({ ...MACHINE, bearings: [] });
  alarms.setSite(without);
  const ended = commit(alarms.reconcile(tx.now, 10)).filter(({ value }) => value === KEY);
  assert.deepEqual(
    ended.map(({ state }) => state),
    ["cleared"],
  );
  assert.equal(findings.of("10234").states.has(KEY), false);
});

const OTHER_MACHINE = { ...MACHINE, id: 41, name: "Pump 5" };
for (const [what, machine, axis] of [
  ["moved to another machine", 41, "H"],
  ["turned", 40, "V"],
] as const) {
  test(`a sensor that is ${what} takes neither findings nor the normal state along, also where it happened while the agent was stopped`, () => {
    const channels = { channel1: { axis }, channel2: { axis: axis === "H" ? "V" : "H" } } as const;
    const location = { company: 1, area: 2, machine, point: 1 };
    const { machines = [], ...plant } = siteOf();
    const sensors = plant.sensors.map((sensor) =>
      sensor.code === SENSOR.code
        ? { ...sensor, location, channels: { ...SENSOR.channels, ...channels } }
        : sensor,
    );
    const moved = { ...plant, sensors, machines: [...machines, OTHER_MACHINE] };
    for (const isStopped of [false, true]) {
      const first = diagnosis({ ...siteOf(), machines: [...machines, OTHER_MACHINE] });
      for (let hour = 1; hour <= 12; hour++) first.follow(recordOf({}, hour), hour);
      for (let hour = 13; hour <= 18; hour++) first.follow(fault(hour), hour);
      assert.ok(first.findings.of("10234").reference);
      assert.ok(first.alarms.active("10234").some(({ value }) => value === KEY));
      const { alarms, findings, commit } = isStopped ? diagnosis(moved) : first;
      if (isStopped) {
        const { states } = first.alarms.saved();
        alarms.load({
          states: states.map(({ sensor, text }) => ({ sensor, text: text ?? "" })),
          samples: [],
        });
      } else alarms.setSite(moved);
      const ended = commit(alarms.reconcile(tx.now, 20 * 3_600_000));
      assert.deepEqual(
        ended.filter(({ value }) => value === KEY).map(({ state }) => state),
        ["cleared"],
      );
      assert.deepEqual([...findings.of("10234").states], []);
      assert.equal(findings.of("10234").reference ?? null, null);
    }
  });
}
