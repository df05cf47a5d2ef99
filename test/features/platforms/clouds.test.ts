// AWS: https://docs.aws.amazon.com/general/latest/gr/iot-core.html, "AWS IoT Core message broker and protocol limits and quotas".
// Azure: https://learn.microsoft.com/azure/iot/iot-mqtt-connect-to-iot-hub, "Use the MQTT protocol directly" and "Send device-to-cloud
// messages"; https://learn.microsoft.com/azure/iot-hub/authenticate-authorize-sas, "SAS token structure".
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { EVENT_KIND } from "../../../src/core/delivery/event-kind.ts";
import type { Kind } from "../../../src/core/sensor.ts";
import { createAwsIotProfile } from "../../../src/features/platforms/aws-iot.ts";
import { azureTopic, createAzureIotProfile } from "../../../src/features/platforms/azure-iot.ts";
import { azureUsername, sasToken } from "../../../src/features/platforms/azure-sas.ts";
import type { ProfileParts } from "../../../src/pipeline/publish/formats/profile.ts";
import {
  LOOP,
  loopReading,
  options,
  TIME,
  unpackParts,
  waveformParts,
} from "../../pipeline/publish/formats/profiles.ts";

const none: ProfileParts = { waveforms: { read: () => null } };

test("aws-iot – a waveform is int16 with its scale, in messages of 128 KB; its parts restore the samples", () => {
  const { samples, reading, parts } = waveformParts(130_000);
  const messages = createAwsIotProfile(parts, options()).encode.waveform({ reading, live: true });
  assert.equal(messages.length, 3);
  for (const { payload, topic } of messages) {
    assert.ok(Buffer.byteLength(payload) <= 128 * 1024);
    assert.equal(topic, "gateside/plant-7/10234/waveform/channel2");
  }
  const bodies = messages.map(({ payload }) => JSON.parse(String(payload)));
  assert.deepEqual(
    bodies.map(({ part, parts: count, samples: all }) => [part, count, all]),
    [
      [1, 3, 130_000],
      [2, 3, 130_000],
      [3, 3, 130_000],
    ],
  );
  assert.deepEqual(unpackParts(bodies), [...samples]);
  const { scale, offset, channels } = bodies[0];
  assert.deepEqual([scale, channels], [0.001, { channel2: { name: "Bearing", axis: "V" } }]);
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  assert.ok(Math.abs(offset - mean) < 1e-9);
});

test("aws-iot – a small waveform is one message; readings and states are the contract's; retain as configured", () => {
  const { reading, parts } = waveformParts(4096);
  assert.equal(
    createAwsIotProfile(parts, options()).encode.waveform({ reading, live: true }).length,
    1,
  );
  const kept = createAwsIotProfile(none, options()).encode.json({
    reading: loopReading(),
    live: true,
  });
  assert.deepEqual([kept[0]?.topic, kept[0]?.retain], ["gateside/plant-7/30007/loop", true]);
  const forbidden = createAwsIotProfile(none, options({ retain: false }));
  const word = { state: "online", timeMs: TIME, reason: "started" } as const;
  const all = [
    ...forbidden.encode.json({ reading: loopReading(), live: true }),
    ...forbidden.agentState(word),
    ...forbidden.describe(LOOP),
    forbidden.will({ ...word, state: "offline" }),
  ];
  assert.ok(all.every((message) => message?.retain === false));
  assert.deepEqual(forbidden.retainedTopics(LOOP).state, []);
});

const azure = (waveforms = none.waveforms) =>
  createAzureIotProfile({ waveforms }, { ...options(), deviceId: "box 1" });
/** The property bag as the hub reads it. */
const bagOf = (topic: string) => {
  assert.ok(topic.startsWith("devices/box 1/messages/events/"));
  const pairs = topic.slice("devices/box 1/messages/events/".length).split("&");
  return Object.fromEntries(pairs.map((pair) => pair.split("=").map(decodeURIComponent)));
};

