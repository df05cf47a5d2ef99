import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
const TOKEN = "a-token-of-the-site";
const ACCEL = "100200300";

async function signIn(page: Page): Promise<void> {
  await page.getByLabel("Access token").fill(TOKEN);
  await page.getByLabel("Access token").press("Enter");
}

test("dashboard – entries in a form survive the end of the session, and can be saved after signing in again", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 2, historyDays: 1 },
    env: { HTTP_TOKEN: TOKEN, SETUP_ENABLED: "true" },
  });
  const address = await plant.startAgent().address;
  const { context, page } = await openBrowser(t);
  await page.goto(`${address}/#/setup/sensor?key=${ACCEL}`);
  await signIn(page);
  const name = page.locator('[data-path="name"]');
  await name.fill("Circulation pump");

  // As after a restart of the agent, which knows no sessions.
  await context.clearCookies();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const link = page.getByRole("link", { name: "sign in in another tab" });
  await link.waitFor();
  assert.equal(await name.inputValue(), "Circulation pump");

  const [other] = await Promise.all([context.waitForEvent("page"), link.click()]);
  await signIn(other);
  await other.locator("tr.sensor").first().waitFor();
  await page.bringToFront();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator(".set-notice", { hasText: "saved and in effect" }).waitFor();
  await link.waitFor({ state: "hidden" });
  assert.match(readFileSync(plant.siteFile, "utf8"), /Circulation pump/);
});
