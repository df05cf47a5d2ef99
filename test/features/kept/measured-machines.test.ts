/** What the choice of measurements asks about machines while the days of their signals are still being read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fixedSite } from "../../../src/core/site-source.ts";
import type { StoredReading } from "../../../src/core/stored-reading.ts";
import { DAY_MS } from "../../../src/core/time-units.ts";
import { MachinesOverHistory } from "../../../src/features/kept/measured-machines.ts";
import { Wait } from "../../../src/features/machines/rules/wait.ts";
import { PUMP, siteWith, T0 } from "../alarms/support.ts";

const SITE = siteWith([], [{ ...PUMP, speed: { sensor: "50021" } }]);
const today = "2026-11-20";

/** Machines over speeds that can be added to, r/min (negative: dated ahead by a wrong clock), and days of them that can still be pending. */
function open() {
  const speeds: number[] = [];
  const pending = new Set([today]);
  const wait = new Wait(SITE, { pendingDays: () => [...pending] });
  const stored = (rpm: number, n: number) =>
    ({
      timeMs: T0 - n * 60_000,
      values: JSON.stringify({ rpm: Math.abs(rpm) }),
      attributes: rpm < 0 ? '{"flags":["time_in_future"]}' : "{}",
    }) as StoredReading;
  const machines = new MachinesOverHistory({
    site: fixedSite(SITE),
    wait,
    history: { range: () => speeds.map(stored) },
    rest: () => Promise.resolve(),
  });
  return { machines, pending, speeds };
}

test("machines – a time is awaited while that day of their signals, or one before it, is still to be read", () => {
  const { machines, pending } = open();
  const isAwaited = (sensor: string, days: number) =>
    machines.isAwaited(sensor, T0 - days * DAY_MS);
  pending.add("2026-11-15");
  assert.deepEqual(
    [6, 5, 4].map((days) => isAwaited("10234", days)),
    [false, true, true],
  );
  // Of no machine.
  assert.equal(isAwaited("99", 5), false);
  pending.delete("2026-11-15");
  assert.equal(isAwaited("10234", 4), false);
});

test("machines – the usual speed of a part of the days does not hold for a day, and none of a clock that runs ahead counts", async () => {
  const { machines, pending, speeds } = open();
  const usual = async (nowMs: number) => {
    await machines.refresh(nowMs);
    return machines.usualRpm("10234");
  };
  pending.add("2026-11-15");
  assert.equal(await usual(T0), null);
  speeds.push(-700, 1480, -700, 1490, -700, 1500, -700);
  assert.equal(await usual(T0 + 60_000), 1490);
  pending.delete("2026-11-15");
  speeds.push(1500, 1500);
  assert.equal(await usual(T0 + 120_000), 1500);
  speeds.push(900, 900, 900, 900, 900, 900);
  assert.equal(await usual(T0 + 180_000), 1500);
  assert.equal(await usual(T0 + 2 * DAY_MS), 900);
});
