/** Measurements of any date in the built dashboard, over a store with two years of them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { createSeriesMaker } from "../../src/core/query/series.ts";
import { createApp } from "../../src/http/server.ts";
import { DftPlans } from "../../src/pipeline/signal/fft.ts";
import type { MeasuredMachines } from "../../src/pipeline/store/keeping.ts";
import { keepBy } from "../features/kept/support.ts";
import { openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { partsWithFeatures } from "../support/features.ts";
import { NOW, OPTIONS, testParts } from "../support/http-parts.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { append, DAY_MS, readingOf, tempStore, waveformOf } from "../support/temp-database.ts";

const SENSOR = "10234";
const measured = (timeMs: number) =>
  readingOf(SENSOR, timeMs, { kind: "accel", waveform: waveformOf(1024, 3) });

/** One a day for two years, and thirty in each of the last five days. */
async function twoYears(t: TestContext) {
  const clock = new ManualClock(NOW);
  const machines: MeasuredMachines = {
    // Of the newest day it runs faster.
    at: (_sensor, timeMs) => ({
      running: true,
      isRunning: true,
      speedRpm: timeMs > NOW - DAY_MS ? 1600 : 1480,
    }),
    isAwaited: () => false,
    usualRpm: () => 1480,
    together: (sensor) => [sensor],
    refresh: () => Promise.resolve(),
  };
  const store = tempStore(t, { clock, uplinks: [], keep: keepBy(machines) });
  store.steps.list = [{ machineAt: machines.at }];
  const daily = Array.from({ length: 730 }, (_, n) => measured(NOW - (735 - n) * DAY_MS));
  const young = Array.from({ length: 150 }, (_, n) => measured(NOW - (150 - n) * (DAY_MS / 30)));
  await append(store, daily);
  await append(store, young);
  await store.retain();
  const { keeping, measurements, tables, waveforms } = store;
  const series = createSeriesMaker(new DftPlans());
  const parts = testParts({ measurements, waveforms, series });
  const newest = young.at(-1);
  const told = (timeMs: number) =>
    parts.history.add({
      sensor: SENSOR,
      kind: "accel",
      timeMs,
      values: { channel1_vel_rms: 1.5 },
      units: { channel1_vel_rms: "mm/s" },
      waveforms: [{ fileId: 1, channel: 1, axis: "H" }],
    });
  told(newest?.timeMs ?? 0);
  /** A new one comes. */
  const measure = async () => {
    await append(store, [measured(NOW)]);
    parts.emit({ type: "reading", reading: told(NOW) });
  };
  const withPins = await partsWithFeatures(parts, {}, { keeping, tables });
  const app = createApp(withPins, { ...OPTIONS, dashboardDir: join("dist", "dashboard") });
  t.after(() => app.close());
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  const all = store.measurements.list({ sensor: SENSOR, fromMs: 0, toMs: NOW, limit: 1000 });
  return { address, all, daily, store, measure };
}

/** These parts have neither alarms nor a configuration. */
const isOwn = (complaint: string) => !complaint.includes("501 (Not Implemented)");

const panel = (page: Page) => page.getByRole("region", { name: "Waveform and spectrum" });
const shown = (page: Page) => panel(page).getByLabel("Measurement", { exact: true });
const spectrum = (page: Page) => page.getByRole("img", { name: /^Spectrum of axis/ });

test("dashboard – a link to a measurement beyond the newest hundred shows it, older ones follow it, and one that is gone is not replaced by another", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { address, all, daily } = await twoYears(t);
  const { page, complaints, findings } = await openBrowser(t);
  const old = all[170];
  await page.goto(`${address}/#/sensor/${SENSOR}?reading=${old?.reading}`);
  await spectrum(page).waitFor();
  assert.equal(await shown(page).inputValue(), old?.reading);
  for (const at of [171, 172]) {
    await page.getByRole("button", { name: "‹ Older" }).click();
    await pageUntil(
      "an older one",
      async () => (await shown(page).inputValue()) === all[at]?.reading,
    );
  }
  assert.match(page.url(), new RegExp(`reading=${all[172]?.reading}&at=${all[172]?.timeMs}`));

  // From the newest on, past the end of the first hundred.
  await page.goto(`${address}/#/sensor/${SENSOR}`);
  await spectrum(page).waitFor();
  await shown(page).selectOption({ index: 99 });
  await page.getByRole("button", { name: "‹ Older" }).click();
  await pageUntil("the 101st", async () => (await shown(page).inputValue()) === all[100]?.reading);
  await page.getByRole("button", { name: "Newer ›" }).click();
  await pageUntil("the 100th", async () => (await shown(page).inputValue()) === all[99]?.reading);

  const kept = new Set(all.map(({ reading }) => reading));
  const gone = daily.find(({ id }) => !kept.has(id));
  await page.goto(`${address}/#/sensor/${SENSOR}?reading=${gone?.id}&at=${gone?.timeMs}`);
  await page.getByText(/is not stored any more\. The oldest stored one is of/).waitFor();
  assert.equal(await spectrum(page).isVisible(), false, "nothing is drawn");
  await page.getByRole("button", { name: /^The one after: / }).click();
  await spectrum(page).waitFor();
  const after = all.findLast(({ timeMs }) => timeMs > (gone?.timeMs ?? 0));
  assert.equal(await shown(page).inputValue(), after?.reading);
  assert.deepEqual(await findings(), []);
  assert.deepEqual(complaints.filter(isOwn), []);
});

