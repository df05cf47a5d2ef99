import assert from "node:assert/strict";
import { test } from "node:test";
import { answerSlowly, openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;

test("dashboard – the log is followed and gives more detail for a while; units change every page of this browser", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 3, historyDays: 1 } });
  const subscriber = await plant.subscribe();
  const address = await plant.startAgent().address;
  const { text: reading } = await subscriber.waitFor(
    ({ topic, text }) => topic.endsWith("/accel") && text.includes("channel1_vel_rms"),
    30_000,
  );
  const { sensor } = JSON.parse(reading) as { readonly sensor: string };
  const browser = await openBrowser(t);
  const { page } = browser;
  const until = (expression: string) =>
    pageUntil(expression, () => page.evaluate<boolean>(expression));
  const hasText = (text: string) =>
    until(`document.body.innerText.includes(${JSON.stringify(text)})`);

  await page.goto(`${address}/#/log`);
  await hasText("The agent logs at level info");
  await until(`document.querySelectorAll(".log-lines li").length > 0`);
  assert.deepEqual(await browser.findings(), []);
  // What a press could not do stays told, although lines go on coming.
  await page.route("**/api/v1/log/debug", (route) => route.abort(), { times: 1 });
  const debug = page.getByRole("button", { name: "Debug for 15 minutes" });
  await debug.click();
  const fault = page.locator("main").getByText(/^Not done: /);
  await fault.waitFor();
  for (let i = 0; i < 2; i++) await page.waitForResponse(/api\/v1\/log\?/);
  assert.equal(await fault.count(), 1);
  await debug.click();
  await hasText("The agent logs at level debug until");
  await until(`document.querySelector('.log-lines li[data-level="debug"]') !== null`);
  const response = await fetch(`${address}/api/v1/audit`);
  const audit = (await response.json()) as { readonly entries: readonly { what: string }[] };
  assert.equal(audit.entries[0]?.what, "POST /api/v1/log/debug");

  await page.goto(`${address}/#/units`);
  assert.deepEqual(await browser.findings(), []);
  await page.getByRole("button", { name: "US" }).click();
  await page.goto(`${address}/#/sensor/${sensor}`);
  await hasText("in/s RMS");
  await hasText("°F");
  const shown = await page.locator(".latest").innerText();
  assert.doesNotMatch(shown, /mm\/s|°C/);

  await answerSlowly(page, "**/api/v1/trend?*", 10_000);
  await page.reload();
  await page.locator("[aria-labelledby='trend-title'] > .hint").getByText(/\d/).waitFor();
  await page.goto(`${address}/#/log`);
  await answerSlowly(page, "**/api/v1/log?*", 2_000);
  await page.reload();
  await page.locator(".log-lines li").first().waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  const own = browser.complaints.filter((text) => !text.includes("net::ERR_FAILED"));
  assert.deepEqual(own, []);
});
