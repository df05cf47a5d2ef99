/** The start page's machines, worst first, over the built program. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { answerSlowly, openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { waitUntil } from "../support/wait-until.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;

/** No sensor names it. */
const SPARE = { id: 999, name: "Spare" };

test("dashboard – machines are listed worst first, the first whole on a phone, and acknowledged with a note in place", {
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
  writeFileSync(
    plant.siteFile,
    JSON.stringify({ ...site, machines: [...(site.machines ?? []), SPARE], alarms }),
  );
  const agent = plant.startAgent();
  const address = await agent.address;
  const browser = await openBrowser(t, { width: 360, height: 640 });
  const { page } = browser;
  await page.goto(`${address}/`);
  const entries = page.locator("[data-machine]");
  const first = entries.first();
  await first.getByText("Alarm", { exact: true }).waitFor();
  await first.getByText(/since .*\(/).waitFor();
  const box = await first.boundingBox();
  assert.ok(box !== null && box.y + box.height <= 640, JSON.stringify(box));
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    assert.ok(wide <= width, `${wide} px wide in a window of ${width}`);
    assert.deepEqual(await browser.findings(), [], `${width} px`);
  }

  const spare = page.locator("[data-machine='999']");
  await spare.getByRole("link", { name: "How to change the site file" }).waitFor();

  // While somebody works in a row, what comes meanwhile moves none.
  const keys = () =>
    page.evaluate(
      "[...document.querySelectorAll('[data-machine]')].map(({ dataset }) => dataset.machine)",
    );
  await first.getByRole("button", { name: "Acknowledge", exact: true }).click();
  const before = await keys();
  await page.route("**/api/v1/machines?sort=worst", async (route) => {
    const answer = (await (await route.fetch()).json()) as { machines: object[] };
    await route.fulfill({ json: { machines: answer.machines.reverse() } });
  });
  await page.waitForResponse(/sort=worst/);
  assert.deepEqual(await keys(), before);
  await page.unrouteAll({ behavior: "wait" });
  await page.keyboard.type("Anna");
  await page.keyboard.press("Tab");
  await page.keyboard.type("seen from the gate");
  await page.keyboard.press("Enter");
  await page.locator("[data-machine] form").waitFor({ state: "detached" });
  const { acknowledged } = (await (await fetch(`${address}/api/v1/alarms`)).json()) as {
    acknowledged: { acknowledged: { by: string; note: string } }[];
  };
  const [{ by, note } = { by: "", note: "" }] = acknowledged.map((one) => one.acknowledged);
  assert.deepEqual([by, note], ["Anna", "seen from the gate"]);
  assert.deepEqual(browser.complaints, []);

  // Sensors that change while they are being read are read again.
  const configuration = async () => {
    const status = await (await fetch(`${address}/api/v1/status`)).json();
    return (status as { readonly configuration: string }).configuration;
  };
  await page.route(
    "**/api/v1/sensors?*",
    async (route) => {
      const response = await route.fetch();
      const former = await configuration();
      const changed = JSON.parse(readFileSync(plant.siteFile, "utf8"));
      changed.sensors[0].enabled = false;
      writeFileSync(plant.siteFile, JSON.stringify(changed));
      agent.process.kill("SIGHUP");
      await waitUntil(
        "the site file is read again",
        async () => (await configuration()) !== former,
      );
      // The page has had a status of it by then: that comes more often.
      for (const _ of [1, 2]) await page.waitForResponse(/sort=worst/);
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await page.reload();
  await page.locator("tr.sensor", { hasText: "Not read" }).waitFor();

  await answerSlowly(page, "**/api/v1/machines?sort=worst", 5_000);
  await page.reload();
  await first.waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
});
