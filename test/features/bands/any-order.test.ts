/** Records and speeds in any order – late, of one time, newest – with looks and restarts between, against a model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { median } from "../../../src/core/lists/median.ts";
import { bandBench, MINUTE_MS } from "../../support/band-bench.ts";
import type { Cleanup } from "../../support/temp-database.ts";

type Step =
  | { readonly does: "record"; readonly minute: number }
  | { readonly does: "speed"; readonly minute: number; readonly rpm: number }
  | { readonly does: "look" | "restart" | "hour" };

const minute = fc.integer({ min: 0, max: 12 }).map((n) => n * 5);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant("record" as const), minute }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant("speed" as const),
      minute,
      rpm: fc.integer({ min: 1200, max: 1500 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ does: "look" as const }) },
  { weight: 1, arbitrary: fc.constant({ does: "restart" as const }) },
  { weight: 1, arbitrary: fc.constant({ does: "hour" as const }) },
);
/** After everything else, min. */
const END = 61;

/** Whether the speed at a time is known: the newest one at or before it is at most three intervals old. */
function isKnown(minutes: readonly number[], at: number): boolean {
  const before = [...new Set(minutes)].filter((one) => one <= at).toSorted((a, b) => a - b);
  const newest = before.at(-1);
  const steps = before
    .slice(-10)
    .flatMap((one, i, all) => (i === 0 ? [] : one - (all[i - 1] ?? 0)));
  const interval = steps.length < 2 ? 10 : median(steps);
  return newest !== undefined && at - newest <= 3 * interval;
}

async function lived(t: Cleanup, steps: readonly Step[]): Promise<void> {
  const b = bandBench(t);
  const records = new Map<string, number>();
  const speeds: { readonly minute: number; readonly rpm: number }[] = [];
  const settle = async (minutes: number) => {
    await b.clock.advance(minutes * MINUTE_MS);
    await b.look();
  };
  await b.look();
  for (const [at, one] of [
    ...steps,
    { does: "speed", minute: END, rpm: 1300 } as const,
  ].entries()) {
    if (one.does === "record") records.set((await b.vibration(one.minute, `${at}`)).id, one.minute);
    if (one.does === "speed") {
      await b.rpm(one.minute, one.rpm, `${at}`);
      speeds.push(one);
    }
    if (one.does === "look") await b.look();
    if (one.does === "restart") await b.restart();
    if (one.does === "hour") await settle(60);
  }
  // What waits is held for half an hour at most; what has no speed is looked at again each minute.
  await settle(31);
  await settle(2);

  const stored = b.stored();
  const made = stored.map(({ attributes }) => String(JSON.parse(attributes).record_id));
  assert.equal(new Set(made).size, made.length, "none twice");
  assert.equal(b.made.length, made.length, "each is told once");
  const minutes = speeds.map((speed) => speed.minute);
  for (const [id, at] of records) {
    const reading = stored[made.indexOf(id)];
    if (reading === undefined) {
      assert.ok(!isKnown(minutes, at), `the record of minute ${at} has none`);
      continue;
    }
    assert.equal(reading.timeMs, b.timeOf(at));
    const speedMs = Date.parse(JSON.parse(reading.attributes).speed_time);
    assert.ok(speedMs <= reading.timeMs, "no speed of later");
    const of = speeds.filter((speed) => b.timeOf(speed.minute) === speedMs);
    const rpm = JSON.parse(reading.values).speed_rpm;
    assert.ok(
      of.some((speed) => speed.rpm === rpm),
      `${rpm} rpm of minute ${at}`,
    );
    records.delete(id);
    made[made.indexOf(id)] = "";
  }
  assert.deepEqual(
    made.filter((id) => id !== ""),
    [],
    "none without a record",
  );
}

test("bands – whatever order records and speeds come in, each record gets its bands once, and by a speed of before", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      const ends: (() => void | Promise<void>)[] = [];
      try {
        await lived({ after: (end) => void ends.push(end) }, steps);
      } finally {
        for (const end of ends.toReversed()) await end();
      }
    }),
    { numRuns: 15 },
  );
});
