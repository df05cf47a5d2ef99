import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineFailures } from "../../../src/core/engine-failures.ts";
import type { Site } from "../../../src/core/site.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { inOneGo } from "../../../src/core/steps.ts";
import { createMachines } from "../../../src/features/machines/machines.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { oneStep } from "../../../src/pipeline/store/database/write-job.ts";
import { machinesOf } from "../../support/machines-of.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { append, readingOf, START_MS, tempStore } from "../../support/temp-database.ts";

const SITE: Site = {
  site: "plant-7",
  sensors: [
    {
      code: "200",
      type: 3,
      kinds: ["accel"],
      channels: {},
      location: { company: 1, area: 1, machine: 40, point: 1 },
    },
    { code: "300", type: 6, kinds: ["rpm"], channels: {} },
  ],
  machines: [{ id: 40, running: { sensor: "300", kind: "rpm", value: "rpm", above: 300 } }],
};
const site = fixedSite(SITE);
const clock = new ManualClock(START_MS);
const rpm = (minute: number) =>
  readingOf("300", START_MS + minute * 60_000, { values: { rpm: 1480 } });

test("machines – if the rules of signals fail, readings are stored and what follows goes on, and it stands until they work", async (t) => {
  const store = tempStore(t, { clock });
  const failures = new EngineFailures({ clock, logger: silentLogger });
  const machines = createMachines({
    site,
    clock,
    failures,
    tables: store.tables,
    readings: { history: store.history },
    settings: { gatewayTimezone: "UTC" },
    pendingDays: () => [],
  });
  inOneGo(machines.begin());
  let followed = 0;
  const after = {
    stored: (_tx: unknown, _of: unknown, fresh: { length: number }) =>
      void (followed += fresh.length),
  };
  store.steps.list = [machines, after];
  const note = machines.wait.note.bind(machines.wait);
  machines.wait.note = () => {
    throw new Error("a bug");
  };
  assert.equal(await append(store, [rpm(0)]), 1);
  assert.deepEqual(failures.standing, [
    { engine: "alarms", lastError: "a bug", sinceMs: START_MS },
  ]);
  machines.wait.note = note;
  assert.equal(await append(store, [rpm(1)]), 1);
  assert.deepEqual(failures.standing, []);
  assert.equal(followed, 2);
  assert.deepEqual(machines.machineAt("200", START_MS + 90_000), {
    running: true,
    speedRpm: null,
  });
});

test("machines – what waits is read again when the file of the store was opened again", async (t) => {
  const store = tempStore(t, { clock });
  const [here, elsewhere] = [machinesOf(site, store, clock), machinesOf(site, store, clock)];
  inOneGo(here.begin());
  const of = { purpose: "alarm", sensor: "200", kind: "accel", isLate: false } as const;
  const isJudged = await store.tables.queue.enqueue(
    oneStep("wait", 1, (tx) => elsewhere.wait.admit(tx, of, START_MS, () => "{}")),
    0,
  );
  assert.equal(isJudged, false);
  assert.equal(here.wait.firstWaitingMs("200", "accel"), null);
  store.steps.list = [here];
  for (const steps of store.steps.list) steps.load?.();
  assert.equal(here.wait.firstWaitingMs("200", "accel"), START_MS);
});
