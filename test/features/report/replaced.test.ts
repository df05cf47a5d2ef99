import assert from "node:assert/strict";
import { test } from "node:test";
import { historyPages } from "../../../src/agent/history-pages.ts";
import { METRIC } from "../../../src/core/read-units.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { gatherReport, type ReportSources } from "../../../src/features/report/gather.ts";
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
        ...plain.alarms,
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
    } as unknown as ReportSources,
    null,
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
