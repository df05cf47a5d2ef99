import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dailyMs,
  dueAt,
  looked,
  OTHERS_MS,
  type SentMachine,
  sentNow,
} from "../../../../src/features/condition/rules/machine-pace.ts";

const HOUR = 3_600_000;
const PACE = { othersMs: OTHERS_MS };
const DAY = dailyMs("plant-7", 40);

/** Looks every second at what a machine says then; when messages were sent, s. */
function sentBy(
  stateAt: (s: number) => { readonly change: string; readonly rest?: string },
  seconds: number,
  pace: { readonly othersMs: number | null } = PACE,
): number[] {
  let sent: SentMachine | undefined;
  const times: number[] = [];
  for (let s = 0; s < seconds; s++) {
    const { change, rest = "" } = stateAt(s);
    const state = { keys: { change, rest }, isAlarm: change.startsWith("alarm"), session: 1 };
    sent &&= looked(sent, state);
    if (s * 1000 < dueAt(sent, state, pace, DAY, s * 1000)) continue;
    sent = sentNow(sent, state, s * 1000);
    times.push(s);
  }
  return times;
}

test("pace – a change waits for ten seconds after the last message, the newest counts, and one that is over is not told", () => {
  assert.deepEqual(
    sentBy((s) => ({ change: s < 3 ? "ok" : "warning" }), 60),
    [0, 10],
  );
  assert.deepEqual(
    sentBy((s) => ({ change: s === 3 ? "warning" : "ok" }), 60),
    [0],
  );
});

test("pace – an alarm goes at once, six times in a minute; a seventh waits, and each begins the ten seconds anew", () => {
  assert.deepEqual(
    sentBy((s) => ({ change: s < 3 ? "ok" : "alarm" }), 60),
    [0, 3],
  );
  // Flaps every second, each time as a new alarm: six at once in any minute, and no seventh.
  const flapping = (s: number) => ({ change: s % 2 === 1 ? `alarm since ${s}` : "ok" });
  const times = sentBy(flapping, 3600);
  const atOnce = times.filter((at, i) => i > 0 && at - (times[i - 1] ?? 0) < 10);
  assert.ok(atOnce.every((at) => flapping(at).change !== "ok"));
  const counts = Array.from(
    { length: 3600 },
    (_, s) => atOnce.filter((at) => at > s - 60 && at <= s).length,
  );
  assert.equal(Math.max(...counts), 6);
  assert.deepEqual(times.slice(0, 9), [0, 1, 3, 5, 7, 9, 11, 21, 31]);
  // The same alarm again says nothing new.
  assert.deepEqual(
    sentBy((s) => ({ change: s % 2 === 1 ? "alarm" : "ok" }), 13),
    [0, 1, 12],
  );
});

test("pace – other members alone go after 15 minutes, at the uplink's pace, or never; unchanged once a day", () => {
  const others = (s: number) => ({ change: "ok", rest: String(s) });
  assert.deepEqual(sentBy(others, 2000), [0, 900, 1800]);
  assert.deepEqual(sentBy(others, 2000, { othersMs: 600_000 }), [0, 600, 1200, 1800]);
  assert.deepEqual(sentBy(others, 2000, { othersMs: null }), [0]);
  const daily = sentBy(() => ({ change: "ok" }), 30 * 3600, { othersMs: null });
  assert.deepEqual(daily, [0, Math.ceil(DAY / 1000)]);
});

test("pace – machines are spread over an hour of the day, the same ones at the same time", () => {
  const times = Array.from({ length: 300 }, (_, id) => dailyMs("plant-7", id));
  for (const ms of times) assert.ok(ms > 23 * HOUR && ms <= 24 * HOUR);
  const minutes = new Set(times.map((ms) => Math.floor(ms / 60_000)));
  assert.ok(minutes.size > 45, `${minutes.size} different minutes`);
  assert.equal(dailyMs("plant-7", 7), times[7]);
});

test("pace – in another session the newest goes again, ten seconds after the last at the earliest", () => {
  const keys = { change: "ok", rest: "" };
  const sent = sentNow(undefined, { keys, isAlarm: false, session: 1 }, 5_000);
  assert.equal(dueAt(sent, { keys, isAlarm: false, session: 2 }, PACE, DAY, 6_000), 15_000);
});
