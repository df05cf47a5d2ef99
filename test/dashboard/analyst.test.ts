/** The pages of a vibration analyst over the built program: a bearing that goes, from the finding to the line that shows it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Locator, Page } from "playwright-core";
import { openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { failingBearing } from "../support/failing-bearing.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;

test("dashboard – a finding links to the spectrum that shows it, which can be measured with cursors, compared and viewed over time", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { plant, id } = await failingBearing(t, {
    historyDays: 0.05,
    speed: 10,
    accelS: 300,
  });
  const address = await plant.startAgent().address;
  const browser = await openBrowser(t);
  const { page } = browser;
  await findings(address, id);

  // The page is whole before the finding's spectrum has come, and after.
  let release = (): void => {};
  const isAwaited = new Promise<void>((done) => {
    release = done;
  });
  await page.route("**/api/v1/spectrum/**", async (route) => {
    await isAwaited;
    await route.continue();
  });
  await page.goto(`${address}/#/machine/${id}`);
  const finding = page.locator('li[data-finding="bearing_outer_race"]');
  await finding.getByText(/Outer-race damage of bearing 6205 on Pump 1/).waitFor();
  assert.deepEqual(await browser.findings(), []);
  release();
  await page.getByRole("img", { name: /^Evidence of the finding/ }).waitFor();
  assert.deepEqual(await browser.findings(), []);
  // The trend comes first, and a finding is told once: beside its spectrum.
  const heads = await page.getByRole("heading", { level: 2 }).allTextContents();
  assert.deepEqual(heads.slice(0, 3), ["State", "Trend", "Findings"]);
  const told = page.locator("main").getByText(/^Outer-race damage of bearing 6205 on Pump 1/);
  assert.equal(await told.count(), 1);
  // Values of which the same is to be said share a line.
  const limits = page.getByRole("region", { name: "When limits will be reached" });
  await limits
    .getByText(/H Velocity RMS, V Velocity RMS.*: Not known yet: it takes six weeks/)
    .waitFor();
  assert.equal(await limits.getByRole("listitem").count(), 1);
  await page.setViewportSize({ width: 390, height: 800 });
  const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
  assert.ok(wide <= 390, `${wide} px wide in a window of 390`);
  assert.deepEqual(await browser.findings(), []);
  await page.setViewportSize({ width: 1280, height: 900 });

  // One click, or one key, from the evidence to the line.
  await finding.getByRole("link", { name: "Show BPFO", exact: true }).focus();
  await page.keyboard.press("Enter");
  const spectrum = page.getByRole("img", { name: /^Spectrum of axis/ });
  await page.getByRole("img", { name: /^Spectrum of axis .* gE at / }).waitFor();
  await pageUntil("the spectrum in view", async () => {
    const box = await spectrum.boundingBox();
    return box !== null && box.y >= 0 && box.y + box.height <= 900;
  });
  // The evidence tells what the plot draws, as the table of peaks does.
  const line = page.getByRole("row").filter({ has: page.getByRole("link", { name: "Show BPFO" }) });
  const peak = page.locator(".peaks tbody tr", { has: page.getByText("BPFO", { exact: true }) });
  await pageUntil("the same figure in both tables", async () => {
    const told = await line.first().getByRole("cell").nth(3).textContent();
    const drawn = await peak.first().getByRole("cell").last().textContent();
    if (drawn !== "" && told?.split(/\s/)[0] === drawn) return true;
    // The finding may have a newer reading meanwhile.
    await page.getByRole("link", { name: "Show BPFO", exact: true }).first().click();
    return false;
  });
  const asked = await query(page);
  assert.equal(asked.get("spectrum"), "envelope");
  assert.equal(await control(page, "Spectrum of").inputValue(), "envelope");
  const markers = control(page, "Markers").locator("option:checked");
  await says(markers, /^Bearing 6205, point 1: BPFO$/);
  // Its name is whole, beside the arrow of the list.
  const room = await page.evaluate<number>(`(() => {
    const select = [...document.querySelectorAll("select")].find((one) => one.labels[0]?.textContent === "Markers");
    const style = getComputedStyle(select);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const text = pen.measureText(select.selectedOptions[0].text).width;
    return select.clientWidth - parseFloat(style.paddingLeft) * 2 - text;
  })()`);
  assert.ok(room > 0, `${-room} px are cut`);
  assert.equal(await control(page, "Measurement").inputValue(), asked.get("reading"));
  assert.equal(await control(page, "Axis").inputValue(), asked.get("axis"));
  assert.equal(await control(page, "Cursor").inputValue(), asked.get("cursor"));

  // Cursors by keyboard: what is held, its multiples, and bands about it.
  const readout = page.locator(".chart", { has: spectrum }).locator(".readout");
  await control(page, "Cursor").selectOption("harmonic");
  await move(spectrum, page);
  await says(readout, /harmonics of [\d.]+ Hz/);
  await control(page, "Cursor").selectOption("sideband");
  await move(spectrum, page);
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await says(readout, /side bands every [\d.]+ Hz about [\d.]+ Hz/);
  await control(page, "Cursor").selectOption("single");
  await move(spectrum, page);
  await says(readout, /Δ [\d.]+ Hz to [\d.]+ Hz/);

  // Another measurement over it, and all of them one behind the other, with the shown one selected.
  await control(page, "Compare with").selectOption({ index: 2 });
  await pageUntil("the comparison", async () => (await query(page)).has("against"));
  await page.getByRole("tab", { name: "Waterfall", exact: true }).click();
  const fall = page.locator("canvas.waterfall");
  const caption = page.locator(".chart", { has: fall }).getByRole("status");
  await says(caption, /Arrow keys select a spectrum/);
  const before = await control(page, "Measurement").inputValue();
  await fall.focus();
  await page.keyboard.press("Enter");
  assert.equal(await control(page, "Measurement").inputValue(), before);
  // Again where the spectra were drawn anew meanwhile.
  await pageUntil("another measurement", async () => {
    // The one that was opened is shown by its spectrum.
    await page.getByRole("tab", { name: "Waterfall", exact: true }).click();
    await fall.focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    return (await control(page, "Measurement").inputValue()) !== before;
  });
  assert.deepEqual(await browser.findings(), []);

  // The link shows the same to somebody else.
  await control(page, "Axis").selectOption({ index: 1 });
  await control(page, "Unit").selectOption({ index: 0 });
  await pageUntil("the unit in the link", async () => (await query(page)).get("unit") === "G");
  const link = page.url();
  const chosen = await choices(page);
  const other = await browser.context.newPage();
  await other.goto(link);
  await other.getByRole("img", { name: /^Spectrum of axis/ }).waitFor();
  // The other measurement is chosen once the list of them has been read.
  await pageUntil("the same choices", async () => isDeepStrictEqual(await choices(other), chosen));
  await other.close();
  assert.deepEqual(browser.complaints, []);
});

/** Of the spectrum's own: the trend above has some of the same name. */
function control(page: Page, label: string): Locator {
  const panel = page.getByRole("region", { name: "Waveform and spectrum" });
  return panel.getByLabel(label, { exact: true });
}

/** Until the agent has one to show: the page itself asks only now and then. */
async function findings(address: string, machine: number): Promise<void> {
  await pageUntil("a finding", async () => {
    const answer = await fetch(`${address}/api/v1/machines/${machine}/findings`);
    const { findings: found } = (await answer.json()) as { findings: readonly object[] };
    return found.length > 0;
  });
}

async function query(page: Page): Promise<URLSearchParams> {
  return new URLSearchParams(page.url().split("?")[1] ?? "");
}

async function move(chart: Locator, page: Page): Promise<void> {
  await chart.focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
}

async function says(readout: Locator, what: RegExp): Promise<void> {
  let text = "";
  await pageUntil(
    () => `${what} in the readout, which shows “${text}”`,
    async () => {
      text = (await readout.textContent()) ?? "";
      return what.test(text);
    },
  );
}

function choices(page: Page): Promise<string[]> {
  const labels = [
    "Measurement",
    "Axis",
    "Unit",
    "Spectrum of",
    "Markers",
    "Cursor",
    "Compare with",
  ];
  return Promise.all(labels.map((label) => control(page, label).inputValue()));
}
