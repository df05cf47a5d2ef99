import assert from "node:assert/strict";
import { test } from "node:test";
import {
  NodeReport,
  type NodeValue,
  nodeValues,
} from "../../../src/features/sparkplug/node-metrics.ts";
import { agentStatus } from "../../support/http-parts.ts";

const status = agentStatus();
const valuesOf = (oldestTimeMs: number | null, skewMs: number | null = null) => {
  const lanes = { sparkplug: { readings: 4, oldestTimeMs } };
  const values = nodeValues({
    ...status,
    buffer: { ...status.buffer, lanes },
    clock: { ...status.clock, skewMs },
  });
  return Object.fromEntries(values.map(({ name, value }) => [name, value]));
};

test("sparkplug – the node's metrics say how many readings wait for it and for how many seconds the oldest has", () => {
  const some = valuesOf(status.nowMs - 90_000, 1500);
  assert.equal(some["buffer/readings"], 4);
  assert.equal(some["buffer/oldest_age"], 90);
  assert.equal(some["clock/skew"], 1.5);
  assert.equal(valuesOf(status.nowMs + 5000)["buffer/oldest_age"], 0, "dated in the future");
  const none = valuesOf(null);
  assert.equal(none["buffer/oldest_age"], null);
  assert.equal(none["clock/skew"], null);
  const without = nodeValues({ ...status, buffer: { ...status.buffer, lanes: {} } });
  assert.equal(without.find(({ name }) => name === "buffer/readings")?.value, 0);
});

test("sparkplug – of the node's metrics states are reported when they change, numbers once a minute", () => {
  const report = new NodeReport();
  const values = (error: string, readings: number): NodeValue[] => [
    { name: "gateway/error", type: "String", value: error },
    { name: "gateway/up", type: "Boolean", value: error === "" },
    { name: "buffer/readings", type: "Int64", value: readings },
  ];
  report.birth(values("", 1), 0, 1000);
  const changed = (error: string, readings: number, monotonicMs: number) => {
    const others: NodeValue[] = [{ name: "unborn", type: "String", value: error }];
    return report
      .changes([...values(error, readings), ...others], 0, monotonicMs)
      .map(({ name, value }) => [name, value]);
  };
  assert.deepEqual(changed("refused", 2, 60_999), [
    ["gateway/error", "refused"],
    ["gateway/up", false],
  ]);
  assert.deepEqual(changed("refused", 3, 61_000), [["buffer/readings", 3]]);
  assert.deepEqual(changed("refused", 4, 120_999), []);
  assert.deepEqual(changed("refused", 3, 121_000), [], "as it was reported");
  assert.deepEqual(changed("refused", 5, 121_001), [], "not before another minute is over");
});
