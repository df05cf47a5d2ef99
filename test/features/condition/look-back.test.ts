/** What costs time, looking back over days, reaches every machine, however many there are and whatever else is due. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../../src/core/ports.ts";
import { MachineConditions } from "../../../src/features/condition/machine-conditions.ts";
import type { Cleanup } from "../../support/temp-database.ts";
import { NOW, openMachines } from "./machine-plant.ts";

const IDS = Array.from({ length: 60 }, (_, at) => at + 1);
const FEW = IDS.slice(0, 8);

/** Machines whose outlooks take this long each, by a clock of their own. */
async function slowPlant(t: Cleanup, ids: readonly number[], costMs: (id: number) => number) {
  const plant = await openMachines(t, ids);
  for (const id of ids) await plant.read(`${id}`, NOW - 60_000, 2, "B");
  let spentMs = 0;
  const dayMedians = { changes: 0, of: () => [] };
  const clock: Clock = {
    now: () => plant.clock.now(),
    monotonic: () => plant.clock.monotonic() + spentMs,
    sleep: (ms, signal) => plant.clock.sleep(ms, signal),
  };
  const asked: number[] = [];
  const outlook = (id: number) => {
    asked.push(id);
    spentMs += costMs(id);
    return [];
  };
  const conditions = new MachineConditions({ ...plant.parts, clock, dayMedians, outlook });
  const told = async () =>
    (await conditions.worstFirst()).filter(({ changed }) => changed !== null).length;
  return { asked, clock: plant.clock, conditions, dayMedians, told };
}

test("machines – the work of 60 goes on where it stopped, also while days are read, and what is known stays", async (t) => {
  const { asked, dayMedians, told } = await slowPlant(t, IDS, () => 30);
  const counts: number[] = [];
  for (let look = 0; look < 4; look++) {
    // Days are being read: what was made before is old.
    dayMedians.changes += 1;
    counts.push(await told());
  }
  assert.deepEqual(counts, [17, 34, 51, 60]);
  assert.deepEqual(asked, [...IDS, ...IDS.slice(0, 8)]);
});

test("machines – each look gets at least one further, however slow it is", async (t) => {
  const { asked, told } = await slowPlant(t, FEW, () => 600);
  for (let look = 1; look <= FEW.length; look++) assert.equal(await told(), look);
  assert.deepEqual(asked, FEW);
});

test("machines – after one answer the rest is computed without being asked for again", async (t) => {
  const { clock, conditions, told, asked } = await slowPlant(t, IDS, () => 30);
  const stop = new AbortController();
  const running = conditions.run(stop.signal);
  await told();
  assert.equal(asked.length, 17);
  for (let step = 0; step < 2_000 && asked.length < 60; step++) await clock.advance(100);
  assert.equal(asked.length, 60);
  stop.abort();
  await running;
});

test("machines – one that fails keeps no other from its turn", async (t) => {
  const { conditions, told } = await slowPlant(t, FEW, (id) => {
    if (id === 3) throw new Error("damaged");
    return 600;
  });
  for (let look = 0; look < FEW.length + 2; look++) await told().catch(() => 0);
  const known = conditions.current.filter(({ members }) => members.changed !== null);
  assert.deepEqual(
    known.map(({ id }) => id),
    FEW.filter((id) => id !== 3),
  );
});
