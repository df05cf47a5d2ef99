import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fault } from "../../src/core/query/fault.ts";
import { boxFaultsOf, type HeaderInput, headerState } from "../../src/dashboard/header-state.ts";

const NOW = 1_000_000;
const fault = (code: string, sinceMs: number | null = null): Fault => ({
  code,
  severity: "error",
  subject: "gateway",
  what: "",
  remedy: "",
  sinceMs,
});
const counts = (alarm: number, warning: number) => ({
  alarm,
  warning,
  acknowledged: 0,
  shelved: 0,
});
const input = (more: Partial<HeaderInput> = {}): HeaderInput => ({
  live: { state: "live", lastHeardMs: NOW },
  heard: "12:00:00",
  status: { alarms: counts(0, 0), activeAlarms: { alarm: 0, warning: 0 } },
  faults: [],
  conditions: ["ok", "standing"],
  ...more,
});

test("header – the worst of all is the one state, in the order of the plant's page", () => {
  const all = input({
    live: { state: "late", lastHeardMs: NOW },
    status: { alarms: counts(1, 2), activeAlarms: { alarm: 2, warning: 2 } },
    faults: [fault("gateway_down")],
    conditions: ["alarm", "warning", "watch", "unknown", "ok"],
  });
  const order: string[] = [];
  let left = all;
  const less: Partial<HeaderInput>[] = [
    { live: { state: "live", lastHeardMs: NOW } },
    { status: { alarms: counts(0, 2), activeAlarms: { alarm: 0, warning: 2 } } },
    { faults: [] },
    { status: { alarms: counts(0, 0), activeAlarms: { alarm: 0, warning: 0 } } },
    { conditions: ["watch", "ok"] },
    { conditions: ["ok", "standing"] },
  ];
  order.push(headerState(left).word);
  for (const step of less) {
    left = { ...left, ...step };
    order.push(headerState(left).word);
  }
  assert.deepEqual(order, ["not live", "alarm", "fault", "warning", "unknown", "watch", "ok"]);
});

test("header – counts open alarms, says how many nobody has acknowledged, and opens what it counts", () => {
  const status = { alarms: counts(1, 0), activeAlarms: { alarm: 3, warning: 0 } };
  const { text, more, href } = headerState(input({ status }));
  assert.deepEqual(
    [text, more, href],
    ["3 alarms", ", 1 unacknowledged", "#/alarms?severity=alarm"],
  );
  const fine = headerState(input());
  assert.deepEqual([fine.text, fine.tone, fine.href], ["OK", "ok", null]);
  const down = headerState(input({ faults: [fault("gateway_down")] }));
  assert.deepEqual([down.text, down.href], ["1 fault", "#/?at=attention"]);
});

test("header – nothing is well before anything is known", () => {
  const never = headerState(input({ live: { state: "never", lastHeardMs: null }, status: null }));
  assert.equal(never.tone, "off");
  assert.equal(headerState(input({ conditions: null })).tone, "off");
});

test("header – an uplink without a session for half a minute, and no fault of a sensor, is one of the box", () => {
  const faults = [
    fault("broker_down", NOW - 10_000),
    fault("broker_down", NOW - 31_000),
    fault("sensor_silent"),
    fault("gateway_down"),
  ];
  assert.deepEqual(boxFaultsOf(faults, NOW), [faults[1], faults[3]]);
});
