/** What `gateside fleet` prints of a fleet that is larger than a screen. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fleetText } from "../../src/cli/fleet-text.ts";
import { type BoxFacts, type FleetBox, fleetBox } from "../../src/collect/fleet/box.ts";

function box(n: number, more: Partial<FleetBox> = {}): FleetBox {
  return {
    site: `plant-${n}`,
    state: "online",
    version: "0.3.0",
    configuration: "0123456789ab",
    pendingRestart: [],
    newestReadingAgeS: 30,
    isClockAhead: false,
    behindS: null,
    statsAgeS: 20,
    isUnheard: false,
    offlineSince: null,
    backlog: 0,
    hoursUntilFull: 900,
    sensors: 50,
    silentSensors: [],
    alarms: { warning: 0, alarm: 0 },
    needsHands: [],
    ...more,
  };
}

test("fleet – of 300 boxes, those that need attention are listed, and the others are a number", () => {
  const boxes = Array.from({ length: 300 }, (_, n) => {
    if (n < 4) return box(n, { state: "offline", needsHands: ["offline (connection lost)"] });
    if (n < 7) return box(n, { behindS: 9e4, version: "0.2.0", needsHands: ["behind by 1 day"] });
    if (n < 9) return box(n, { silentSensors: ["1", "2"], needsHands: ["2 silent sensors"] });
    return box(n);
  });
  const lines = fleetText(boxes, "folded").trimEnd().split("\n");
  assert.equal(lines.length, 1 + 9 + 1 + 3);
  assert.deepEqual(lines.slice(-3), [
    "291 more work (--all lists them)",
    "300 boxes, 9 need attention: 4 offline, 3 behind, 4 silent sensors",
    "versions: 0.3.0 (297), 0.2.0 (3)",
  ]);
  assert.ok(Math.max(...lines.map(({ length }) => length)) <= 140);
  assert.equal(fleetText(boxes, "all").trimEnd().split("\n").length, 1 + 300 + 1 + 2);
  assert.equal(fleetText(boxes, "attention").trimEnd().split("\n").length, 1 + 9 + 1 + 2);
});

test("fleet – every box that needs attention is in a count of the summary, each once", () => {
  const boxes = Array.from({ length: 30 }, (_, n) => {
    if (n < 2) return box(n, { isUnheard: true, needsHands: ["silent for 5 hours"] });
    if (n < 3) return box(n, { isUnheard: true, behindS: 9e4, needsHands: ["behind by 1 day"] });
    if (n < 4) return box(n, { needsHands: ["gateway down"] });
    return box(n);
  });
  assert.match(
    fleetText(boxes, "folded"),
    /^30 boxes, 4 need attention: 1 behind, 2 not heard from, 1 with other faults$/m,
  );
});

test("fleet – a box is not heard from without statistics for five minutes, unless it says that it is offline", () => {
  const nowMs = Date.UTC(2026, 10, 20, 12);
  const heard = (statsAgeS: number | null, state = "online") => {
    const facts: BoxFacts = {
      site: "plant-1",
      state: { state },
      stats: statsAgeS === null ? null : {},
      stateReceivedMs: nowMs,
      statsReceivedMs: statsAgeS === null ? null : nowMs - statsAgeS * 1000,
      areTwo: false,
      newestReadingMs: null,
      readingDueMs: null,
      firstHeardMs: null,
      horizonMs: null,
      sensors: [],
      alarms: [],
    };
    const { isUnheard, needsHands } = fleetBox(facts, nowMs);
    return [isUnheard, ...needsHands];
  };
  assert.deepEqual(heard(299), [false]);
  assert.deepEqual(heard(5 * 3600), [true, "silent for 5 hours"]);
  assert.deepEqual(heard(null), [true, "no statistics"]);
  assert.deepEqual(heard(5 * 3600, "offline"), [false, "offline"]);
});

test("fleet – statistics of another run than the one that came online before them are those of another box", () => {
  const nowMs = Date.UTC(2026, 10, 20, 12);
  const started = { time: "2026-11-20T11:59:00Z" };
  const needs = (run: string, statsReceivedMs: number, stats: object = {}) =>
    fleetBox(
      {
        site: "plant-1",
        state: { state: "online", run: "aaaaaaaa", ...started },
        stats: { run, ...stats },
        stateReceivedMs: nowMs - 60_000,
        statsReceivedMs,
        areTwo: false,
        newestReadingMs: null,
        readingDueMs: null,
        firstHeardMs: null,
        horizonMs: null,
        sensors: [],
        alarms: [],
      },
      nowMs,
    ).needsHands;
  assert.deepEqual(needs("aaaaaaaa", nowMs), []);
  assert.deepEqual(needs("bbbbbbbb", nowMs - 61_000), []);
  assert.deepEqual(needs("bbbbbbbb", nowMs), ["two boxes publish as this site"]);
  // Of the run before that start: a collector that was away gets both at once.
  assert.deepEqual(needs("bbbbbbbb", nowMs, { time: "2026-11-20T11:58:50Z" }), []);
  assert.equal(needs("bbbbbbbb", nowMs, { time: "2026-11-20T11:59:10Z" }).length, 1);
});

test("fleet – a small one is listed whole; without boxes there is only the number", () => {
  const boxes = [box(1), box(2, { state: "offline", needsHands: ["offline"] })];
  const text = fleetText(boxes, "folded");
  assert.match(text, /plant-1 /);
  assert.match(text, /^2 boxes, 1 needs attention$/m);
  assert.equal(fleetText([], "folded"), "0 boxes, 0 need attention\n");
});

test("fleet – a box in its first backfill is not behind for an hour; one whose readings of its own time wait is", () => {
  const nowMs = Date.UTC(2026, 10, 20, 12);
  const pending = (firstHeardHoursAgo: number | null, uptimeS: number) => {
    const facts: BoxFacts = {
      site: "plant-1",
      state: { state: "online" },
      stats: { uptimeS, buffer: { depth: 9, oldestAgeS: 39 * 3600 } },
      stateReceivedMs: nowMs,
      statsReceivedMs: nowMs,
      areTwo: false,
      newestReadingMs: nowMs,
      readingDueMs: null,
      firstHeardMs: firstHeardHoursAgo === null ? null : nowMs - firstHeardHoursAgo * 3_600_000,
      horizonMs: null,
      sensors: [],
      alarms: [],
    };
    return fleetBox(facts, nowMs).needsHands;
  };
  assert.deepEqual(pending(1, 3600), []);
  assert.deepEqual(pending(300, 3600), ["behind by 39 hours, 9 readings"]);
  // Retained topics alone.
  assert.deepEqual(pending(null, 3600), []);
  assert.deepEqual(pending(null, 40 * 3600), ["behind by 39 hours, 9 readings"]);
  for (const firstHeardHoursAgo of [1.1, null])
    assert.deepEqual(pending(firstHeardHoursAgo, 3601), ["behind by 39 hours, 9 readings"]);
});

test("fleet – an offline box says since when; a will is dated by its arrival", () => {
  const since = box(1, {
    state: "offline",
    offlineSince: "2026-11-20T08:15:30.000Z",
    needsHands: ["offline (connection lost)"],
  });
  assert.match(fleetText([since], "all"), /offline \(connection lost\) since 2026-11-20 08:15 UTC/);
});

test("fleet – what a box calls its version sends nothing to the terminal", () => {
  const boxes = Array.from({ length: 30 }, (_, n) =>
    box(n, n === 0 ? { version: "\u001b]0;owned\u0007\u001b[2J" } : {}),
  );
  assert.doesNotMatch(fleetText(boxes, "folded").replaceAll("\n", ""), /\p{Cc}/u);
});
