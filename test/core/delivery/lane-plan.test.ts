import assert from "node:assert/strict";
import { test } from "node:test";
import { laneChangeText, planLanes } from "../../../src/core/delivery/lane-plan.ts";

test("lane plan – what waited in a format that is switched off goes to a new one with the same content, otherwise it is dropped, and said so", () => {
  const known = [
    { uplink: "main", lane: "json", readings: 5 },
    { uplink: "main", lane: "sparkplug", readings: 3 },
  ] as const;
  const changes = (...lanes: ("json" | "sparkplug" | "plain")[]) =>
    planLanes(known, [{ name: "main", lanes, startFrom: "stored" }]).map(laneChangeText);
  assert.deepEqual(changes("json", "sparkplug"), []);
  assert.deepEqual(changes("json"), [
    "uplink main, sparkplug: off; 3 undelivered readings are dropped (format_off)",
  ]);
  const [first] = known;
  assert.deepEqual(
    planLanes([first], [{ name: "main", lanes: ["sparkplug"], startFrom: "stored" }]).map(
      laneChangeText,
    ),
    ["uplink main, json: off; 5 undelivered readings move to sparkplug"],
  );
});
