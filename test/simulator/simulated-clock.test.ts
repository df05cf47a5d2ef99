import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../src/simulator/simulated-clock.ts";
import { ManualClock } from "../support/manual-clock.ts";

test("plant time – continues from the current time when its speed changes, also on a system clock that was set", async () => {
  const clock = new ManualClock(0);
  const plant = new SimulatedClock(clock, { speed: 20, startMs: 1_000_000, offsetMs: 500 });
  await clock.advance(1000);
  assert.equal(plant.trueNow(), 1_020_000);
  plant.setSpeed(1);
  assert.equal(plant.trueNow(), 1_020_000);
  await clock.advance(1000);
  assert.equal(plant.trueNow(), 1_021_000);
  assert.equal(plant.now(), 1_021_500);
});
