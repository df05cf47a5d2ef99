/** What somebody does on a page, a press, a form, a choice, holds while readings, alarms and answers come. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { LogLine, LogQuery } from "../../src/core/log-view.ts";
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
  const told = { severity: "warning", text: "Of the history.", time: "2026-11-20T12:00Z" } as const;
  const { table, alarms } = alarmsOf({
    active: [first],
    events: [{ ...first, ...told, id: idOf(9), seq: 9 }],
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

test("dashboard – after a restart the log shows the first lines of the new process, however many it has", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const linesOf = (run: string, count: number): LogLine[] =>
    Array.from({ length: count }, (_, i) => ({
      number: i + 1,
      text: JSON.stringify({ level: 30, time: "2026-11-20T12:00:00Z", msg: `${run} ${i + 1}` }),
    }));
  let lines = linesOf("old", 3);
  const log = {
    level: "info",
    debugUntilMs: null,
    debugFor() {},
    page: ({ after }: LogQuery) => ({
      lines: lines.filter(({ number }) => number > (after ?? 0)),
      last: lines.length,
      dropped: 0,
    }),
  };
  const { page, url, setStatus } = await openHouse(t, { sensors: sensorsOf(), parts: { log } });
  await page.goto(`${url}/#/log`);
  await page.locator(".log-lines").getByText("old 3", { exact: true }).waitFor();
  await page.locator("html[data-live=live]").waitFor();
  lines = linesOf("new", 5);
  setStatus({ startedAtMs: Date.now() });
  await page.locator(".log-lines").getByText("new 1", { exact: true }).waitFor();
  assert.equal(await page.locator(".log-lines li").count(), 5);
});

test("dashboard – lines of two units are never drawn on one scale, and a changed unit is that of the answer", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const loop = (code: string, unit: string) => ({
    code,
    type: 12,
    name: `Loop ${code}`,
    kinds: ["loop" as const],
    channels: { channel1: { name: "Line", unit, low: 0, high: 10 } },
    location: placeOf(41),
  });
  const house = await openHouse(t, { sensors: [loop("1", "m³/h"), loop("2", "°C")] });
  const { page, url } = house;
  const tell = (sensor: string, unit: string, value: number) =>
    house.reading({
      sensor,
      kind: "loop",
      timeMs: Date.now(),
      values: { channel1: value },
      units: { channel1: unit },
    });
  tell("1", "m³/h", 71);
  tell("2", "°C", 40);
  await page.goto(`${url}/#/sensor/1?with=2`);
  const trend = page.locator("[aria-labelledby=trend-title]");
  await trend.getByText(/Loop 2 is in °C: not drawn\./).waitFor();
  await trend
    .getByText(/71.* m³\/h/)
    .first()
    .waitFor();
  // The site file says another unit while the page is open.
  house.setSite({ sensors: [loop("1", "L/s"), loop("2", "°C")] });
  tell("1", "L/s", 19.7);
  await page.getByText("19.7", { exact: false }).first().waitFor();
  await trend.getByText(/ L\/s/).first().waitFor();
});

const showsZone = (page: Page, place: string, zone: string) =>
  page
    .locator(place)
    .getByText(new RegExp(`\\b${zone}\\b`))
    .first()
    .waitFor();
