/** What somebody does on a page, a press, a form, a choice, holds while readings, alarms and answers come. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import {
  alarmOf,
  alarmsOf,
  openHouse,
  type PageHouse,
  placeOf,
  vibration,
} from "../support/page-house.ts";

const skip = skipWithoutBrowser;
const CODES = ["1001", "1002", "1003"];
const idOf = (n: number) => String(n).padStart(32, "0");

const sensorsOf = () =>
  CODES.map((code, i) => ({
    code,
    type: 3,
    name: `Sensor ${i + 1}`,
    kinds: ["accel" as const],
    channels: {},
    machineClass: "group2-rigid" as const,
    location: placeOf(40, i + 1),
  }));

/** Everything that a reading can change about a sensor. */
const tellAll = (house: PageHouse, zone: string) => {
  for (const code of CODES) house.reading(vibration(code, zone === "A" ? 1 : 3.1, zone));
};

test("dashboard – an open form of an alarm keeps its entry and its focus, and nothing around it stands still", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const first = alarmOf({ id: idOf(1), sensor: "1001" });
  const { table, alarms } = alarmsOf({
    active: [first],
    events: [
      { ...first, id: idOf(9), text: "Of the history.", state: "cleared", seq: 9 },
    ] as unknown as Parameters<typeof alarmsOf>[0]["events"],
  });
  const house = await openHouse(t, { sensors: sensorsOf(), alarms });
  const { page, url } = house;
  tellAll(house, "A");
  await page.goto(`${url}/#/alarms`);
  const row = (n: number) => page.locator(`[data-alarm="${idOf(n)}"]`);
  await row(1).getByRole("button", { name: "Note …" }).click();
  const note = row(1).getByRole("textbox", { name: "Note" });
  await note.fill("half");
  await note.focus();

  // It gets worse, and so does another.
  table.active.splice(0, 1, {
    ...first,
    severity: "alarm",
    newest: { text: "Velocity in zone D.", limit: 4.5, measured: 9.9 },
  } as typeof first);
  table.active.push(alarmOf({ id: idOf(2), sensor: "1002" }));
  await row(2).waitFor();
  await row(1).getByText("Velocity in zone D.").waitFor();
  await row(1).getByText("Alarm", { exact: true }).waitFor();
  await page.keyboard.type(" typed");
  assert.equal(await note.inputValue(), "half typed");

  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void (asked.length === 1 ? dialog.dismiss() : dialog.accept());
  });
  const history = page.getByRole("button", { name: "History" });
  await history.click();
  assert.equal(await history.getAttribute("aria-pressed"), "false");
  assert.equal(await note.inputValue(), "half typed");
  await history.click();
  await row(9).waitFor();
  assert.deepEqual([await row(1).count(), asked.length], [0, 2]);
});

test("dashboard – a link is opened by a press during which readings and states change", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const house = await openHouse(t, {
    sensors: sensorsOf(),
    machines: [{ id: 40, name: "Pump" }],
  });
  const { page, url } = house;
  let zone = "A";
  tellAll(house, zone);
  for (const [hash, selector, shows] of [
    ["#/machine/40", "[aria-labelledby=machine-sensors] a", "[aria-labelledby=machine-sensors]"],
    ["#/machine/40", ".crumbs a", "[aria-labelledby=machine-sensors]"],
    ["#/sensor/1001", ".crumbs a >> nth=1", ".badges"],
    ["#/sensors", "tr.sensor a", "tr.sensor"],
    ["#/", "tr.sensor a", "tr.sensor"],
  ] as const) {
    await page.goto("about:blank");
    await page.goto(`${url}/${hash}`);
    await page.locator(selector).first().waitFor();
    await showsZone(page, shows, zone);
    await page.locator(selector).first().hover();
    await page.mouse.down();
    zone = zone === "A" ? "C" : "A";
    tellAll(house, zone);
    await showsZone(page, shows, zone);
    await page.mouse.up();
    await pageUntil(`${hash} ${selector} was opened`, async () => !page.url().endsWith(hash));
  }
});

const showsZone = (page: Page, place: string, zone: string) =>
  page
    .locator(place)
    .getByText(new RegExp(`\\b${zone}\\b`))
    .first()
    .waitFor();
