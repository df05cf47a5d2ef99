import assert from "node:assert/strict";
import { test } from "node:test";
import { METRIC } from "../../../src/core/read-units.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { gatherReport, type ReportSources } from "../../../src/features/report/gather.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { testParts } from "../../support/http-parts.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { append, readingOf, START_MS, tempStore } from "../../support/temp-database.ts";

const MINUTE_MS = 60_000;
const rpm = (code: string, more: Partial<Sensor> = {}): Sensor => ({
  code,
  type: 6,
  kinds: ["rpm"],
  channels: {},
  ...more,
});

const NO_CONDITION = {
  name: null,
  area: null,
  condition: "ok",
  reason: "Within its limits.",
  since: null,
  sinceAtLeast: false,
  speedRpm: null,
  zone: null,
  changed: null,
  alarms: [],
};

test("sensor replaced – the machine's report has one curve of the place, and the former sensor's alarms", async (t) => {
  const store = tempStore(t, { clock: new ManualClock(START_MS) });
  const location = { company: 1, area: 1, machine: 40, point: 1 };
  for (const [code, at] of [
    ["1", 0],
    ["1", 1],
    ["3", 2],
    ["1", 3],
  ] as const) {
    const more = { kind: "rpm" as const, values: { rpm: 1000 }, units: { rpm: "rpm" } };
    await append(store, [readingOf(code, START_MS + at * MINUTE_MS, more)]);
  }
  const event = {
    sensor: "1",
    alarm: "rpm_high",
    value: "rpm",
    severity: "warning",
    state: "cleared",
    time: new Date(START_MS).toISOString(),
    text: "replaced by 3",
    acknowledged: null,
  };
  const lists = { active: [], acknowledged: [], shelved: [], history: [event], before: null };
  const clock = new ManualClock(START_MS + 20 * MINUTE_MS);
  const plain = testParts();
  const site = {
    site: "plant-7",
    sensors: [rpm("3", { replaces: ["1"], location }), rpm("1", { enabled: false, location })],
  };
  const report = await gatherReport(
    {
      ...plain,
      site: fixedSite(site),
      history: historyPages(store.history),
      hours: store.hours,
      alarms: {
        lists: () => lists,
        limits: () => [],
        baselines: () => [],
        actions: () => [],
      },
      clock,
      gatewayNow: () => clock.now(),
      // What a condition says is another test's matter.
      conditions: {
        of: () => Promise.resolve({ ...NO_CONDITION, zones: new Map() }),
      },
      settings: { gatewayTimezone: "UTC" },
      outlook: null,
    } as unknown as ReportSources,
    { id: 40, fromMs: START_MS, toMs: clock.now(), units: METRIC },
  );
  assert.deepEqual(
    report?.trends.map(({ lines }) => lines.map(({ points }) => points.length)),
    [[3]],
  );
  assert.deepEqual(
    report?.alarms.map(({ sensor }) => sensor),
    ["Sensor 1"],
  );
});

test("report – of two bearings the curve of the finding that it names comes first, whatever else is worst", async (t) => {
  const store = tempStore(t, { clock: new ManualClock(START_MS) });
  const bearings = ["1", "2"].map(
    (code): Sensor => ({
      code,
      type: 3,
      name: code === "1" ? "Pump DE" : "Pump NDE",
      kinds: ["accel"],
      channels: {},
      machineClass: "group2-rigid",
      location: { company: 1, area: 1, machine: 40, point: Number(code) },
    }),
  );
  const values = { channel1_vel_rms: 3, channel1_env_rms: 0.3 };
  const units = { channel1_vel_rms: "mm/s", channel1_env_rms: "GE" };
  for (const { code } of bearings)
    await append(store, [readingOf(code, START_MS, { kind: "accel", values, units })]);
  const line = { name: "BPFO", channel: 1, hz: 90, order: 3.6, amplitude: 0.3, unit: "GE" };
  const finding = {
    finding: "bearing_outer_race",
    bearing: "6205",
    sensor: "1",
    stage: 3,
    text: "Outer race.",
    since: new Date(START_MS).toISOString(),
    lastSeen: new Date(START_MS).toISOString(),
    speedRpm: 1500,
    evidence: [line],
  };
  const alarms = [
    { sensor: "1", alarm: "finding", value: "bearing_outer_race/6205" },
    { sensor: "2", alarm: "zone_c", value: "channel1_vel_rms" },
  ];
  const first = async (found: readonly (typeof finding)[]) => {
    const report = await gatherReport(
      {
        ...testParts(),
        site: fixedSite({ site: "plant-7", sensors: bearings }),
        history: historyPages(store.history),
        hours: store.hours,
        alarms: null,
        measurements: { find: () => null },
        findings: { findingsOf: () => ({ findings: found }) },
        gatewayNow: () => START_MS + MINUTE_MS,
        conditions: {
          of: () =>
            Promise.resolve({ ...NO_CONDITION, reason: "Outer race.", alarms, zones: new Map() }),
        },
        settings: { gatewayTimezone: "UTC" },
        outlook: null,
      } as unknown as ReportSources,
      { id: 40, fromMs: START_MS - MINUTE_MS, toMs: START_MS + MINUTE_MS, units: METRIC },
    );
    return report?.trends.filter(({ isWorst }) => isWorst).map(({ title }) => title);
  };
  assert.deepEqual(await first([finding]), ["Pump DE: envelope"]);
  assert.deepEqual(
    await first([finding, { ...finding, sensor: "2", text: "Another.", stage: 3 }]),
    ["Pump DE: envelope"],
  );
  assert.deepEqual(await first([{ ...finding, evidence: [{ ...line, unit: "mm/s" }] }]), [
    "Pump DE: velocity",
  ]);
  assert.deepEqual(await first([]), ["Pump NDE: velocity"]);
});
