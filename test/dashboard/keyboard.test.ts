import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { type Browser, openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
const TOKEN = "a-token-of-the-site";
const SENSORS = 3;

async function isFineInBothThemes(browser: Browser, view: string): Promise<void> {
  for (const colorScheme of ["dark", "light"] as const) {
    await browser.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    assert.deepEqual(await browser.findings(), [], `${view}, ${colorScheme}`);
  }
}

/** What has the focus, in a few words, and whether that can be seen. */
function focused(page: Page): Promise<{ name: string; isSeen: boolean }> {
  return page.evaluate(`(() => {
    const node = document.activeElement;
    const style = getComputedStyle(node);
    const name = node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent;
    const box = node.getBoundingClientRect();
    const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.top >= 0;
    return { name: name.trim(), isSeen };
  })()`);
}

/** The page's policy forbids what waitForFunction does. */
function until(page: Page, expression: string): Promise<void> {
  return pageUntil(expression, () => page.evaluate<boolean>(expression));
}

async function press(page: Page, ...keys: string[]): Promise<string> {
  for (const key of keys) await page.keyboard.press(key);
  const { name, isSeen } = await focused(page);
  assert.ok(isSeen, `the focus on "${name}" cannot be seen`);
  return name;
}

test("dashboard – every view can be used by keyboard alone and has no accessibility violations in either theme", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: SENSORS, historyDays: 1 },
    env: { HTTP_TOKEN: TOKEN },
  });
  const subscriber = await plant.subscribe();
  const address = await plant.startAgent().address;
  await subscriber.waitFor(({ topic }) => topic.endsWith("100200374/loop"), 20_000);
  const browser = await openBrowser(t);
  const { page } = browser;

  await page.goto(`${address}/`);
  await isFineInBothThemes(browser, "sign-in");
  await page.keyboard.type("not this one");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  await isFineInBothThemes(browser, "sign-in refused");
  await page.keyboard.type(TOKEN);
  await page.keyboard.press("Enter");
  await page.locator("html[data-live=live]").waitFor();
  await page.goto(`${address}/#/sensors`);
  const rows = page.locator("tr.sensor");
  await rows.first().waitFor();

  // In the order in which they are read.
  const first = await rows.first().locator("a").textContent();
  const machine = await page.locator(".group a.machine").first().textContent();
  const places = ["Machines", "Sensors", "Alarms", "Log", "Set-up", "Manual"];
  const filters = ["Search", "State", "Kind", "Area", "Zone"];
  const headings = ["Sensor", "State", "Zone", "Age", "Battery"];
  const expected = ["Skip to content", "Gateside, overview", ...places, "Sign out", ...filters];
  const all = [...expected, ...headings, machine, first];
  await page.reload();
  await rows.first().waitFor();
  const order = [];
  for (let i = 0; i < all.length + 1; i++) order.push(await press(page, "Tab"));
  // What the header's state opens is the plant's own matter.
  const without = order.filter((name) => !/alarm|warning|fault|unknown|watch/.test(name ?? ""));
  assert.deepEqual(without.slice(0, all.length), all);

  // Past the head in one step, without losing the place.
  await page.reload();
  await rows.first().waitFor();
  await press(page, "Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate("document.activeElement.id"), "content");
  assert.equal(await press(page, "Tab"), "Search");
  await page.locator("#search").focus();

  // Nobody who types gets the list of keys.
  await page.keyboard.type("?");
  assert.equal(await page.locator("#search").inputValue(), "?");
  const keys = page.getByRole("dialog", { name: "Keys" });
  assert.equal(await keys.isVisible(), false);
  await page.keyboard.press("Backspace");
  await page.locator(".brand").focus();
  await page.keyboard.press("?");
  await keys.getByText("pins and releases the cursor of a spectrum").waitFor();
  await isFineInBothThemes(browser, "keys");
  await page.keyboard.press("Escape");
  await keys.waitFor({ state: "hidden" });
  assert.equal((await focused(page)).name, "Gateside, overview");
  await page.locator("#search").focus();

  await page.keyboard.type("no such sensor");
  await page.locator("td.empty").waitFor();
  await isFineInBothThemes(browser, "nothing found");
  assert.equal(await press(page, "Tab", "Tab", "Tab", "Tab", "Tab"), "Show all");
  assert.equal(await press(page, "Enter"), "Search");
  assert.equal(await rows.count(), SENSORS);

  // Past the other filters, the headings and the machine.
  for (let i = 0; i < 10; i++) await press(page, "Tab");
  assert.equal(await press(page, "Tab"), first);
  await page.keyboard.press("Enter");
  const heading = page.getByRole("heading", { level: 1, name: "Pump 1 DE bearing" });
  await heading.waitFor();
  assert.equal((await focused(page)).name, "Pump 1 DE bearing");
  await until(page, "document.title.startsWith('Pump 1 DE bearing – plant')");
  await page.locator(".peaks tbody tr").first().waitFor();
  await isFineInBothThemes(browser, "sensor");

  await page.evaluate("location.hash = '#/sensor/404'");
  await page.getByRole("heading", { level: 1, name: "There is no sensor 404" }).waitFor();
  await isFineInBothThemes(browser, "no such sensor");
  await page.evaluate("location.hash = '#/machine/999'");
  await page.getByRole("heading", { level: 1, name: "There is no machine 999" }).waitFor();
  assert.equal(await page.getByRole("heading", { level: 2 }).count(), 0);
  await isFineInBothThemes(browser, "no such machine");
  await page.locator(".crumbs").getByRole("link", { name: "All machines" }).click();
  await page.locator("[data-machine]").first().waitFor();

  await page.getByLabel("Colours").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await until(page, "document.documentElement.dataset.theme === 'dark'");
  await page.reload();
  await until(page, "document.documentElement.dataset.theme === 'dark'");
  await page.getByRole("button", { name: "Sign out" }).press("Enter");
  await page.getByLabel("Access token").waitFor();
  assert.deepEqual(
    browser.complaints.filter((text) => !text.includes("401")),
    [],
  );
});
