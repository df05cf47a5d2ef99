/** What somebody does on a page, a press, a form, a choice, holds while readings, alarms and answers come. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { LogLine, LogQuery } from "../../src/core/status/log-view.ts";
import { HOUR_MS } from "../../src/core/time-units.ts";
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
  // An update replaces the agent: a page in which something is typed stays.
  await page.evaluate("window.isKept = true");
  house.setStatus({ version: "9.9.9" });
  await page.getByText(/^Gateside 9\.9\.9/).waitFor();
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
  await pageUntil("it loads itself anew", async () =>
    page.evaluate<boolean>("window.isKept !== true").catch(() => false),
  );
  await row(9).waitFor();
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
    // What is above the link has its height: this house knows no outlooks.
    if (/machine|sensor\//.test(hash)) await page.locator(".uplot").first().waitFor();
    if (hash.includes("machine")) await page.getByText(/^It could not be read/).waitFor();
    await page.locator(selector).first().hover();
    await page.mouse.down();
    zone = zone === "A" ? "C" : "A";
    tellAll(house, zone);
    await showsZone(page, shows, zone);
    await page.mouse.up();
    await pageUntil(`${hash} ${selector} was opened`, async () => !page.url().endsWith(hash));
  }
});

test("dashboard – the log tells no time before its zone is known; after a restart it shows the first lines of the new process", {
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
  const { page, url, setStatus } = await openHouse(t, {
    sensors: sensorsOf(),
    parts: { log },
    status: { timezone: "Asia/Kolkata" },
  });
  let begin = () => {};
  const isBegun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  await page.route("**/api/v1/events", async (route) => {
    await isBegun;
    await route.continue();
  });
  await page.goto(`${url}/#/log`);
  await page.locator(".log-lines").getByText("old 3", { exact: true }).waitFor();
  // The zone comes with the first status: before, no time is told.
  const times = page.locator(".log-lines time");
  assert.deepEqual(new Set(await times.allTextContents()), new Set(["…"]));
  begin();
  await page.locator("html[data-live=live]").waitFor();
  assert.match((await times.first().textContent()) ?? "", /17:30:00$/);
  lines = linesOf("new", 5);
  setStatus({ startedAtMs: Date.now() });
  await page.locator(".log-lines").getByText("new 1", { exact: true }).waitFor();
  assert.equal(await page.locator(".log-lines li").count(), 5);
});

test("dashboard – a number travels with its unit, also where the site file changes it; a time axis is the gateway's where the browser changes its clocks", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const loop = (code: string, unit: string) => ({
    code,
    type: 12,
    name: `Loop ${code}`,
    kinds: ["loop" as const],
    channels: { channel1: { name: "Line", unit, low: 0, high: 10 } },
    location: placeOf(41),
  });
  const house = await openHouse(t, {
    sensors: [loop("1", "bar"), loop("2", "°C"), loop("3", "bar")],
    zone: "Europe/Berlin",
  });
  const { page, url } = house;
  const tell = (sensor: string, unit: string, value: number, timeMs = Date.now()) =>
    house.reading({
      sensor,
      kind: "loop",
      timeMs,
      values: { channel1: value },
      units: { channel1: unit },
    });
  // There the clocks go forward at 01:00 UTC.
  const spring = Date.parse("2026-03-29T00:00Z");
  for (let hour = 0; hour <= 4; hour++) tell("1", "bar", 4, spring + hour * HOUR_MS);
  tell("1", "bar", 4.01);
  tell("2", "°C", 40);
  tell("3", "bar", 4.02);
  // Every text and every row that pairs a value of one unit with the other.
  await page.addInitScript(`{
    window.odd = new Set();
    const look = () => {
      const main = document.querySelector("main");
      const labels = [...document.querySelectorAll("[aria-label]")].map((one) => one.ariaLabel);
      for (const text of [main?.textContent ?? "", ...labels])
        for (const [found] of text.matchAll(/\\b4\\d{3}(\\.\\d+)?[\\s\\u00a0]*bar|\\b4\\.\\d+[\\s\\u00a0]*mbar/g)) window.odd.add(found);
      for (const row of document.querySelectorAll(".latest tr")) {
        const [unit, value] = [row.querySelector(".unit")?.textContent, row.querySelector(".figure")?.textContent];
        if ((unit === " bar") === (Number(value) > 1000) && unit !== undefined) window.odd.add(value + unit);
      }
    };
    addEventListener("load", () => new MutationObserver(look).observe(document.body, {
      subtree: true, childList: true, characterData: true, attributes: true,
    }));
    window.drawn = [];
    const own = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
      window.drawn.push([text, x]);
      return own.call(this, text, x, ...rest);
    };
  }`);
  await page.goto(`${url}/#/sensor/1?with=2,3`);
  const trend = page.locator("[aria-labelledby=trend-title]");
  const says = (text: RegExp) => trend.locator("> .hint").getByText(text).waitFor();
  await says(/4\.0\d to 4\.0\d bar.* is in °C: not drawn\./);
  // The site file says another unit while the page is open; the one that is compared stays.
  house.setSite({ sensors: [loop("1", "mbar"), loop("2", "°C"), loop("3", "bar")] });
  for (const value of [4001, 4002]) tell("1", "mbar", value);
  await page.locator(".latest .unit", { hasText: "mbar" }).waitFor();
  await says(/4002 mbar.*Loop 3 is in bar: not drawn\./);
  assert.equal(
    await page.evaluate("document.querySelector('#trend-value').selectedOptions[0].textContent"),
    "Line (mbar)",
  );
  // And back, in the table.
  await page.evaluate("location.hash = '#/sensors'");
  const cell = page.locator("tr.sensor[data-code='1'] .c-values");
  await cell.getByText("mbar").waitFor();
  house.setSite({ sensors: [loop("1", "bar"), loop("2", "°C"), loop("3", "bar")] });
  tell("1", "bar", 4.03, Date.now() + 1);
  await cell.getByText("4.03", { exact: true }).waitFor();
  assert.deepEqual(await page.evaluate("[...window.odd]"), []);

  await page.evaluate("window.drawn = []");
  const range = "from=2026-03-28T23:30:00Z&to=2026-03-29T04:30:00Z";
  await page.evaluate(`location.hash = "#/sensor/1?${range}"`);
  await says(/from 5 readings/);
  const drawn = await page.evaluate<[string, number][]>("window.drawn");
  const at = new Map(drawn.filter(([text]) => /^\d\d:\d\d$/.test(text)));
  const hours = ["00:00", "01:00", "02:00", "03:00", "04:00"].map((text) => at.get(text) ?? 0);
  const steps = hours.slice(1).map((x, i) => Math.round(x - (hours[i] ?? 0)));
  assert.ok((steps[0] ?? 0) > 20, JSON.stringify([...at]));
  for (const step of steps)
    assert.ok(Math.abs(step - (steps[0] ?? 0)) <= 1, JSON.stringify([...at]));
});

const showsZone = (page: Page, place: string, zone: string) =>
  page
    .locator(place)
    .getByText(new RegExp(`\\b${zone}\\b`))
    .first()
    .waitFor();
