// Topics and payloads as https://thingsboard.io/docs/reference/gateway-mqtt-api/ ("Device Connect API", "Device Disconnect API",
// "Attributes API", "Telemetry upload API") and /docs/reference/mqtt-api/ ("Telemetry upload API", "Attributes API") give them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_KIND } from "../../../src/core/delivery/event-kind.ts";
import type { Message } from "../../../src/core/message.ts";
import type { Kind } from "../../../src/core/sensor.ts";
import { createThingsBoardProfile } from "../../../src/features/platforms/thingsboard.ts";
import {
  LOOP,
  loopReading,
  options,
  TIME,
  unpackParts,
  waveformParts,
} from "../../pipeline/publish/formats/profiles.ts";

const profile = createThingsBoardProfile({ waveforms: { read: () => null } }, options());
const sent = (messages: readonly Message[]) =>
  messages.map(({ topic, payload }) => [topic, JSON.parse(String(payload))]);

test("telemetry – {device: [{ts, values}]} with the reading's own time, live or not", () => {
  for (const live of [true, false]) {
    assert.deepEqual(sent(profile.encode.json({ reading: loopReading(), live })), [
      [
        "v1/gateway/telemetry",
        {
          "30007": [
            {
              ts: TIME,
              values: {
                channel1: 4.2,
                battery: 3.6,
                quality: { channel1_ma: { quality: "bad", reason: "missing" } },
              },
            },
          ],
        },
      ],
    ]);
  }
});

test("telemetry – an alarm event carries its own time in whole milliseconds, not that of its row", () => {
  const values = '{"alarm":"high","time":"2026-11-20T15:04:05.250Z"}';
  const reading = loopReading({ kind: EVENT_KIND as Kind, values, timeMs: TIME + 9_000 });
  assert.deepEqual(sent(profile.encode.json({ reading, live: false })), [
    [
      "v1/gateway/telemetry",
      { "30007": [{ ts: TIME + 250, values: { event: JSON.parse(values) } }] },
    ],
  ]);
});

test("telemetry – nothing is retained, and a reading without any value sends only its quality", () => {
  const reading = loopReading({ values: '{"channel1_ma":null}' });
  const [message] = profile.encode.json({ reading, live: true });
  assert.equal(message?.retain, false);
  assert.deepEqual(Object.keys(JSON.parse(String(message?.payload))["30007"][0].values), [
    "quality",
  ]);
  const empty = loopReading({ values: '{"channel1_ma":null}', quality: "{}" });
  assert.deepEqual(profile.encode.json({ reading: empty, live: true }), []);
});

test("devices – connected and described by attributes, disconnected when removed; the box publishes its own as `me`", () => {
  const [connect, attributes] = sent(profile.describe(LOOP));
  assert.deepEqual(connect, ["v1/gateway/connect", { device: "30007" }]);
  assert.equal(attributes?.[0], "v1/gateway/attributes");
  assert.deepEqual(attributes?.[1]["30007"].channels, {
    channel1: { name: "Suction pressure", unit: "bar", range: [0, 10] },
    input1: {},
    input2: {},
    input3: {},
    input4: {},
  });
  assert.deepEqual(sent(profile.farewell("30007")), [
    ["v1/gateway/disconnect", { device: "30007" }],
  ]);
  assert.deepEqual(
    sent(
      profile.sensorState({ code: "30007", state: "silent", lastReadingMs: TIME, batteryV: null }),
    ),
    [
      [
        "v1/gateway/attributes",
        {
          "30007": {
            state: "silent",
            lastReading: "2026-11-20T15:04:05.000Z",
            site: "plant-7",
            sensor: "30007",
          },
        },
      ],
    ],
  );
  const node = { firmware: "2.1", signalDbm: -71, lastReadingMs: null, batteryV: 3.5 };
  assert.deepEqual(sent(profile.sensorState({ code: "1", state: "unknown", ...node })), [
    [
      "v1/gateway/attributes",
      {
        "1": {
          state: "unknown",
          battery: 3.5,
          firmwareVersion: "2.1",
          signalStrength: -71,
          site: "plant-7",
          sensor: "1",
        },
      },
    ],
  ]);
  const [own] = profile.agentState({ state: "online", timeMs: TIME, reason: "started" });
  assert.equal(own?.topic, "v1/devices/me/attributes");
  assert.equal(profile.will({ state: "offline", timeMs: TIME, reason: "x" }), null);
  assert.equal(profile.takesCommands, false);
});

test("waveforms – parts below NETTY_MAX_PAYLOAD_SIZE (64 KB), each with its own time so that none replaces another", () => {
  const { samples, reading, parts } = waveformParts(60_000);
  const messages = createThingsBoardProfile(parts, options()).encode.waveform({
    reading,
    live: true,
  });
  assert.ok(messages.length > 1);
  for (const { payload } of messages) assert.ok(Buffer.byteLength(payload) <= 65_536);
  const entries = messages.map(({ payload }) => JSON.parse(String(payload))["10234"][0]);
  assert.deepEqual(
    entries.map(({ ts }) => ts),
    messages.map((_, i) => TIME + i),
  );
  const bodies = entries.map(({ values }) => values["waveform_channel2"]);
  assert.deepEqual(unpackParts(bodies), [...samples]);
});
