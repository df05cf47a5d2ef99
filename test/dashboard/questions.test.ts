/** The eleven questions of one minute, over the built program, on a telephone. `npm run questions` asks at four sizes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { failingBearing } from "../support/failing-bearing.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { askAll, QUESTIONS } from "../support/questions.ts";

test("dashboard – eleven questions about the worst machine are answered in at most three clicks each", {
  skip: skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { plant } = await failingBearing(t, { historyDays: 0.1, speed: 20, accelS: 120 });
  const events = await plant.subscribe();
  const address = await plant.startAgent().address;
  await events.waitUntil(
    () => events.messages.some(({ text }) => text.includes("bearing_outer_race")),
    60_000,
  );
  const { page, complaints } = await openBrowser(t, { width: 390, height: 844 });
  const counts = await askAll(page, address, QUESTIONS, async () => {});
  assert.equal(Object.keys(counts).length, 11);
  // A page that is left ends its live stream.
  assert.deepEqual(
    complaints.filter((one) => !one.includes("/api/v1/events: net::ERR_ABORTED")),
    [],
  );
});
