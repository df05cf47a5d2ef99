import assert from "node:assert/strict";
import { test } from "node:test";
import { skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { agentStatus } from "../support/http-parts.ts";
import { alarmsOf, openHouse, placeOf, vibration } from "../support/page-house.ts";

test("dashboard – says once that machines can be published, and not where they are", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const sensor = {
    code: "1001",
    type: 3,
    kinds: ["accel" as const],
    channels: {},
    location: placeOf(40),
  };
  const linksOf = (machines: boolean) => ({
    links: agentStatus({}).links.map((link) => ({ ...link, machines })),
  });
  const { alarms } = alarmsOf({ active: [] });
  const house = await openHouse(t, { sensors: [sensor], alarms, status: linksOf(true) });
  house.reading(vibration("1001", 1, "A"));
  const { page, url } = house;
  const hint = page.getByText("PUBLISH_MACHINES=true");
  const open = async () => {
    await page.goto("about:blank");
    await page.goto(url);
    await page.locator("[data-machine='40']").waitFor();
  };
  await open();
  assert.equal(await hint.isVisible(), false);
  house.setStatus(linksOf(false));
  await open();
  await hint.waitFor();
  assert.deepEqual(await house.findings(), []);
  await page.getByRole("button", { name: "Do not show again" }).click();
  assert.equal(await hint.isVisible(), false);
  await open();
  assert.equal(await hint.isVisible(), false);
});
