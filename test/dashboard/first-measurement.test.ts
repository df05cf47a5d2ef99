/** A sensor's page that is opened before the first measurement is stored, over the built program. */
import { test } from "node:test";
import { openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
const ACCEL = "100200300";

test("dashboard – the first measurement of a sensor appears on a page that was opened before it", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 2, historyDays: 1 } });
  const seen = await plant.subscribe();
  const address = await plant.startAgent().address;
  await seen.waitFor(({ topic }) => topic.endsWith(`${ACCEL}/accel`), 20_000);
  const { page } = await openBrowser(t);
  // As the agent would have responded before it had read the sensor.
  await page.route("**/api/v1/sensors?*", async (route) => {
    const response = await route.fetch();
    const { sensors, next }: { sensors: object[]; next: number | null } = await response.json();
    const blank = sensors.map((sensor) => ({ ...sensor, latest: {} }));
    await route.fulfill({ response, json: { sensors: blank, next } });
  });
  await page.route("**/measurements?*", (route) =>
    route.fulfill({ json: { measurements: [], next: null } }),
  );
  await page.goto(`${address}/#/sensor/${ACCEL}`);
  await page.getByText("No waveforms are stored for this sensor").waitFor();
  await page.unrouteAll({ behavior: "wait" });
  // The stream is opened again, and the sensors are requested with it.
  await page.evaluate("window.dispatchEvent(new Event('online'))");
  await page.locator(".peaks tbody tr").first().waitFor();
});
