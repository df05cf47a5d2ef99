/** How many sheets a report takes on paper. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { METRIC } from "../../../src/core/read-units.ts";
import type { ReportSources } from "../../../src/features/report/gather.ts";
import { createReport } from "../../../src/features/report/report.ts";
import { reportDocument } from "../../../src/features/report/rules/document.ts";
import type { ReportInput, ReportTrend } from "../../../src/features/report/rules/input.ts";
import { openBrowser, skipWithoutBrowser } from "../../support/browser.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { conditionsOf, openHouse, placeOf, vibration } from "../../support/page-house.ts";
import { DAY_MS, tempDirectory } from "../../support/temp-database.ts";

const skipWithoutPoppler = existsSync("/usr/bin/pdftotext") ? false : "needs poppler-utils";
const SHEETS_MAX = 3;
const SENSORS = 6;
const DAYS = 30;
const END = Date.UTC(2026, 10, 20);
const START = END - DAYS * DAY_MS;

const NAME = "Pump 4 non-drive end bearing";
function trendOf(sensor: number, isMain: boolean): ReportTrend {
  return {
    isMain,
    isWorst: sensor === 0 && isMain,
    title: `${NAME} ${sensor + 1}: ${isMain ? "velocity" : "envelope"}`,
    kind: "accel",
    value: isMain ? "channel1_vel_rms" : "channel1_env_rms",
    unit: isMain ? "mm/s" : "GE",
    isRms: true,
    lines: ["H", "V", "A"].map((label, at) => ({
      label,
      points: Array.from({ length: 240 }, (_, n) => {
        const y = 2 + at + Math.sin(n / 9);
        return { x: START + (n * DAYS * DAY_MS) / 240, y, low: y - 1, high: y + 1 };
      }),
    })),
    levels: ["A/B", "B/C", "C/D"].map((zone, at) => ({ label: `zone ${zone}`, y: 1.4 * (at + 1) })),
  };
}

const FINDINGS: ReportInput["findings"] = ["6205", "6208", "22212"].map((bearing, at) => ({
  title: `Outer-race damage, bearing ${bearing}, NDE, stage ${3 - at}`,
  action: "Plan the bearing's replacement.",
  stage: 3 - at,
  text: `Outer-race damage of bearing ${bearing} on ${NAME} 1, stage ${3 - at} of 3: BPFO (88.3 Hz, H), 2xBPFO (176.6 Hz, H), 3xBPFO (264.9 Hz, H) and 2 more lines with 4 side bands in the envelope spectrum, together 0.283 GE RMS, in 12 readings in a row. Plan the bearing's replacement.`,
  sinceMs: START,
  lastSeenMs: END,
  speedRpm: 1480,
  evidence: [1, 2, 3, 4, 5].map((n) => ({
    name: `${n}xBPFO`,
    spectrum: "envelope",
    axis: "H",
    hz: 88.3 * n,
    order: 3.58 * n,
    amplitude: 0.2 / n,
    unit: "GE",
  })),
  spectrum: {
    timeMs: END,
    unit: "GE",
    stepHz: 1.5625,
    values: Array.from({ length: 1638 }, (_, k) => 0.01 + (k % 57 === 0 ? 0.2 : 0)),
  },
}));

const INPUT: ReportInput = {
  site: "plant-7",
  machine: "Pump 4",
  area: "Boiler house",
  fromMs: START,
  toMs: END,
  madeMs: END,
  zone: "Europe/Berlin",
  version: "0.4.0",
  units: METRIC,
  isOver: false,
  condition: "alarm",
  reason: `Alarm: Vibration velocity (RMS) of axis H at ${NAME} 1 is 5.1 mm/s, above the zone limit of 4.5 mm/s (zone D); the worst was 5.6 mm/s. (and 4 more)`,
  action: "Act now.",
  worst: { alarm: "zone", value: "channel1_vel_rms" },
  sinceMs: START,
  isSinceAtLeast: false,
  speedRpm: 1480,
  sensors: Array.from({ length: SENSORS }, (_, n) => ({
    name: `${NAME} ${n + 1}`,
    zone: "C",
    lastMs: END,
    isLive: true,
  })),
  findings: FINDINGS,
  trends: Array.from({ length: SENSORS }, (_, n) => [trendOf(n, true), trendOf(n, false)]).flat(),
  outlook: Array.from({ length: SENSORS }, (_, n) => ({
    sensor: `${NAME} ${n + 1}`,
    value: "Vibration velocity (RMS) of axis H",
    text: "Reaches 4.5 mm/s between 2026-12-04 and 2027-01-20: 3.11 mm/s in the newest week, changing by 0.0126 mm/s a day over 120 days.",
  })),
  alarms: Array.from({ length: 25 }, (_, n) => ({
    timeMs: END - n * DAY_MS,
    sensor: `${NAME} 1`,
    alarm: "zone",
    value: "channel1_vel_rms",
    severity: "warning",
    state: "active",
    text: `Warning: Vibration velocity (RMS) of axis H at ${NAME} 1 is 3.094 mm/s, above the zone limit of 2.8 mm/s (zone C); the worst was 3.8 mm/s.`,
    by: "Anna",
  })),
  alarmsCut: false,
  notes: [{ subject: `${NAME} 1, zone`, by: "Anna", timeMs: END, note: "seen" }],
};

test("report – of a machine with six sensors, 30 days and three findings at most three sheets stand before the appendix, on A4 and Letter", {
  skip: skipWithoutBrowser || skipWithoutPoppler,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { page } = await openBrowser(t);
  await page.setContent(reportDocument(INPUT).html);
  const file = join(tempDirectory(t), "report.pdf");
  for (const format of ["A4", "Letter"] as const) {
    writeFileSync(file, await page.pdf({ format, preferCSSPageSize: false }));
    const text = execFileSync("pdftotext", ["-layout", file, "-"], { encoding: "utf8" });
    const sheets = text.split("\f").filter((sheet) => sheet.trim() !== "");
    const appendix = sheets.findIndex((sheet) => sheet.trimStart().startsWith("Appendix"));
    assert.ok(appendix > 0, `${format}: no sheet is headed “Appendix”`);
    assert.ok(appendix <= SHEETS_MAX, `${format}: ${appendix} sheets before the appendix`);
    const [first = ""] = sheets;
    for (const what of ["State", "Outer-race damage, bearing 6205", "velocity", "Plan the bearing"])
      assert.ok(first.includes(what), `${format}, first sheet: ${what}`);
  }
});

test("report – names of one long word make it no wider than the window", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const name = "Lagertemperaturen".repeat(6).slice(0, 97);
  const location = { ...placeOf(40), names: { area: name, machine: name, point: name } };
  const sensor = { code: "1001", type: 3, name, kinds: ["accel" as const], channels: {}, location };
  const host = { settings: { gatewayTimezone: "UTC" } } as ReportSources;
  const conditions = { of: (id: number) => conditionsOf(house.parts, null).of(id) };
  const reported = { alarms: null, findings: null, conditions, outlook: null };
  const house = await openHouse(t, {
    sensors: [sensor],
    machines: [{ id: 40, name }],
    parts: { operations: createReport(host, reported).serve ?? [] },
    width: 390,
    height: 800,
  });
  Object.assign(host, house.parts);
  house.reading(vibration("1001", 3.1, "C"));
  const { page } = house;
  const isNarrow = async () => {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      assert.ok(wide <= width, `${wide} px wide in a window of ${width}`);
    }
  };
  // On its page, below the way there.
  await page.goto(`${house.url}/#/machine/40/report`);
  await page.locator(".report .machine", { hasText: name }).waitFor();
  await page.locator(".crumbs a", { hasText: name }).waitFor();
  await isNarrow();
  const text = JSON.stringify({ ...INPUT, machine: name, area: name }).replaceAll(NAME, name);
  const html = reportDocument(JSON.parse(text)).html;
  await page.goto("about:blank");
  await page.setContent(html);
  await isNarrow();
  // What a graph says can be read: it scrolls.
  const drawn = page.locator(".report figure svg[role=img]");
  assert.ok(((await drawn.first().boundingBox())?.width ?? 0) >= 600);
});
