import assert from "node:assert/strict";
import { test } from "node:test";
import { METRIC, US } from "../../src/core/read-units.ts";
import { type ReportInput, reportDocument } from "../../src/core/report/document.ts";

const T0 = Date.UTC(2026, 10, 20);
const alarm = (value: string, text: string) => ({
  timeMs: T0,
  sensor: "Feed line",
  subject: value,
  alarm: "high",
  value,
  severity: "warning",
  state: "active",
  text,
  by: null,
});
const trend = (kind: string, value: string, isRms: boolean) => ({
  title: value,
  kind,
  value,
  unit: "mm/s",
  isRms,
  lines: [
    {
      label: value,
      points: [
        { x: T0 + 1, y: 25.4 },
        { x: T0 + 2, y: 25.4 },
      ],
    },
  ],
  levels: [],
});
const INPUT: ReportInput = {
  site: "plant-7",
  machine: "Pump 4",
  area: null,
  fromMs: T0,
  toMs: T0 + 3_600_000,
  madeMs: T0,
  zone: "UTC",
  version: "0",
  units: US,
  condition: "warning",
  reason: "The loop is 8.2 mm/s.",
  worst: { alarm: "high", value: "channel1" },
  sinceMs: null,
  speedRpm: null,
  sensors: [],
  findings: [
    {
      name: "Unbalance",
      stage: 2,
      place: "sensor 1",
      text: "1x is 2.54 mm/s.",
      sinceMs: T0,
      lastSeenMs: T0,
      speedRpm: 1500,
      evidence: [
        {
          name: "1x",
          spectrum: "velocity",
          axis: "H",
          hz: 25,
          order: 1,
          amplitude: 2.54,
          unit: "mm/s",
        },
      ],
      spectrum: {
        timeMs: T0,
        unit: "mm/s",
        stepHz: 1,
        values: Array.from({ length: 60 }, () => 1),
      },
    },
  ],
  trends: [trend("accel", "channel1_vel_rms", true)],
  outlook: [],
  alarms: [alarm("channel1", "The loop is 8.2 mm/s."), alarm("channel1_1x", "1x is 2.54 mm/s.")],
  alarmsCut: false,
  notes: [],
};

test("report – US units: the detection is told once, spectra are peaks over cpm", () => {
  const { html } = reportDocument(INPUT);
  assert.doesNotMatch(html, /RMS RMS|RMS peak/);
  for (const text of ["in/s RMS", "in/s peak", "0.1 in/s peak", "1500 cpm", ">cpm<"])
    assert.ok(html.includes(text), text);
  assert.doesNotMatch(html, /\bHz\b/);
  assert.match(reportDocument({ ...INPUT, units: METRIC }).html, /25\.00 Hz/);
});

test("report – what a site configured itself stays: a loop in mm/s", () => {
  const loop = { ...INPUT, findings: [], trends: [trend("loop", "channel1", false)] };
  const { html } = reportDocument(loop);
  assert.equal(html.match(/The loop is 8\.2 mm\/s\./g)?.length, 2);
  assert.match(html, /1x is 0\.1 in\/s RMS\./);
  assert.match(html, />mm\/s</);
});
