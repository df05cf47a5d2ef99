/** Healthy machines of kinds that no rule was made with: any finding is wrong. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, engineFor, readingOf, START_MS } from "../../../scripts/diagnosis/exam-engine.ts";
import { healthyPlant, healthyRecord, KINDS } from "../../../scripts/diagnosis/healthy-plant.ts";
import { randomOf } from "../../../scripts/diagnosis/random-numbers.ts";
import { UnitOfWork } from "../../../src/core/tx.ts";

const MACHINES = 3;
const DAYS = 18;
/** Of nineteen elements at 3,560 r/min, whose smooth lines lie in the envelope's own band: one is at 2 × BSF. */
const IN_THE_ENVELOPE = [6_205_912, 7_670_927];

for (const [k, kind] of KINDS.entries()) {
  const seeds = Array.from({ length: MACHINES }, (_, i) => 4001 + 97 * (MACHINES * k + i));
  test(`healthy machines with other lines than the rules knew have no finding: ${kind}`, () => {
    for (const seed of kind === "compliant" ? [...seeds, ...IN_THE_ENVELOPE] : seeds) {
      const random = randomOf(seed);
      const plant = healthyPlant(kind, random);
      const { engine, speed } = engineFor(
        { lineHz: 50, bearings: [{ point: 1, ...plant.bearing }] },
        "stated",
      );
      for (let day = 0; day < DAYS; day++) {
        const load = plant.loadAt(day * DAY_MS, random);
        const record = healthyRecord(plant, load, 1 - plant.swing * random(), random);
        speed.rpm = record.speedRpm;
        const timeMs = START_MS + day * DAY_MS;
        const reading = readingOf(record.channels, plant.sampleRateHz, timeMs);
        const tx = new UnitOfWork();
        const { events } = engine.follow(tx, "1", "accel", [reading]);
        tx.committed();
        const found = events.filter(({ state }) => state === "active").map(({ value }) => value);
        assert.deepEqual(found, [], `${plant.bearing.name}, ${plant.plan}, day ${day}`);
      }
    }
  });
}
