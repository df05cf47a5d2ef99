import assert from "node:assert/strict";
import { test } from "node:test";
import { linkTo, parsePlace } from "../../src/dashboard/place-link.ts";

test("place – what a link says is read back, whatever the code of the sensor", () => {
  const link = linkTo("sensor", "a/b?c#d", { value: "accel.vel_rms", axis: null, unit: "mm/s" });
  const { view, subject, query } = parsePlace(link);
  assert.deepEqual([view, subject], ["sensor", "a/b?c#d"]);
  assert.equal(query.get("unit"), "mm/s");
  assert.equal(query.has("axis"), false);
});

test("place – a link that was typed wrong leads to something", () => {
  assert.equal(parsePlace("#/sensor/%E0%A4%A").subject, "%E0%A4%A");
  assert.equal(parsePlace("").view, "");
  assert.equal(parsePlace("#/alarms?list=history").view, "alarms");
});
