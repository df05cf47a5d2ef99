/** Over plain HTTP a browser has six connections to an address: its pages share one stream. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openHouse, placeOf } from "../support/page-house.ts";

const skip = skipWithoutBrowser;
const PAGES = 8;

test("dashboard – eight pages of one browser have one stream, and another takes the place of the one that held it", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const fan = { code: "1", type: 40, name: "Fan", kinds: ["rpm"], channels: {} } as const;
  const house = await openHouse(t, { sensors: [{ ...fan, location: placeOf(40) }] });
  const pages: Page[] = [house.page];
  await house.page.goto(house.url);
  for (let n = 1; n < PAGES; n++) {
    const page = await house.context.newPage();
    pages.push(page);
    await page.goto(house.url);
  }
  let streams = 0;
  for (const page of pages)
    page.on("request", (request) => {
      if (request.url().endsWith("/events")) streams += 1;
    });
  let rpm = 1000;
  const hearAll = async (what: string) => {
    await pageUntil(what, async () => {
      rpm += 1;
      const units = { rpm: "rpm" };
      house.reading({ sensor: "1", kind: "rpm", timeMs: Date.now(), values: { rpm }, units });
      const shown = await Promise.all(pages.map((page) => rawOf(page)));
      return shown.every((raw) => raw >= rpm - 1);
    });
  };
  await hearAll("a reading on all pages");
  // Each page that held it, one after the other; only the new one asks.
  while (pages.length > 5) {
    await pages.shift()?.close();
    await hearAll(`a reading on the ${pages.length} pages that are left`);
  }
  assert.ok(streams <= 3, `${streams} streams for three pages that were closed`);
});

function rawOf(page: Page): Promise<number> {
  return page.evaluate(`Number(document.querySelector("tr.sensor [data-raw]")?.dataset.raw ?? 0)`);
}

test("dashboard – a hidden page asks for no lists", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const fan = { code: "1", type: 40, name: "Fan", kinds: ["rpm"], channels: {} } as const;
  const { page, url } = await openHouse(t, { sensors: [{ ...fan, location: placeOf(40) }] });
  await page.addInitScript(`window.isHidden = false;
    Object.defineProperty(document, "hidden", { get: () => window.isHidden });`);
  await page.goto(url);
  await page.locator("tr.sensor").waitFor();
  await page.evaluate(
    `window.isHidden = true; document.dispatchEvent(new Event("visibilitychange"))`,
  );
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const statuses = () => asked.filter((path) => path === "/api/v1/status").length;
  await pageUntil("two statuses for the title", () => Promise.resolve(statuses() >= 2));
  assert.deepEqual([...new Set(asked)], ["/api/v1/status"]);
  await page.evaluate(
    `window.isHidden = false; document.dispatchEvent(new Event("visibilitychange"))`,
  );
  await pageUntil("its lists, now that it is seen", () =>
    Promise.resolve(asked.includes("/api/v1/sensors")),
  );
});
