import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonName } from "../../../src/core/delivery/reason-names.ts";
import { inUplinkWords } from "../../../src/core/delivery/uplink-words.ts";
import {
  connackFailure,
  disconnectFailure,
  takenOver,
  transportFailure,
} from "../../../src/pipeline/link/link-errors.ts";
import { refusedSubscription } from "../../../src/pipeline/link/suback.ts";

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

/** Reason codes of MQTT 5 that a broker may send in each packet (sections 3.2.2.2, 3.14.2.1, 3.9.3). */
const CONNACK_CODES = [
  0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99,
  0x9a, 0x9b, 0x9c, 0x9d, 0x9f,
];
const DISCONNECT_CODES = [
  0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95,
  0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2,
];
const PUBACK_CODES = [0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99];
const SUBACK_CODES = [0x80, 0x83, 0x87, 0x8f, 0x91, 0x97, 0x9e, 0xa1, 0xa2];

test("link – each reason code of CONNACK, DISCONNECT, PUBACK and SUBACK has its own words", () => {
  for (const [codes, words] of [
    [CONNACK_CODES, (code: number) => connackFailure(code, "box").text],
    [DISCONNECT_CODES, (code: number) => disconnectFailure(code, "box").text],
    [PUBACK_CODES, reasonName],
    [SUBACK_CODES, (code: number) => refusedSubscription(["t"], code)],
  ] as const) {
    const texts = codes.map(words);
    assert.equal(new Set(texts).size, texts.length, texts.join("\n"));
    for (const text of texts) assert.doesNotMatch(text, /reason[ _]0x/);
  }
});
