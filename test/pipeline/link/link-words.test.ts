import assert from "node:assert/strict";
import { test } from "node:test";
import {
  connackFailure,
  inUplinkWords,
  takenOver,
  transportFailure,
} from "../../../src/pipeline/link/link-errors.ts";

test("link errors – a peer that does not speak MQTT is described in the operator's terms, not the parser's", () => {
  for (const words of [
    "Invalid header flag bits, must be 0x0 for puback packet",
    "Cannot parse protocolId",
  ]) {
    const { text, needsHands } = transportFailure(new Error(words));
    assert.match(text, /does not speak MQTT: check scheme, host and port of MQTT_URL/);
    assert.ok(needsHands);
  }
});

test("link errors – a refused CONNECT of MQTT 3.1.1 says the same as that of MQTT 5", () => {
  for (const [code, code5] of [
    [1, 0x84],
    [2, 0x85],
    [3, 0x88],
    [4, 0x86],
    [5, 0x87],
  ] as const)
    assert.deepEqual(connackFailure(code, "box"), connackFailure(code5, "box"));
  assert.match(connackFailure(2, "box").text, /"box": set another MQTT_CLIENT_ID/);
  assert.equal(connackFailure(3, "box").needsHands, false);
  assert.match(connackFailure(6, "box").text, /reason 0x6/);
});

test("link errors – a reset, as TLS to a plain port causes it, names the setting to check", () => {
  const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  assert.match(transportFailure(reset).text, /scheme and port of MQTT_URL/);
});

test("link errors – errors of an uplink in UPLINKS_FILE name it and its members, never the settings of main", () => {
  const texts = [
    connackFailure(0x86, "plant-7").text,
    connackFailure(0x9d, "plant-7").text,
    takenOver("plant-7").text,
    transportFailure(Object.assign(new Error(), { code: "SELF_SIGNED_CERT_IN_CHAIN" })).text,
    transportFailure(Object.assign(new Error(), { code: "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA" })).text,
  ].map((text) => inUplinkWords(text, "cloud"));
  for (const text of texts) {
    assert.doesNotMatch(text, /MQTT_/);
    assert.match(text, /\(uplink cloud in UPLINKS_FILE\)$/);
  }
  assert.match(texts[0] ?? "", /check "username" and "passwordFile"/);
  assert.equal(
    inUplinkWords("the broker is shutting down", "cloud"),
    "the broker is shutting down",
  );
});
