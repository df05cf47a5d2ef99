/** Files of the page that do not arrive, over the built program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

test("dashboard – a file of the page that does not arrive, of the first view or of a later one, is asked for again", {
  skip: skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const plant = await startPlant(t, { simulator: { sensors: 1, historyDays: 0.02 } });
  const address = await plant.startAgent().address;
  const { context, page } = await openBrowser(t);
  const failed: string[] = [];
  /** As when a laptop changes its network while the page loads. */
  const failOnce = (what: RegExp) =>
    context.route(
      what,
      (route) => {
        failed.push(route.request().url());
        return route.abort("internetdisconnected");
      },
      { times: 1 },
    );
  let loads = 0;
  page.on("load", () => {
    loads += 1;
  });
  const twice = () => pageUntil("the page loads again", async () => loads === 2 * failed.length);
  for (const what of [/\/chunk-/, /\/main\.css/]) {
    await failOnce(what);
    await page.goto(`${address}/`);
    await twice();
    await page.locator("html[data-live=live]").waitFor();
  }
  await failOnce(/\/log-page-/);
  await page.getByRole("link", { name: "Log" }).click();
  await page.getByRole("heading", { name: "Log", exact: true }).waitFor();
  assert.deepEqual([failed.length, loads], [3, 5]);
});
