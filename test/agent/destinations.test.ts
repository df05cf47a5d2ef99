import assert from "node:assert/strict";
import { test } from "node:test";
import { clientIdsOf } from "../../src/core/uplink.ts";

test("agent – the Sparkplug session has the configured client id, with a suffix if another session needs that id too", () => {
  const clientId = "line-3";
  assert.deepEqual(clientIdsOf({ clientId, formats: ["sparkplug"] }), {
    mqtt: null,
    sparkplug: "line-3",
  });
  for (const other of ["json", "plain"] as const) {
    assert.deepEqual(clientIdsOf({ clientId, formats: ["sparkplug", other] }), {
      mqtt: "line-3",
      sparkplug: "line-3-sparkplug",
    });
  }
  assert.deepEqual(clientIdsOf({ clientId, formats: ["json"] }), {
    mqtt: "line-3",
    sparkplug: null,
  });
});
