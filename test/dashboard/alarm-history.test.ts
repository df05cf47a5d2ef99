/** The history of alarms has no hole, whatever comes while somebody reads it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownEvent } from "../../src/core/alarm/shown.ts";
import { type KnownEvents, withNewest, withOlder } from "../../src/dashboard/known-events.ts";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { alarmOf, alarmsOf, openHouse, placeOf } from "../support/page-house.ts";

type Event = ShownEvent & { readonly seq: number };

const idOf = (n: number) => n.toString(16).padStart(32, "0");
const eventOf = (seq: number): Event => ({
  ...alarmOf({ id: idOf(seq) }),
  severity: "warning",
  text: `Event ${seq}.`,
  time: new Date(Date.parse("2026-11-20T00:00:00Z") + seq * 60_000).toISOString(),
  seq,
});
/** The newest first. */
const fromTo = (newest: number, oldest: number): Event[] =>
  Array.from({ length: newest - oldest + 1 }, (_, i) => eventOf(newest - i));
const page = (newest: number, oldest: number): KnownEvents => ({
  events: fromTo(newest, oldest),
  before: oldest === 1 ? null : oldest,
});
const numbers = ({ events }: Pick<KnownEvents, "events">) =>
  events.map(({ id }) => Number.parseInt(id, 16));
const row = (newest: number, oldest: number) =>
  Array.from({ length: newest - oldest + 1 }, (_, i) => newest - i);

test("alarm history – the newest page joins what was loaded; where it does not reach it, the older ones go, not those between", () => {
  const loaded = withOlder(page(250, 151), page(150, 51));
  assert.deepEqual([numbers(loaded), loaded.before], [row(250, 51), 51]);
  const moved = withNewest(loaded, page(257, 158));
  assert.deepEqual([numbers(moved), moved.before], [row(257, 51), 51]);
  // The last page was loaded: there is nothing older to ask for.
  const whole = withNewest(withOlder(moved, page(50, 1)), page(260, 161));
  assert.deepEqual([numbers(whole), whole.before], [row(260, 1), null]);
  // More than a page holds came at once.
  const far = withNewest(loaded, page(400, 301));
  assert.deepEqual([numbers(far), far.before], [row(400, 301), 301]);
  // A page that is asked for twice is there once.
  assert.deepEqual(numbers(withOlder(loaded, page(150, 51))), row(250, 51));
});

test("dashboard – the history of alarms keeps its older pages without a hole while new events come", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const { table, alarms } = alarmsOf({ events: fromTo(250, 1) });
  const sensors = [
    { code: "1001", type: 3, kinds: ["accel" as const], channels: {}, location: placeOf(40) },
  ];
  const house = await openHouse(t, { sensors, alarms });
  const { page } = house;
  const shown = async () =>
    (
      await page.evaluate<string[]>(
        "[...document.querySelectorAll('[data-alarm]')].map((one) => one.dataset.alarm)",
      )
    ).map((id) => Number.parseInt(id, 16));
  const shows = async (newest: number, oldest: number) => {
    let seen: readonly number[] = [];
    const wanted = row(newest, oldest).join();
    await pageUntil(
      () => `${newest} to ${oldest}, not ${seen.join(" ")}`,
      async () => {
        seen = await shown();
        return seen.join() === wanted;
      },
    );
  };
  const older = page.getByRole("button", { name: "Show older" });
  await page.goto(`${house.url}/#/alarms?list=history`);
  await shows(250, 151);
  await older.click();
  await shows(250, 51);
  table.events.unshift(...fromTo(257, 251));
  await shows(257, 51);
  await older.click();
  await shows(257, 1);
  assert.equal(await older.isVisible(), false);
  // More than a page holds: from there on, everything can be asked for again.
  table.events.unshift(...fromTo(400, 258));
  await shows(400, 301);
  for (const oldest of [201, 101, 1]) {
    await older.click();
    await shows(400, oldest);
  }
});
