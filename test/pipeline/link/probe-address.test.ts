import assert from "node:assert/strict";
import { test } from "node:test";
import { probeAddress, readRetained } from "../../../src/pipeline/link/probe-address.ts";
import { fakeBrokerFor } from "../../support/brokers.ts";

const NEVER = new AbortController().signal;

test("probe address – the remedy names the member of the uplink, and for a broker that ends MQTT 5 without a CONNACK version 4", async (t) => {
  const silent = await fakeBrokerFor(t, { version: 5, unanswered: () => true });
  const strict = await fakeBrokerFor(t, { version: 5, refusal: 0x86 });
  const failureOf = async (url: string, version: 4 | 5, uplink?: string) => {
    const options = { name: "mqtt", urls: [url], version, clientId: "box", inflight: 1 } as const;
    const result = await probeAddress(
      uplink === undefined ? options : { ...options, uplink },
      url,
      NEVER,
    );
    if (!("failure" in result)) return "";
    // A broker that only starts needs nobody; one that refuses a password does.
    assert.equal(result.failure.needsHands, url === strict.url);
    return result.failure.text;
  };
  assert.match(
    await failureOf(silent.url, 5),
    /RabbitMQ before 3\.13 does, set MQTT_VERSION to 4$/,
  );
  assert.match(
    await failureOf(silent.url, 5, "cloud"),
    /set "version" to 4 \(uplink cloud in UPLINKS_FILE\)$/,
  );
  assert.doesNotMatch(await failureOf(silent.url, 4), /MQTT_VERSION/);
  assert.match(
    await failureOf(strict.url, 5, "cloud"),
    /check "username" and "passwordFile" \(uplink cloud/,
  );
});

test("probe address – tells what the broker grants, retained messages too", async (t) => {
  const broker = await fakeBrokerFor(t, { version: 5, connackProperties: [0x21, 0, 7] });
  const options = { name: "mqtt", urls: [], version: 5, clientId: "box", inflight: 1 } as const;
  const result = await probeAddress(options, broker.url, NEVER);
  assert.ok("info" in result);
  assert.equal(result.info.receiveMaximum, 7);
  assert.equal(result.info.retainAvailable, true);
});

test("probe address – a subscription that the broker denies, or ends the session for, is a failure and not an empty topic", async (t) => {
  for (const version of [4, 5] as const) {
    const denying = await fakeBrokerFor(t, {
      version,
      granted: () => (version === 5 ? 0x87 : 0x80),
    });
    const options = { name: "mqtt", urls: [], version, clientId: "box", inflight: 1 } as const;
    const seen = await readRetained(options, denying.url, NEVER, "gateside/plant-7/agent/state");
    assert.match(
      "failure" in seen ? seen.failure.text : "",
      /^the broker denies this client the subscription to gateside\/plant-7\/agent\/state$/,
    );
  }
  const ending = await fakeBrokerFor(t, {
    version: 5,
    onConnect: (connection) => void setImmediate(() => connection.end()),
  });
  const options = { name: "mqtt", urls: [], version: 5, clientId: "box", inflight: 1 } as const;
  const seen = await readRetained(options, ending.url, NEVER, "t");
  assert.ok("failure" in seen);
});