test("dashboard – any date can be chosen, pinned and compared, cursors survive that, and the waterfall shows any range", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { address, all, store } = await twoYears(t);
  const { page, complaints, findings } = await openBrowser(t);
  await page.goto(`${address}/#/sensor/${SENSOR}`);
  await spectrum(page).waitFor();
  await page.getByRole("button", { name: "Date…", exact: true }).click();
  await page.getByRole("button", { name: "A month earlier" }).click();
  const day = page.getByRole("button", { name: "12 October 2026, has measurements" });
  await day.waitFor();
  assert.deepEqual(await findings(), []);
  await day.click();
  const ofDay = all.find(({ timeMs }) => new Date(timeMs).toISOString().startsWith("2026-10-12"));
  await pageUntil("that day", async () => (await shown(page).inputValue()) === ofDay?.reading);
  const pin = page.getByRole("button", { name: /^Pin(ned)? …$/ });
  await pin.click();
  const dialog = page.getByRole("dialog", { name: "Pin this measurement" });
  await dialog.getByLabel("Note").fill("after the repair");
  await dialog.getByRole("button", { name: "Pin", exact: true }).click();
  await page.getByRole("button", { name: "Pinned …", exact: true }).waitFor();
  // The dialog gives the focus back.
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Pinned …");
  assert.deepEqual(store.measurements.find(SENSOR, ofDay?.reading ?? "")?.kept, [
    { why: "ladder", note: null },
    { why: "pin", note: "after the repair" },
  ]);

  // The newest over the pinned one: their speeds differ, so they are compared over orders.
  await page.goto(`${address}/#/`);
  await page.goto(`${address}/#/sensor/${SENSOR}`);
  await spectrum(page).waitFor();
  await panel(page).getByText("Display", { exact: true }).click();
  await panel(page).getByLabel("Cursor", { exact: true }).selectOption("harmonic");
  await spectrum(page).focus();
  for (let i = 0; i < 8; i++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  const readout = page.locator(".chart", { has: spectrum(page) }).locator(".readout");
  const before = /harmonics of ([\d.]+) Hz/.exec((await readout.textContent()) ?? "")?.[1];
  assert.ok(Number(before) > 0);
  const pinned = panel(page).locator("#signal-against optgroup[label=Pinned] option");
  await pinned.first().waitFor({ state: "attached" });
  assert.match((await pinned.first().textContent()) ?? "", /12 Oct 2026 .* · 1480 rpm · pinned/);
  await panel(page)
    .getByLabel("Compare with", { exact: true })
    .selectOption(ofDay?.reading ?? "");
  await pageUntil("the same cursor over orders", async () => {
    const orders = /harmonics of ([\d.]+)x/.exec((await readout.textContent()) ?? "")?.[1];
    return Math.abs(Number(orders) - Number(before) / (1600 / 60)) < 0.01;
  });

  // Which line is which: both with time and speed.
  const legend = panel(page).locator(".legend li");
  assert.match((await legend.nth(0).textContent()) ?? "", /^\d+ \w+ 2026 [\d:]+ · 1600 rpm/);
  assert.match((await legend.nth(1).textContent()) ?? "", /^12 Oct 2026 [\d:]+ · 1480 rpm/);

  await page.getByRole("tab", { name: "Waterfall", exact: true }).click();
  const caption = page
    .locator(".chart", { has: page.locator("canvas.waterfall") })
    .getByRole("status");
  const says = (what: RegExp) =>
    pageUntil(String(what), async () => what.test((await caption.textContent()) ?? ""));
  await says(/\d\d of 1\d\d measurements, evenly chosen/);
  await page.getByLabel("Range", { exact: true }).selectOption("all");
  await page.getByLabel("Spectra", { exact: true }).selectOption("100");
  await says(/\d+ of 3\d\d measurements, evenly chosen/);

  // Over orders each stands at its own speed: the same frequency is another order at another speed.
  await page.getByRole("img", { name: /^Waterfall of / }).focus();
  await says(/1600 rpm: highest [\d.]+ \S+ at [\d.]+ Hz/);
  await panel(page).getByLabel("Frequency in", { exact: true }).selectOption("orders");
  await says(/1600 rpm: highest [\d.]+ \S+ at [\d.]+x/);
  const heads = page.locator(".peaks th[scope=col]");
  assert.deepEqual(
    (await heads.allTextContents()).map((text) => text.replace(/ [▲▼]$/, "")),
    ["Peak", "Multiple of speed", "Line", "Amplitude (mm/s peak)"],
  );
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the numbers as CSV, waterfall" }).click();
  const rows = readFileSync(await (await download).path(), "utf8").split("\r\n");
  assert.match(rows[0] ?? "", /Time \(UTC\),Speed \(rpm\),Multiple of speed,Amplitude/);
  const steps = (rpm: number) => {
    const lines = rows.map((row) => row.split(",")).filter((row) => row.includes(String(rpm)));
    return Number(lines[1]?.at(-2)) * rpm;
  };
  assert.ok(steps(1480) > 0 && Math.abs(steps(1480) - steps(1600)) < 1e-6);
  assert.deepEqual(await findings(), []);
  assert.deepEqual(complaints.filter(isOwn), []);
});

