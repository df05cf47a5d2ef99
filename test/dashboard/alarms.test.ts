/** The alarm list, its badge, and what people say there, over the built program. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { answerSlowly, openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;

test("dashboard – alarms are counted in the header, listed, acknowledged, shelved and kept in the history", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 3, speed: 20, historyDays: 0.02, cadenceS: { loop: 20 } },
  });
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const alarms = [
    { name: "too much", select: { kinds: ["loop"], values: ["channel1"] }, highHigh: -1000 },
  ];
  writeFileSync(plant.siteFile, JSON.stringify({ ...site, alarms }));
  const address = await plant.startAgent().address;
  const browser = await openBrowser(t);
  const { page } = browser;
  await page.goto(`${address}/`);
  const badge = page.locator(".state-link");
  await badge.getByText(/^\d+ alarms?/).waitFor();
  await badge.click();
  await page.getByRole("heading", { level: 1, name: "Alarms" }).waitFor();
  const items = page.locator("tr.alarm", { hasText: "too much" });
  await items.first().waitFor();
  assert.equal(await items.count(), 1);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    assert.ok(wide <= width, `${wide} px wide in a window of ${width}`);
    assert.deepEqual(await browser.findings(), [], `${width} px`);
  }

  // By keyboard alone.
  await items.getByRole("button", { name: "Acknowledge …" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("Anna");
  await page.keyboard.press("Tab");
  await page.keyboard.type("seen from the gate");
  assert.deepEqual(await browser.findings(), []);
  await page.keyboard.press("Enter");
  await items.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Acknowledged \(1\)/ }).click();
  await items.getByText(/acknowledged by Anna, .*: “seen from the gate”/).waitFor();
  assert.match(page.url(), /list=acknowledged$/);

  // A refusal is shown beside the form, and nothing that was entered is lost.
  await items.getByRole("button", { name: "Shelve …" }).click();
  await page.route("**/shelve", (route) =>
    route.fulfill({
      status: 403,
      json: { error: { status: 403, message: "look only until 2026-07-01T22:30:05.000Z" } },
    }),
  );
  await page.getByRole("button", { name: "Shelve", exact: true }).click();
  await page
    .getByRole("alert")
    .getByText(/^Not done: look only until [12] Jul 2026 \d\d:30:05$/)
    .waitFor();
  await page.unroute("**/shelve");
  await page.getByLabel("For").selectOption("60");
  await page.getByRole("button", { name: "Shelve", exact: true }).click();
  await page.getByRole("button", { name: /^Shelved \(1\)/ }).click();
  await items.getByText(/shelved until/).waitFor();
  await page.reload();
  await items.getByText(/shelved until/).waitFor();
  await items.getByRole("button", { name: "Unshelve …" }).click();
  await page.getByRole("button", { name: "Unshelve", exact: true }).click();
  await page.getByRole("button", { name: "Action log" }).click();
  await page.locator("li.alarm", { hasText: "Anna unshelved" }).waitFor();
  await page.getByRole("button", { name: "History" }).click();
  await items.getByText(/^Shelved until \d+ \w{3} \d{4} \d\d:\d\d:\d\d by Anna/).waitFor();
  assert.deepEqual(await browser.findings(), []);
  await items.first().getByRole("link").click();
  await page.locator(".chart").first().waitFor();
  assert.match(page.url(), /value=loop.channel1/);
  await isNarrowEnough(page, "trend with limits and alarm marks");
  await page.goto(`${address}/#/alarms?list=history`);
  await items.first().waitFor();
  await isNarrowEnough(page, "history of alarms");
  await foldsManySensors(page, address);
  await answerSlowly(page, "**/api/v1/alarms?*", 10_000);
  await page.goto(`${address}/#/alarms?list=history`);
  await page.reload();
  await items.first().waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  // The browser says so itself of every refused request.
  assert.deepEqual(
    browser.complaints.filter((text) => !text.includes("403")),
    [],
  );
});

/** No scrolling sideways on a telephone. */
async function isNarrowEnough(page: Page, what: string): Promise<void> {
  await page.setViewportSize({ width: 390, height: 800 });
  const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
  assert.ok(wide <= 390, `${what}: ${wide} px wide in a window of 390`);
}

interface Listed {
  readonly code: string;
  readonly location: object | null;
}

/** A site of 200 sensors on 20 machines, as the agent would list it. */
async function foldsManySensors(page: Page, address: string): Promise<void> {
  await page.route("**/api/v1/sensors?*", async (route) => {
    const response = await route.fetch();
    const { sensors }: { sensors: Listed[] } = await response.json();
    const [like] = sensors;
    const many = Array.from({ length: 200 }, (_, i) => ({
      ...like,
      code: String(900_000 + i),
      name: `Point ${i}`,
      state: i === 3 ? "silent" : "online",
      zone: null,
      batteryV: 3 + ((i * 37) % 200) / 1000,
      location: { company: 1, area: 1, machine: 100 + (i % 20), point: 1 },
    }));
    await route.fulfill({ response, json: { sensors: many, next: null } });
  });
  await page.goto(`${address}/#/sensors`);
  await page.reload();
  const folds = page.locator("button.fold");
  await folds.nth(19).waitFor();
  const rows = page.locator("tr.sensor");
  assert.deepEqual([await folds.count(), await rows.count()], [20, 0]);
  await isNarrowEnough(page, "200 sensors, folded");
  assert.equal(await page.locator("tr.group", { hasText: "1 silent" }).count(), 1);
  await folds.nth(4).click();
  assert.equal(await rows.count(), 10);
  await isNarrowEnough(page, "one machine unfolded");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole("button", { name: "Battery" }).click();
  assert.deepEqual([await folds.count(), await rows.count()], [0, 200]);
  const codes = await page.evaluate<string[]>(
    "[...document.querySelectorAll('tr.sensor')].slice(0, 2).map((row) => row.dataset.code)",
  );
  // 3.000 V and 3.001 V.
  assert.deepEqual(codes, ["900000", "900173"]);
  await page.getByRole("button", { name: "State" }).click();
  assert.equal(await rows.first().getAttribute("data-code"), "900003");
  await page.unroute("**/api/v1/sensors?*");
}
