/** Settings of the broker: addresses, credentials, certificates, and features that MQTT 3.1.1 lacks. */

import { checkPair } from "./check-pair.ts";
import { isLoopback, parseBrokers, parseProxy } from "./checks.ts";
import { type Refining } from "./refining.ts";
import type { RawSettings } from "./settings-table.ts";

export function refineBroker(raw: RawSettings, refining: Refining) {
  const { note, warn } = refining;
  const broker = raw.MQTT_URL ? parseBrokers("MQTT_URL", raw.MQTT_URL, note) : null;
  for (const [name, own] of [
    ["MQTT_USERNAME", broker?.username],
    ["MQTT_PASSWORD", broker?.password],
  ] as const) {
    if (own && raw[name] !== undefined) {
      note({
        place: name,
        problem: "is set here and in MQTT_URL",
        remedy: "remove it from MQTT_URL",
      });
    }
  }
  const mqttUsername = raw.MQTT_USERNAME ?? broker?.username ?? null;
  const mqttPassword = raw.MQTT_PASSWORD ?? broker?.password ?? null;
  if (raw.MQTT_VERSION === "4" && mqttPassword !== null && mqttUsername === null) {
    note({
      place: "MQTT_PASSWORD",
      problem: "is set without a user name, which MQTT 3.1.1 does not allow",
      remedy: "set MQTT_USERNAME too",
    });
  }
  if (raw.MQTT_VERSION === "5" && mqttPassword !== null && mqttUsername === null) {
    warn(
      "MQTT_PASSWORD",
      "is set without a user name, which most brokers refuse",
      "set MQTT_USERNAME too",
    );
  }
  if (mqttUsername !== null && mqttPassword === null && raw.MQTT_CERT_FILE === undefined)
    warn(
      "MQTT_USERNAME",
      "is set without a password or a client certificate, which most brokers refuse",
      "set MQTT_PASSWORD too (installed: the credential mqtt.password)",
    );
  checkPair(raw, "MQTT", refining);
  const isTls = broker === null || broker.urls.every((url) => /^(mqtts|wss):/.test(url));
  if (!isTls) {
    if (raw.MQTT_CA_FILE ?? raw.MQTT_CERT_FILE)
      warn("MQTT_URL", "is not a TLS address, so certificates have no effect", "use mqtts://");
    else if (mqttPassword !== null && broker && !broker.urls.every(isLocal))
      warn("MQTT_URL", "sends the password unencrypted over the network", "use mqtts://");
  }
  if (raw.MQTT_VERSION === "4" && raw.MQTT_REQUIRE_SUBSCRIBER)
    warn("MQTT_REQUIRE_SUBSCRIBER", "has no effect with MQTT 3.1.1", "use MQTT_VERSION=5");

  if (raw.MQTT_ALPN !== undefined && broker?.urls.every((url) => !url.startsWith("mqtts:")))
    warn("MQTT_ALPN", "has no effect on an address other than mqtts://", "remove it");
  const { MQTT_PROXY: proxy = null } = raw;

  return {
    mqttUrl: broker?.urls.join(",") ?? "",
    mqttUrls: broker?.urls ?? [],
    mqttVersion: raw.MQTT_VERSION === "4" ? (4 as const) : (5 as const),
    mqttUsername,
    mqttPassword,
    // With its credentials, which are sent to the proxy only.
    mqttProxy: proxy !== null && parseProxy("MQTT_PROXY", proxy, note) !== null ? proxy : null,
    mqttAlpn: raw.MQTT_ALPN?.split(",").map((name) => name.trim()) ?? [],
  };
}

const isLocal = (url: string) => isLoopback(new URL(url).hostname);
