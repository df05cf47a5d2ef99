import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Site } from "../../../src/core/site.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import type { ConditionParts } from "../../../src/features/condition/condition-parts.ts";
import { MachineConditions } from "../../../src/features/condition/machine-conditions.ts";
import { EntryMaker } from "../../../src/features/condition/machine-entry.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { testParts } from "../../support/http-parts.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const site: Site = {
  site: "plant-7",
  sensors: ["1", "2", "3"].map((code, at) => ({
    code,
    type: 3,
    kinds: ["accel" as const],
    channels: {},
    location: { company: 1, area: 2, machine: 40 + at, point: 1 },
  })),
};

/** A look yields to the loop after each machine. */
async function settled(): Promise<void> {
  for (let n = 0; n < 50; n += 1) await turn();
}

function partsOf(change: Partial<ConditionParts>) {
  const clock = new ManualClock(Date.UTC(2026, 10, 20));
  const parts = testParts({ site: fixedSite(site), gatewayNow: () => clock.now() });
  const unknown = () => null;
  const machineSignals = {
    knownUntilMs: unknown,
    runningOf: unknown,
    speedAt: unknown,
    stateAt: unknown,
    stateOf: unknown,
  };
  return {
    ...parts,
    alarms: null,
    findings: null,
    timezone: "UTC",
    logger: silentLogger,
    machineSignals,
    sensors: () => [],
    outlook: () => [],
    ...change,
    clock,
  };
}

function open(change: Partial<ConditionParts>) {
  const parts = partsOf(change);
  return { clock: parts.clock, conditions: new MachineConditions(parts) };
}

test("conditions – a machine that cannot be computed does not hold those behind it", async () => {
  const { history } = testParts();
  const sound = history.latest.bind(history);
  const latest: typeof sound = (sensor, kind) => {
    if (sensor === "1") throw new TypeError("damaged");
    return sound(sensor, kind);
  };
  const { conditions } = open({ history: Object.assign(history, { latest }) });
  await assert.rejects(conditions.look(), /damaged/);
  assert.deepEqual(
    conditions.current.map(({ id }) => id),
    [41, 42],
  );
});

test("conditions – what wakes them during a look is looked at after a second, not after five", async (t) => {
  const looks: number[] = [];
  const { clock, conditions } = open({
    sensors: () => {
      looks.push(clock.monotonic());
      if (looks.length === 1) conditions.wake();
      return [];
    },
  });
  const ending = new AbortController();
  conditions.onLook(() => {});
  const running = conditions.run(ending.signal);
  t.after(async () => {
    ending.abort();
    await clock.advance(0);
    await running;
  });
  await settled();
  await clock.advance(1_000);
  await settled();
  assert.equal(looks.length, 2);
});

test("conditions – once time changes a machine, no reading of its signals keeps what it was", async () => {
  const parts = partsOf({});
  const maker = new EntryMaker(parts);
  const nowMs = parts.clock.now();
  const { sensors } = site;
  const subject = { id: 40, sensor: null, name: null, area: null, sensors: sensors.slice(0, 1) };
  const known = { nowMs, states: new Map(), alarms: null, mayLookBack: true };
  const made = await maker.make(subject, known);
  const entry = {
    ...made,
    members: { ...made.members, condition: "ok" as const, state: null },
    untilMs: nowMs + 1_000,
  };
  const signal = { key: "40", isOwn: false, isSignal: true };
  assert.equal(maker.holds(entry, signal, nowMs + 999), true);
  assert.equal(maker.holds(entry, signal, nowMs + 1_000), false);
});
