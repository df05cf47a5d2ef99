import assert from "node:assert/strict";
import { test } from "node:test";
import { sparkplugClientId } from "../../src/agent/destinations.ts";

test("agent – the Sparkplug session has the configured client id, marked where another session needs that too", () => {
  const mqttClientId = "line-3";
  assert.equal(sparkplugClientId({ mqttClientId, publishFormats: ["sparkplug"] }), "line-3");
  for (const other of ["json", "plain"] as const) {
    const both = sparkplugClientId({ mqttClientId, publishFormats: ["sparkplug", other] });
    assert.equal(both, "line-3-sparkplug");
  }
});
