import assert from "node:assert/strict";
import { test } from "node:test";
import { linkTo, parsePlace } from "../../src/dashboard/place-link.ts";

test("place – a link leads back to the same view, whatever the sensor code", () => {
  const link = linkTo("sensor", "a/b?c#d", { value: "accel.vel_rms", axis: null, unit: "mm/s" });
  const { view, subject, query } = parsePlace(link);
  assert.deepEqual([view, subject], ["sensor", "a/b?c#d"]);
  assert.equal(query.get("unit"), "mm/s");
  assert.equal(query.has("axis"), false);
});

test("place – a mistyped link still leads to a view", () => {
  assert.equal(parsePlace("#/sensor/%E0%A4%A").subject, "%E0%A4%A");
  assert.equal(parsePlace("").view, "");
  assert.equal(parsePlace("#/alarms?list=history").view, "alarms");
});
