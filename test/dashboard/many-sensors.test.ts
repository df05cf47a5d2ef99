/** The table of sensors of a large site: what a person sorts or filters is there at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openHouse, placeOf } from "../support/page-house.ts";

const SENSORS = 450;

test("dashboard – a long table in the order of a column begins with its first rows, and one that is filtered stays folded", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const { page, url, findings } = await openHouse(t, {
    sensors: Array.from({ length: SENSORS }, (_, i) => ({
      code: String(1000 + i),
      type: 3,
      name: `Sensor ${i}`,
      kinds: ["accel" as const],
      channels: {},
      location: placeOf(1 + Math.floor(i / 6), 1 + (i % 6)),
    })),
  });
  const [rows, folds] = [page.locator("tr.sensor"), page.locator("button.fold")];
  const others = page.getByRole("button", { name: /^Show the other/ });
  const counts = async () => [await folds.count(), await rows.count()];
  await page.goto(`${url}/#/sensors`);
  await folds.nth(SENSORS / 6 - 1).waitFor();
  assert.deepEqual([await rows.count(), await others.isVisible()], [0, false]);

  // All are of this kind.
  await page.getByLabel("Kind").selectOption("accel");
  assert.deepEqual(await counts(), [SENSORS / 6, 0]);
  await page.getByLabel("Search").fill("Sensor 333");
  assert.equal(await rows.count(), 1);
  await page.getByRole("button", { name: "Show all", exact: true }).click();

  await page.getByRole("button", { name: "Sensor", exact: true }).click();
  assert.deepEqual(await counts(), [0, 200]);
  await page.getByText(`200 of ${SENSORS} shown`).waitFor();
  assert.equal(await rows.last().getAttribute("data-code"), "1199");
  assert.deepEqual(await findings(), []);
  assert.equal(await others.textContent(), "Show the other 250");
  await others.focus();
  await page.keyboard.press("Enter");
  await pageUntil("the next row has the focus", async () =>
    page.evaluate<boolean>("document.activeElement.closest('tr.sensor')?.dataset.code === '1200'"),
  );
  assert.deepEqual([await rows.count(), await others.isVisible()], [SENSORS, false]);
});