test("dashboard – of two days the later choice stands, however late the answer to the first comes; Older pressed twice lists nothing twice; the calendar opens at the month shown; Pin pins what it was opened for", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { address, all, store, measure } = await twoYears(t);
  const { page } = await openBrowser(t);
  await page.goto(`${address}/#/sensor/${SENSOR}`);
  await spectrum(page).waitFor();
  /** The next answer comes only once it is let go. */
  const holdNext = async () => {
    let release = () => {};
    const isFree = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(
      "**/measurements?*",
      async (route) => {
        await isFree;
        await route.continue().catch(() => {});
      },
      { times: 1 },
    );
    return release;
  };
  const chooseDay = async (day: string) => {
    await page.getByRole("button", { name: "Date…", exact: true }).click();
    await page.getByRole("button", { name: new RegExp(`^${day} `) }).click();
  };
  const of = (date: string) =>
    all.find(({ timeMs }) => new Date(timeMs).toISOString().startsWith(date))?.reading;
  // One of the newest hundred is at hand; the day's own page is asked for.
  await shown(page).selectOption({ index: 99 });
  const older = page.getByRole("button", { name: "‹ Older" });
  const releaseOlder = await holdNext();
  await older.click();
  await older.click();
  releaseOlder();
  await pageUntil("the 101st", async () => (await shown(page).inputValue()) === all[100]?.reading);
  const values = await page.evaluate<string[]>(
    "[...document.querySelectorAll('#signal-time option')].map(({ value }) => value)",
  );
  assert.equal(new Set(values).size, values.length);

  await page.getByRole("button", { name: "Date…", exact: true }).click();
  await page.getByRole("button", { name: "18 November 2026, has measurements" }).waitFor();
  await page.getByRole("button", { name: "Date…", exact: true }).click();
  const releaseDay = await holdNext();
  await chooseDay("17");
  await chooseDay("18");
  await pageUntil("the 18th", async () => (await shown(page).inputValue()) === of("2026-11-18"));
  releaseDay();
  // What it would have asked next is answered too.
  await page.evaluate("fetch('api/v1/status').then((response) => response.text())");
  assert.equal(await shown(page).inputValue(), of("2026-11-18"));
  // The calendar opens at the month of what is shown.
  await page.goto(`${address}/#/`);
  await page.goto(`${address}/#/sensor/${SENSOR}?reading=${of("2026-10-12")}`);
  await spectrum(page).waitFor();
  await page.getByRole("button", { name: "Date…", exact: true }).click();
  const month = page.getByText("October 2026", { exact: true });
  await month.waitFor();
  // Escape closes it and gives the focus back, wherever in it the focus is.
  await page.keyboard.press("Escape");
  await month.waitFor({ state: "hidden" });
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "A month later" }).focus();
  await page.keyboard.press("Escape");
  await month.waitFor({ state: "hidden" });
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Date…");
  // A measurement's name is whole in both selects.
  await page.getByText("Display", { exact: true }).click();
  const cut = await page.evaluate<string[]>(`["signal-time", "signal-against"].flatMap((id) => {
    const select = document.getElementById(id);
    const style = getComputedStyle(select);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const text = "29 Nov 2026 09:28:52 · 1484 rpm · pinned";
    const room = select.clientWidth - parseFloat(style.paddingLeft) * 2 - 16;
    return pen.measureText(text).width > room ? [id + ": " + room] : [];
  })`);
  assert.deepEqual(cut, []);

  // The page follows the newest; the dialog stays with the one that it was opened for.
  await page.goto(`${address}/#/`);
  await page.goto(`${address}/#/sensor/${SENSOR}`);
  await spectrum(page).waitFor();
  const before = await shown(page).inputValue();
  await page.getByRole("button", { name: "Pin …", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Pin this measurement" });
  const note = dialog.getByLabel("Note");
  await note.fill("as it was");
  await measure();
  await pageUntil("the new one", async () => (await shown(page).inputValue()) !== before);
  assert.equal(await note.inputValue(), "as it was");
  await dialog.getByRole("button", { name: "Pin", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  const keptOf = (reading: string) => store.measurements.find(SENSOR, reading)?.kept ?? [];
  assert.ok(keptOf(before).some(({ why, note }) => why === "pin" && note === "as it was"));
  const newest = await shown(page).inputValue();
  assert.ok(keptOf(newest).every(({ why }) => why !== "pin"));
  // It is the new one that is shown, and that one is not pinned.
  await page.getByRole("button", { name: "Pin …", exact: true }).waitFor();
});
