import assert from "node:assert/strict";
import { test } from "node:test";
import { transportFailure } from "../../src/publish/link-errors.ts";

test("link errors – what speaks no MQTT is said in the operator's words, not the parser's", () => {
  for (const words of [
    "Invalid header flag bits, must be 0x0 for puback packet",
    "Cannot parse protocolId",
  ]) {
    const { text, needsHands } = transportFailure(new Error(words));
    assert.match(text, /speaks no MQTT: check scheme, host and port of MQTT_URL/);
    assert.ok(needsHands);
  }
});

test("link errors – a reset, as TLS on a plain port gives it, names the setting to look at", () => {
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  assert.match(transportFailure(reset).text, /scheme and port of MQTT_URL/);
});
