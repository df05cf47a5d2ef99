/** Pages go by the box's time, however wrong the clock of the browser is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/time-units.ts";
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

const SENSOR = "1001";
/** Between a page's request and our look at it. */
const NEAR_MS = 60_000;

/** Its date is another one; what measures durations goes on as it is. */
const clockOff = (ms: number) => `{
  const Real = Date;
  window.Date = class extends Real {
    constructor(...given) { given.length === 0 ? super(Real.now() + ${ms}) : super(...given); }
    static now() { return Real.now() + ${ms}; }
  };
}`;

/** A zone in which it is this hour now, so that the browser is on another day. */
function zoneAtHour(hour: number): string {
  const east = (hour - new Date().getUTCHours() + 36) % 24;
  return `Etc/GMT${east >= 12 ? "-" : "+"}${Math.abs(east - 12)}`;
}

const dayIn = (timeZone: string, ms: number, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat("en-GB", { timeZone, ...options }).format(ms);

for (const [words, offMs, hour] of [
  ["three hours ahead", 3 * HOUR_MS, 22],
  ["three hours behind", -3 * HOUR_MS, 1],
] as const)
  test(`dashboard – with a browser's clock ${words}, ages, times, charts and the calendar are of the box's time`, {
    skip: skipWithoutBrowser,
    timeout: deadlineMs(120_000),
  }, async (t) => {
    const timezone = zoneAtHour(hour);
    const raised = new Date(Date.now() - 20 * MINUTE_MS).toISOString();
    const { alarms } = alarmsOf({
      active: [alarmOf({ severity: "alarm", since: raised, raised })],
    });
    const house = await openHouse(t, {
      sensors: [
        {
          code: SENSOR,
          type: 3,
          name: "Drive end",
          kinds: ["accel"],
          channels: { channel1: { axis: "H" } },
          machineClass: "group2-rigid",
          location: placeOf(40),
        },
      ],
      machines: [{ id: 40, name: "Pump" }],
      alarms,
      status: { timezone },
      options: { timezone },
    });
    const { page, url, requests } = house;
    const readMs = Date.now() - 5 * MINUTE_MS - 20_000;
    house.reading({
      ...vibration(SENSOR, 3.1, "C", readMs),
      waveforms: [{ fileId: 1, channel: 1, axis: "H" }],
    });
    await page.addInitScript(clockOff(offMs));

    await page.goto(`${url}/#/`);
    await page
      .getByRole("row", { name: /Drive end/ })
      .getByText("5 min", { exact: true })
      .waitFor();
    await page.getByText(/^since \d\d:\d\d:\d\d \(2\d\smin\)$/).waitFor();
    assert.ok(Math.abs((await page.evaluate<number>("Date.now()")) - Date.now() - offMs) < NEAR_MS);
    const clock = await page.locator("footer .clock").getAttribute("datetime");
    assert.ok(Math.abs(Date.parse(clock ?? "") - Date.now()) < NEAR_MS, `${clock}`);

    await page.goto(`${url}/#/sensor/${SENSOR}`);
    await page.getByText("5 min ago", { exact: true }).waitFor();
    await endsNow(house, /\/trend\?.*buckets=(?!30&)/, 24 * HOUR_MS);
    await page.getByRole("button", { name: "Date…", exact: true }).click();
    const today = dayIn(timezone, Date.now(), { day: "numeric", month: "long", year: "numeric" });
    await page.locator(".day-panel [aria-current=date]").first().waitFor();
    assert.equal(
      await page.locator(".day-panel [aria-current=date]").first().getAttribute("aria-label"),
      today,
    );

    await page.goto(`${url}/#/alarms`);
    const time = page.locator("tr.alarm time").first();
    await time.waitFor();
    // Of today: without a date.
    await pageUntil("its time", async () =>
      /^\d\d:\d\d(:\d\d)?$/.test((await time.textContent()) ?? ""),
    );

    await page.goto(`${url}/#/machine/40/report`);
    await pageUntil("the report is asked for", async () =>
      requests.some((one) => one.includes("/report?")),
    );
    const from = new URL(requests.findLast((one) => one.includes("/report?")) ?? "").searchParams;
    assert.ok(
      Math.abs(Date.parse(from.get("from") ?? "") + 30 * DAY_MS - Date.now()) < NEAR_MS,
      `${from}`,
    );

    await page.goto(`${url}/#/`);
    await page.locator("html[data-live=live]").waitFor();
    const stoppedMs = Date.now();
    await house.stop();
    const sign = page.locator(".state-link", { hasText: /^Not live since \d\d:\d\d:\d\d$/ });
    await sign.waitFor();
    const heard = /\d\d:\d\d:\d\d/.exec((await sign.textContent()) ?? "")?.[0] ?? "";
    const wanted = dayIn(timezone, stoppedMs, { timeStyle: "medium" });
    const apart = Math.abs(secondsOf(heard) - secondsOf(wanted));
    assert.ok(Math.min(apart, 86_400 - apart) < 30, `${heard}, not ${wanted}`);
    await page.getByText(/^No data from the agent since .* \(\d+\ss ago\)/).waitFor();
  });

const secondsOf = (time: string) =>
  time.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);

/** The newest request for such a path is for the time up to the box's now. */
async function endsNow({ requests }: PageHouse, path: RegExp, spanMs: number): Promise<void> {
  const newest = () => requests.findLast((one) => path.test(one));
  await pageUntil(`a request like ${path}`, async () => newest() !== undefined);
  const { searchParams } = new URL(newest() ?? "");
  const [from, to] = ["from", "to"].map((name) => Date.parse(searchParams.get(name) ?? ""));
  assert.ok(Math.abs((to ?? 0) - Date.now()) < NEAR_MS, `ends ${searchParams.get("to")}`);
  assert.equal((to ?? 0) - (from ?? 0), spanMs);
}
