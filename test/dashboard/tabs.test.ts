import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
/** Chromium opens six connections to one server over HTTP/1.1, for all tabs together. */
const TABS = 8;

/** A headless browser has no hidden tabs, so each page is told what it is. */
const TOLD = `Object.defineProperty(document, "hidden", { get: () => window.isShownTab !== true });`;

async function show(page: Page, isShown: boolean): Promise<void> {
  await page.evaluate(
    `window.isShownTab = ${isShown}; document.dispatchEvent(new Event("visibilitychange"));`,
  );
}

test("dashboard – more tabs than the browser has connections all load, and each is live while it is shown", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 3, historyDays: 1 } });
  const address = await plant.startAgent().address;
  const { context, complaints } = await openBrowser(t);
  await context.addInitScript(TOLD);
  const pages: Page[] = [];
  for (let i = 0; i < TABS; i++) {
    const page = await context.newPage();
    page.setDefaultTimeout(deadlineMs(30_000));
    await page.goto(`${address}/`);
    // A hidden tab knows its plant too: its title is read in the row of tabs.
    await pageUntil("the title", async () => (await page.title()) === "plant – Gateside");
    pages.push(page);
  }
  const streams = (page: Page) =>
    page.evaluate<number>(
      `performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/events")).length`,
    );
  assert.equal(await streams(pages[0] as Page), 0);
  for (const page of pages) {
    const opened = page.waitForRequest((request) => request.url().endsWith("/api/v1/events"));
    await show(page, true);
    await (await opened).response();
    await page.locator("html[data-live=live]").waitFor();
    await show(page, false);
  }
  assert.deepEqual(complaints, []);
});
