/** The report on a machine: what it says, on paper of two sizes, and by command. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { MachineFindings } from "../../../src/core/diagnosis/shown.ts";
import { digits } from "../../../src/core/drawing/units.ts";
import { createSeriesMaker } from "../../../src/core/query/series.ts";
import { GE_UNIT } from "../../../src/core/unit.ts";
import type { FindingViews } from "../../../src/features/diagnosis/rules/view.ts";
import { createReport } from "../../../src/features/report/report.ts";
import { createHttpServer } from "../../../src/http/server.ts";
import { DftPlans } from "../../../src/pipeline/signal/fft.ts";
import { alarmParts } from "../../support/alarm-parts.ts";
import { openBrowser, skipWithoutBrowser } from "../../support/browser.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { NOW, OPTIONS, type TestParts, testParts } from "../../support/http-parts.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { conditionsOf } from "../../support/page-house.ts";
import { runCommand } from "../../support/run-command.ts";
import {
  append,
  DAY_MS,
  readingOf,
  tempDirectory,
  tempStore,
  waveformOf,
} from "../../support/temp-database.ts";

const SENSOR = "10234";
const BPFO_HZ = 88.3;
const skipWithoutPoppler = existsSync("/usr/bin/pdftotext") ? false : "needs poppler-utils";
const iso = (ms: number) => new Date(ms).toISOString();

function findingOf(readingId: string): MachineFindings {
  const machine = {
    id: 40,
    name: "Pump 4",
    state: "running" as const,
    speedRpm: 1480,
    sensors: [SENSOR],
    findings: 1,
    worstStage: 2 as const,
  };
  const line = {
    name: "BPFO",
    spectrum: "envelope" as const,
    channel: 1,
    axis: "H" as const,
    hz: BPFO_HZ,
    order: 3.58,
    amplitude: 0.2,
    unit: "GE" as const,
    ratio: 9,
    sideBands: [],
  };
  const finding = {
    id: "0".repeat(32),
    finding: "bearing_outer_race" as const,
    bearing: "6205",
    sensor: SENSOR,
    point: 1,
    stage: 2 as const,
    worstStage: 2 as const,
    since: iso(NOW - 5 * DAY_MS),
    raised: iso(NOW - 4 * DAY_MS),
    lastSeen: iso(NOW - 1000),
    readingId,
    inRow: 5,
    speedRpm: 1480,
    level: 0.4,
    unit: "GE" as const,
    limit: 0.1,
    evidence: [line],
    text: "Outer-race damage of bearing 6205 <on> Pump 4.",
  };
  return { machine, findings: [finding], checked: [] };
}

async function started(t: TestContext) {
  const store = tempStore(t, { clock: new ManualClock(NOW), uplinks: [] });
  const measured = readingOf(SENSOR, NOW - 1000, { kind: "accel", waveform: waveformOf(4096, 3) });
  await append(store, [measured]);
  const found = findingOf(measured.id);
  const findings: FindingViews = {
    machines: () => [found.machine],
    findingsOf: (id) => (id === 40 ? found : null),
    stagesOf: () => "",
  };
  const { measurements, waveforms } = store;
  const series = createSeriesMaker(new DftPlans());
  const conditions = { of: (id: number) => conditionsOf(parts, null, findings).of(id) };
  const parts: TestParts = testParts({ measurements, waveforms, series });
  for (let n = 0; n < 200; n++) {
    parts.history.add({
      sensor: SENSOR,
      kind: "accel",
      timeMs: NOW - (200 - n) * (DAY_MS / 8),
      values: { channel1_vel_rms: 1 + n / 100, channel2_vel_rms: 1, channel1_env_rms: 0.3 },
      units: { channel1_vel_rms: "mm/s", channel2_vel_rms: "mm/s", channel1_env_rms: "GE" },
    });
  }
  const dashboardDir = skipWithoutBrowser === false ? join("dist", "dashboard") : null;
  const host = { ...parts, settings: { gatewayTimezone: "Europe/Berlin" } };
  const reported = { alarms: null, findings, conditions, outlook: null };
  const judged = {
    findings,
    conditions: { worstFirst: () => conditionsOf(parts, null, findings).worstFirst() },
  };
  const shown = {
    ...parts,
    ...alarmParts(judged, parts.gatewayNow, [createReport(host, reported)]),
  };
  const server = createHttpServer(shown, { ...OPTIONS, dashboardDir, timezone: "Europe/Berlin" });
  const address = await server.listen();
  t.after(() => server.close());
  const [file] = measurements.find(SENSOR, measured.id)?.channels ?? [];
  const stored = file === undefined ? null : waveforms.read(file.fileId);
  const spectrum = stored && series.spectrum(stored, GE_UNIT, null);
  assert.ok(spectrum);
  const at = Math.round(BPFO_HZ / spectrum.step);
  const drawn = Math.max(...[at - 1, at, at + 1].map((i) => spectrum.values[i] ?? 0));
  return { address, drawn };
}

test("report – by command: state, finding with its spectrum, trends with limits, in the wanted units, and nothing that is loaded or runs", async (t) => {
  const { address, drawn } = await started(t);
  const report = (...words: string[]) => runCommand(["report", "--url", address, ...words]);
  const { code, stdout, stderr } = await report("--machine", "Pump 4");
  assert.equal(code, 0, stderr);
  assert.ok(stdout.length < 5 << 20);
  for (const what of [
    /<h1>Pump 4<\/h1>/,
    /plant-7, Boiler house/,
    /Europe\/Berlin/,
    /Outer-race damage, bearing 6205, DE bearing, stage 2 of 3/,
    /Outer-race damage of bearing 6205 &#60;on&#62; Pump 4\./,
    // Table and figure say the same.
    new RegExp(`<td>${digits(drawn)} gE peak</td>`),
    /Spectrum of .*1480 rpm/,
    /velocity<\/figcaption>/,
    /mm\/s RMS/,
    /zone B\/C/,
    /Alarms of the period/,
    /Open notes/,
  ])
    assert.match(stdout, what);
  const addresses = stdout.replaceAll("http://www.w3.org/2000/svg", "");
  assert.doesNotMatch(addresses, /<script|<link|<img|src=|href=|https?:|url\(|127\.0\.0\.1/);
  const us = await report(
    "--machine",
    "40",
    "--units",
    "us",
    "--from",
    "2026-11-10",
    "--to",
    "2026-11-20",
  );
  assert.match(us.stdout, /in\/s RMS/);
  assert.doesNotMatch(us.stdout, /mm\/s RMS|RMS RMS|RMS peak/);
  assert.match(us.stdout, /5298 cpm.*>cpm</s);
  const unknown = await report("--machine", "Pump 9");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /no machine "Pump 9"; there are\n {2}40 {2}Pump 4\n {2}41\n/);
});

test("report – by command: of a site without machines it says what is missing", async (t) => {
  const parts = testParts({});
  const host = { ...parts, settings: { gatewayTimezone: "UTC" } };
  const conditions = { of: () => Promise.resolve(null), worstFirst: () => Promise.resolve([]) };
  const report = createReport(host, { alarms: null, findings: null, conditions, outlook: null });
  const shown = { ...parts, ...alarmParts({ conditions }, parts.gatewayNow, [report]) };
  const server = createHttpServer(shown, { ...OPTIONS, dashboardDir: null, timezone: "UTC" });
  const address = await server.listen();
  t.after(() => server.close());
  const { code, stderr } = await runCommand(["report", "--url", address, "--machine", "40"]);
  assert.equal(code, 1);
  assert.match(stderr, /no machine "40"; the site file names none: add machines/);
});

test("paper – a sensor's page prints whole in light colours: graphs as lines beside their headings, tables with heads, numbered pages", {
  skip: skipWithoutBrowser || skipWithoutPoppler,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { address } = await started(t);
  const { page, complaints } = await openBrowser(t);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${address}/#/sensor/${SENSOR}`);
  await page.locator(".signal .u-over").nth(1).waitFor({ state: "attached" });
  await page.locator("[aria-labelledby=trend-title] .u-over").waitFor();
  const file = join(tempDirectory(t), "sensor.pdf");
  for (const format of ["A4", "Letter"] as const) {
    writeFileSync(file, await page.pdf({ format, printBackground: true }));
    const images = execFileSync("pdfimages", ["-list", file], { encoding: "utf8" });
    assert.equal(images.trim().split("\n").length, 2, `no picture of dots: ${images}`);
    const text = execFileSync("pdftotext", ["-layout", file, "-"], { encoding: "utf8" });
    const pages = text.split("\f").filter((part) => part.trim() !== "");
    for (const [at, part] of pages.entries())
      assert.match(part, new RegExp(`page ${at + 1} of ${pages.length}`), format);
    const zone = /Times in ([\w/]+)/.exec(text)?.[1];
    assert.ok(zone !== undefined, text);
    // Times of the day of printing stand on it without a date.
    assert.match(text, /Times in .*, now \d+ \w+ \d{4},? \d\d:\d\d:\d\d/);
    assert.doesNotMatch(text, /Drag over|Sign out|Show all|Manual/);
    for (const [heading, inGraph] of [
      [/^ *Trend/m, new RegExp(` ${zone}$`, "m")],
      [/^ *Waveform$/m, / ms$/m],
      [/^ *Spectrum$/m, / peak/],
      [/Peak +Frequency/, /1 +\d/],
    ] as const) {
      const where = pages.find((part) => heading.test(part));
      assert.match(where ?? "", inGraph, `${format}: ${heading}`);
    }
  }
  // Once printed, the page is as before.
  assert.equal(await page.locator(".paper svg").count(), 0);
  assert.deepEqual(
    complaints.filter((one) => !one.includes("501 (Not Implemented)")),
    [],
  );
});

test("report – printed from its page at A4 and Letter: every part on paper, numbered pages, controls left out", {
  skip: skipWithoutBrowser || skipWithoutPoppler,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { address } = await started(t);
  const { page, complaints, findings } = await openBrowser(t);
  await page.goto(`${address}/#/machine/40`);
  await page.getByRole("link", { name: "Report", exact: true }).click();
  await page.getByRole("heading", { name: "Alarms of the period" }).waitFor();
  // The report brings its own heading, and the page still has one main heading.
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
  assert.deepEqual(await findings(), []);
  await page.setViewportSize({ width: 390, height: 800 });
  const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
  assert.ok(wide <= 390, `${wide} px wide in a window of 390`);
  const directory = tempDirectory(t);
  for (const format of ["A4", "Letter"] as const) {
    const file = join(directory, `${format}.pdf`);
    writeFileSync(file, await page.pdf({ format, preferCSSPageSize: false }));
    const text = execFileSync("pdftotext", ["-layout", file, "-"], { encoding: "utf8" });
    for (const what of [
      "Pump 4",
      "Findings",
      "Trends",
      "When limits will be reached",
      "Open notes",
      "BPFO",
      "zone B/C",
    ])
      assert.ok(text.includes(what), `${format}: ${what}`);
    const pages = text.split("\f").filter((part) => part.trim() !== "");
    for (const [at, part] of pages.entries())
      assert.match(part, new RegExp(`page ${at + 1} of ${pages.length}`), format);
    assert.doesNotMatch(text, /Print|Units|Sign out|Times in/);
    // A graph stands on the page of its heading.
    const figure = pages.find((part) => part.includes("drive end: envelope"));
    assert.match(figure ?? "", /gE RMS/);
  }
  // In the units of this browser, unless somebody chooses others.
  const kept = JSON.stringify({ velocity: "in/s", frequency: "orders" });
  await page.evaluate(`localStorage.setItem("gateside.units", '${kept}')`);
  await page.reload();
  await page.locator("article.report", { hasText: "in/s RMS" }).waitFor();
  await page.getByLabel("Units", { exact: true }).selectOption("metric");
  await page.locator("article.report", { hasText: "mm/s RMS" }).waitFor();
  assert.deepEqual(
    complaints.filter((one) => !one.includes("501 (Not Implemented)")),
    [],
  );
});
