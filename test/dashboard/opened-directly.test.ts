/** A page that is opened by its address is drawn before the first status and the list of sensors, and again once they come. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { alarmOf, alarmsOf, openHouse, placeOf, vibration } from "../support/page-house.ts";

const skip = skipWithoutBrowser;
const CODE = "100107";
/** Half an hour beside UTC, so that no time of one can be taken for one of the other. */
const TIMEZONE = "Asia/Kolkata";
const timeIn = (timeZone: string, text: string) =>
  new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" }).format(
    Date.parse(text),
  );

test("dashboard – a page that is opened directly has times of the box's zone and names once the first status came", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const raised = new Date(Date.now() - 20 * 60_000).toISOString();
  const text = `Velocity in zone D since ${raised}.`;
  const { alarms } = alarmsOf({
    active: [alarmOf({ sensor: CODE, severity: "alarm", since: raised, raised, text })],
  });
  const house = await openHouse(t, {
    sensors: [
      {
        code: CODE,
        type: 3,
        name: "Drive end",
        kinds: ["accel"],
        channels: {},
        machineClass: "group2-rigid",
        location: placeOf(40),
      },
    ],
    machines: [{ id: 40, name: "Pump" }],
    alarms,
    status: { timezone: TIMEZONE },
    options: { timezone: TIMEZONE },
    zone: "UTC",
  });
  const { page, url } = house;
  house.reading(vibration(CODE, 9, "D"));
  for (const [hash, drawn] of [
    ["#/alarms", "tr.alarm"],
    ["#/", "main section"],
    ["#/machine/40", "main section"],
  ] as const) {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.goto("about:blank");
    for (const late of ["**/api/v1/events", "**/api/v1/sensors?*"])
      await page.route(late, async (route) => {
        await released;
        await route.continue();
      });
    await page.goto(`${url}/${hash}`);
    await page.locator(drawn).first().waitFor({ state: "attached" });
    release();
    await page.locator("html[data-live=live]").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    const main = async () => (await page.locator("main").textContent()) ?? "";
    await pageUntil(`${hash} tells names and times`, async () => {
      const shown = await main();
      return shown.includes("Drive end") && shown.includes(timeIn(TIMEZONE, raised));
    });
    const shown = await main();
    assert.ok(!shown.includes(timeIn("UTC", raised)), `${hash}: ${shown}`);
    assert.ok(!shown.includes(raised), hash);
  }
});

test("dashboard – on a box without sensors no page goes on reading them", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { page, url } = await openHouse(t, {
    sensors: [],
    machines: [{ id: 40, name: "Pump" }],
  });
  for (const hash of [
    "#/",
    "#/sensors",
    "#/machine/40",
    "#/machine/41",
    "#/sensor/1",
    "#/alarms",
  ]) {
    await page.goto("about:blank");
    await page.goto(`${url}/${hash}`);
    await page.locator("html[data-live=live]").waitFor();
    await pageUntil(
      `${hash} has read`,
      async () =>
        !/Reading the/.test(await page.locator("main").evaluate((main) => main.innerText)),
    );
  }
});
