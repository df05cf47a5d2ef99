import assert from "node:assert/strict";
import { test } from "node:test";
import type { BoxFault } from "../../src/core/box-fault.ts";
import { BoxWatch } from "../../src/notify/box-watch.ts";

test("faults of the box – one that stands for a minute is told once, and its end", () => {
  let now = 0;
  let faults: BoxFault[] = [];
  const told: Record<string, unknown>[] = [];
  const watch = new BoxWatch({
    faults: () => faults,
    clock: { now: () => 1_000_000 + now, monotonic: () => now, sleep: () => Promise.resolve() },
    tell: (notices) => told.push(...notices.map((notice) => JSON.parse(notice.payload("plant-7")))),
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
