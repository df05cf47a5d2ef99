import assert from "node:assert/strict";
import { test } from "node:test";
import { parseReading } from "../../../src/publish/sparkplug/device.ts";
import { storedReading } from "../../support/memory-outbox.ts";

test("sparkplug – a stored text that a disk spoiled has no metrics and stops nothing", () => {
  const whole = storedReading(1);
  const { values, quality, timeMs } = parseReading({ ...whole, values: '{"rpm":14', quality: "" });
  assert.deepEqual(values, {});
  assert.deepEqual(quality, {});
  assert.equal(timeMs, whole.timeMs);
});
