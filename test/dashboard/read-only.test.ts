/** What a page offers that is signed in with HTTP_VIEW_TOKEN, over the built program. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
const TOKEN = "a-token-that-may-all";
const VIEW_TOKEN = "a-token-that-looks";

test("dashboard – a read-only session is offered no action that the agent would refuse, and is told why", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 3, speed: 20, historyDays: 0.02, cadenceS: { loop: 20 } },
    env: { HTTP_TOKEN: TOKEN, HTTP_VIEW_TOKEN: VIEW_TOKEN, SETUP_ENABLED: "true" },
  });
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const alarms = [
    { name: "too much", select: { kinds: ["loop"], values: ["channel1"] }, highHigh: -1000 },
  ];
  writeFileSync(plant.siteFile, JSON.stringify({ ...site, alarms }));
  const address = await plant.startAgent().address;
  const browser = await openBrowser(t);
  const { context, page } = browser;
  const signIn = async (token: string): Promise<void> => {
    await context.clearCookies();
    await page.goto(`${address}/`);
    await page.getByLabel("Access token").fill(token);
    await page.getByLabel("Access token").press("Enter");
    await page.locator("html[data-live=live]").waitFor();
  };
  const item = page.locator("tr.alarm", { hasText: "too much" });
  const why = page.getByText(/read-only token.*sign in with HTTP_TOKEN/);

  await signIn(VIEW_TOKEN);
  await page.goto(`${address}/#/alarms`);
  await item.waitFor();
  await why.waitFor();
  assert.equal(await item.getByRole("button").count(), 0);
  assert.deepEqual(await browser.findings(), []);
  await page.goto(`${address}/#/setup`);
  await page.getByRole("link", { name: "See the readings" }).waitFor();
  await why.waitFor();
  const offers = page.getByRole("link", { name: /^(Add|Find) / });
  assert.equal(await offers.count(), 0);
  await page.goto(`${address}/#/setup/alarms`);
  await page.getByRole("link", { name: "too much" }).waitFor();
  assert.equal(await offers.count(), 0);

  await signIn(TOKEN);
  await page.goto(`${address}/#/alarms`);
  await item.getByRole("button", { name: "Acknowledge …" }).waitFor();
  assert.equal(await why.isVisible(), false);
  await page.goto(`${address}/#/setup/alarms`);
  await page.getByRole("link", { name: "Add an alarm rule" }).waitFor();
});
