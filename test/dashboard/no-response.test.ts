/** A sensor's page while the agent does not run, over the built program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { noResponse } from "../../src/dashboard/no-response.ts";
import { openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { freePort, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
const ACCEL = "100200300";

test("dashboard – if the agent cannot be reached, a sensor's page says so and what to do, and reads again once it can", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 2, historyDays: 1 },
    env: { HTTP_PORT: String(await freePort()) },
  });
  const agent = plant.startAgent();
  const address = await agent.address;
  const { page } = await openBrowser(t);
  await page.goto(`${address}/#/sensor/${ACCEL}`);
  await page.locator(".peaks tbody tr").first().waitFor();

  await agent.kill();
  await page.locator(".state-link", { hasText: /^Not live/ }).waitFor();
  await page.getByRole("button", { name: "7 days" }).click();
  const remedy = "the agent cannot be reached. Check that it is running and that this computer";
  const trend = page.getByText(`The trend could not be read: ${remedy}`);
  await trend.waitFor();
  await page.getByLabel("Axis", { exact: true }).selectOption({ index: 1 });
  const measurement = page.getByText(`The measurement could not be read: ${remedy}`);
  await measurement.waitFor();
  assert.equal(await page.getByText("Failed to fetch").count(), 0);

  await plant.startAgent().address;
  await page.locator("html[data-live=live]").waitFor();
  await trend.waitFor({ state: "detached" });
  await measurement.waitFor({ state: "detached" });
});

test("dashboard – a response that takes too long is told alike, whether its beginning or its end is missing", () => {
  for (const [words, name] of [
    ["signal timed out", "TimeoutError"],
    ["The user aborted a request.", "AbortError"],
  ] as const) {
    const told = noResponse(new DOMException(words, name)) as Error;
    assert.match(told.message, /^the agent did not respond in time\./);
  }
});
