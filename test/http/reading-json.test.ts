import assert from "node:assert/strict";
import { test } from "node:test";
import { readingJson } from "../../src/http/reading-json.ts";
import { storedReading } from "../support/memory-outbox.ts";

test("api – a stored text that is damaged counts as empty: the response stays JSON", () => {
  const whole = storedReading(1);
  for (const member of ["values", "quality", "attributes"] as const) {
    const shown = JSON.parse(readingJson({ ...whole, [member]: 's"a":1}' }));
    assert.deepEqual(shown[member], {});
    assert.equal(shown.timeMs, whole.timeMs);
  }
  assert.deepEqual(JSON.parse(readingJson(whole)).values, JSON.parse(whole.values));
});