test("azure-iot – everything goes to devices/{device-id}/messages/events/ with its type in the property bag", () => {
  const [message] = azure().encode.json({ reading: loopReading(), live: false });
  assert.deepEqual(bagOf(message?.topic ?? ""), {
    "$.ct": "application/json",
    "$.ce": "utf-8",
    "$.mid": "5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c",
    "$.ctime": "2026-11-20T15:04:05.000Z",
    sensor: "30007",
    kind: "loop",
    type: "reading",
    historical: "true",
  });
  assert.deepEqual([message?.qos, message?.retain], [1, false]);
  assert.equal(JSON.parse(String(message?.payload)).values.channel1, 4.2);
});

test("azure-iot – an alarm event carries its own time, not that of its row", () => {
  const event = {
    kind: EVENT_KIND as Kind,
    values: '{"time":"2026-11-20T15:04:05.250Z"}',
    timeMs: TIME + 9_000,
  };
  const [message] = azure().encode.json({ reading: loopReading(event), live: false });
  const bag = bagOf(message?.topic ?? "");
  assert.deepEqual([bag["type"], bag["$.ctime"]], ["event", "2026-11-20T15:04:05.250Z"]);
});

test("azure-iot – states, gaps and about are distinguishable, nothing is retained, and no name breaks the topic", () => {
  const profile = azure();
  const state = profile.sensorState({
    code: "a/b&c=#+ é",
    state: "online",
    lastReadingMs: null,
    batteryV: null,
  });
  assert.doesNotMatch(
    state[0]?.topic.slice("devices/box 1/messages/events/".length) ?? "",
    /[#+/]/,
  );
  assert.equal(bagOf(state[0]?.topic ?? "")["sensor"], "a/b&c=#+ é");
  const word = { state: "offline", timeMs: TIME, reason: "connection lost" } as const;
  const types = [profile.will(word), ...profile.describe(LOOP)].map((message) => {
    assert.equal(message?.retain, false);
    return bagOf(message?.topic ?? "")["type"];
  });
  assert.deepEqual(types, ["state", "about"]);
  assert.equal(profile.takesCommands, false);
});

test("azure-iot – waveforms stay below 256 KB with their properties", () => {
  const { samples, reading, parts } = waveformParts(200_000);
  const messages = azure(parts.waveforms).encode.waveform({ reading, live: true });
  assert.ok(messages.length > 1);
  for (const { topic, payload } of messages)
    assert.ok(Buffer.byteLength(topic) + Buffer.byteLength(payload) <= 256 * 1024);
  const bodies = messages.map(({ payload }) => JSON.parse(String(payload)));
  assert.deepEqual(unpackParts(bodies), [...samples]);
  assert.equal(new Set(messages.map(({ topic }) => bagOf(topic)["$.mid"])).size, messages.length);
});

test("azure-iot – the SAS token signs the URL-encoded resource and the expiry with the decoded key", () => {
  const device = { hostName: "hub.azure-devices.net", deviceId: "box 1" };
  const key = Buffer.from("not a real key").toString("base64");
  const token = sasToken(device, `${key}\n`, 1_800_000_000);
  const resource = "hub.azure-devices.net%2Fdevices%2Fbox%201";
  const signature = createHmac("sha256", "not a real key")
    .update(`${resource}\n1800000000`)
    .digest("base64");
  assert.equal(
    token,
    `SharedAccessSignature sr=${resource}&sig=${encodeURIComponent(signature)}&se=1800000000`,
  );
  // As azure-iot-common 1.13.3 makes it: SharedAccessSignature.create(encodeURIComponent(resource), undefined, key, expiry).
  assert.equal(
    sasToken({ hostName: "hub.azure-devices.net", deviceId: "box-1" }, key, 1_800_000_000),
    "SharedAccessSignature sr=hub.azure-devices.net%2Fdevices%2Fbox-1&sig=8MX6BR5cPqIt5oXFcmWQmm%2FAulnUFbmX%2BGZAzZReen4%3D&se=1800000000",
  );
  assert.equal(azureUsername(device), "hub.azure-devices.net/box 1/?api-version=2021-04-12");
  assert.match(
    azureTopic("d", {}),
    /^devices\/d\/messages\/events\/%24\.ct=application%2Fjson&%24\.ce=utf-8$/,
  );
});
