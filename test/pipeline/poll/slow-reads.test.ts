/** Sensors whose reads end only at a time limit. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { ManualClock } from "../../support/manual-clock.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const LIMIT_MS = 30_000;
const INTERVAL_MS = 5_000;
const MINUTE_MS = 60_000;
const TODAY = "2026-11-20";

const sensor = (code: string): Sensor => ({ code, type: 40, kinds: ["rpm"], channels: {} });

/** Polls these sensors for ten minutes; returns the times of each one's reads of the current day, ms since the start. */
async function pollFor(
  t: TestContext,
  codes: readonly string[],
  hangs: (code: string, day: string, clock: ManualClock) => boolean,
  concurrency: number,
) {
  const reads = new Map(codes.map((code) => [code, [] as number[]]));
  const ending = new AbortController();
  t.after(() => ending.abort());
  const { clock, poller } = startPoller(t, {
    site: { site: "p", sensors: codes.map(sensor) },
    backfillDays: 7,
    intervalMs: INTERVAL_MS,
    concurrency,
    async readDay(request, own) {
      if (request.day === TODAY) reads.get(request.sensor.code)?.push(own.monotonic());
      if (hangs(request.sensor.code, request.day, own)) {
        await own.sleep(LIMIT_MS, ending.signal);
        return {
          ok: false,
          durationMs: LIMIT_MS,
          failureClass: "transient",
          isGatewayFault: false,
          retryAfterMs: null,
          message: "no response",
        };
      }
      await own.sleep(10, ending.signal);
      request.gatewayNow(own.now());
      return GOOD_READ;
    },
  });
  await clock.advance(10 * MINUTE_MS);
  return { reads, clock, poller };
}

/** Longest pause between two of them after the first three minutes, ms. */
function longestPause(times: readonly number[], endMs: number): number {
  const late = [...times.filter((ms) => ms > 3 * MINUTE_MS), endMs];
  return Math.max(...late.map((ms, n) => ms - (late[n - 1] ?? 3 * MINUTE_MS)));
}

test("slow reads – two sensors that never answer do not delay a third, however many days of theirs are due", async (t) => {
  const { reads, clock } = await pollFor(t, ["a", "b", "c"], (code) => code !== "c", 2);
  assert.ok(longestPause(reads.get("c") ?? [], clock.monotonic()) <= INTERVAL_MS + 1_000);
  // They are tried on.
  for (const code of ["a", "b"])
    assert.ok((reads.get(code) ?? []).some((ms) => ms > 3 * MINUTE_MS));
});

test("slow reads – at a start, two sensors that never answer delay the others by one time limit, not by two", async (t) => {
  const { reads } = await pollFor(t, ["a", "b", "c", "d"], (code) => code < "c", 2);
  for (const code of ["c", "d"]) assert.ok((reads.get(code)?.[0] ?? Infinity) <= LIMIT_MS + 1_000);
});

test("slow reads – past days that never answer delay the current day of their own sensor neither", async (t) => {
  const { reads, clock } = await pollFor(t, ["a", "b"], (_, day) => day !== TODAY, 2);
  for (const code of ["a", "b"])
    assert.ok(longestPause(reads.get(code) ?? [], clock.monotonic()) <= INTERVAL_MS + 1_000);
});

test("slow reads – of one slot they get what there is, and a gateway that answers again is read as before", async (t) => {
  const back = 5 * MINUTE_MS;
  const isAway = (_code: string, _day: string, clock: ManualClock) => clock.monotonic() < back;
  const { reads, clock, poller } = await pollFor(t, ["a", "b"], isAway, 1);
  assert.equal(poller.hasReadAll, true);
  for (const code of ["a", "b"])
    assert.ok((reads.get(code) ?? []).some((ms) => clock.monotonic() - ms <= INTERVAL_MS + 1_000));
});
