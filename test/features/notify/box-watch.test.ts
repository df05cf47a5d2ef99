import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { BoxFault } from "../../../src/core/status/box-fault.ts";
import { BoxWatch } from "../../../src/features/notify/box-watch.ts";

let kept: string | null = null;
const memory = {
  get: () => kept,
  set: (text: string) => {
    kept = text;
  },
};
beforeEach(() => {
  kept = null;
});

test("faults of the box – a restart tells none again, and the end of one that ended meanwhile", () => {
  let now = 0;
  let faults: BoxFault[] = [];
  const told: string[] = [];
  const start = () =>
    new BoxWatch({
      faults: () => faults,
      clock: { now: () => now, monotonic: () => now, sleep: () => Promise.resolve() },
      tell: (notices) => told.push(...notices.map(({ key, isActive }) => `${key} ${isActive}`)),
      memory,
    });
  const gateway: BoxFault = { value: "gateway", severity: "alarm", text: "" };
  const clockFault: BoxFault = { value: "clock", severity: "warning", text: "" };
  faults = [gateway, clockFault];
  const before = start();
  before.look();
  now = 60_000;
  before.look();
  assert.deepEqual(told, ["box gateway true", "box clock true"]);
  told.length = 0;
  // One that is not told yet stands for nobody.
  faults = [gateway, clockFault, { value: "disk", severity: "warning", text: "" }];
  before.look();
  assert.deepEqual(
    before.standing().map(({ key }) => key),
    ["box gateway", "box clock"],
  );
  // The gateway was not contacted yet.
  faults = [];
  const after = start();
  for (now = 60_000; now < 200_000; now += 5_000) {
    if (now === 120_000) faults = [gateway];
    after.look();
  }
  assert.deepEqual(told, []);
  for (; now <= 240_000; now += 5_000) after.look();
  assert.deepEqual(told, ["box clock false"]);
  faults = [];
  after.look();
  assert.deepEqual(told, ["box clock false", "box gateway false"]);
  start().look();
  assert.equal(kept, "[]");
});

test("faults of the box – one that stands for a minute is told once, and its end", () => {
  let now = 0;
  let faults: BoxFault[] = [];
  const told: Record<string, unknown>[] = [];
  const watch = new BoxWatch({
    faults: () => faults,
    clock: { now: () => 1_000_000 + now, monotonic: () => now, sleep: () => Promise.resolve() },
    tell: (notices) => told.push(...notices.map((notice) => JSON.parse(notice.payload("plant-7")))),
    memory,
  });
  const look = (ms: number) => {
    now = ms;
    watch.look();
  };
  const text = "The uplink cloud does not deliver.";
  const fault: BoxFault = { value: "uplink", uplink: "cloud", severity: "alarm", text };
  faults = [fault];
  look(0);
  look(59_999);
  assert.deepEqual(told, []);
  faults = [];
  look(59_999);
  faults = [fault, { ...fault, uplink: "main" }];
  look(60_000);
  look(119_999);
  assert.deepEqual(told, []);
  look(120_000);
  look(200_000);
  faults = [fault];
  look(210_000);
  assert.deepEqual(
    told.map(({ uplink, state }) => [uplink, state]),
    [
      ["cloud", "active"],
      ["main", "active"],
      ["main", "cleared"],
    ],
  );
  assert.deepEqual(told[0], {
    v: 1,
    site: "plant-7",
    sensor: null,
    alarm: "box",
    value: "uplink",
    uplink: "cloud",
    severity: "alarm",
    state: "active",
    time: new Date(1_120_000).toISOString(),
    text,
  });
});
