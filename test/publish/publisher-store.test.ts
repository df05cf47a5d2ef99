import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { createJsonEncoder } from "../../src/publish/json.ts";
import { MqttLink } from "../../src/publish/mqtt-link.ts";
import { createPlainEncoder } from "../../src/publish/plain.ts";
import { Publisher } from "../../src/publish/publisher.ts";
import { createWaveformEncoder } from "../../src/publish/waveform.ts";
import {
  recordMessages,
  skipWithoutMosquitto as skip,
  startMosquitto,
} from "../support/mosquitto.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { append, readingOf, START_MS, tempStore, waveformOf } from "../support/temp-database.ts";

test("publisher – with the real store, sessions cut mid-drain: every id arrives, live topics only move forward", {
  skip,
}, async (t) => {
  const broker = await startMosquitto();
  t.after(() => broker.close());
  const subscriber = await recordMessages(broker.url);
  t.after(() => subscriber.close());
  const store = tempStore(t, { lanes: ["json", "plain", "waveform"] });
  const ids = new Set<string>();
  const add = async (sensor: string, from: number, count: number) => {
    const readings = Array.from({ length: count }, (_, i) =>
      readingOf(sensor, START_MS + (from + i) * 1000),
    );
    for (const { id } of readings) ids.add(id);
    await append(store, readings);
  };
  for (const sensor of ["1", "2", "3"]) await add(sensor, 0, 1500);
  const accel = readingOf("9", START_MS, { kind: "accel", waveform: waveformOf(256) });
  ids.add(accel.id);
  await append(store, [accel]);

  const logger = new RecordingLogger();
  const link = new MqttLink(
    { clock: systemClock, logger },
    {
      name: "mqtt",
      url: broker.url,
      version: 5,
      clientId: "p",
      inflight: 100,
      backoffMinMs: 20,
      backoffMaxMs: 50,
    },
  );
  const names = { prefix: "g", site: "s" };
  const publisher = new Publisher(
    {
      link,
      outbox: store.outbox,
      clock: systemClock,
      logger,
      metrics: createMetrics(),
      gatewayNow: Date.now,
    },
    {
      lanes: [
        { lane: "json", encode: createJsonEncoder({ ...names, sensors: [], withRaw: false }) },
        { lane: "plain", encode: createPlainEncoder(names) },
        {
          lane: "waveform",
          encode: createWaveformEncoder(store.waveforms, { ...names, which: "always" }),
          isBackground: true,
        },
      ],
      backlogRatePerS: 0,
    },
  );
  const stop = new AbortController();
  const stopLink = new AbortController();
  const ended = publisher.run(stop.signal);
  const linkEnded = link.run(stopLink.signal);
  t.after(async () => {
    stop.abort();
    await ended;
    stopLink.abort();
    await linkEnded;
  });
  for (const cut of [1, 2, 3]) {
    await subscriber.waitUntil((seen) => seen.length > cut * 600);
    link.renew("cut by the test");
    await add(String(cut), 2000, 200);
  }
  await subscriber.waitUntil((seen) => {
    if (seen.length < ids.size) return false;
    const found = new Set(seen.map(({ userProperties }) => userProperties["id"]));
    return (
      [...ids].every((id) => found.has(id)) &&
      seen.some(({ topic }) => topic.includes("/waveform/channel3"))
    );
  }, 15_000);
  stop.abort();
  await ended;
  for (const sensor of ["1", "2", "3"]) {
    const times = subscriber.onTopic(`g/s/${sensor}/rpm`).map(({ text }) => JSON.parse(text).time);
    assert.ok(times.length > 0);
    assert.deepEqual(times, [...times].sort());
    assert.equal(subscriber.onTopic(`g/s/${sensor}/rpm/rpm`).at(-1)?.text, "1480");
  }
  const isHistory = (topic: string) => topic.endsWith("/history");
  for (const { topic, text, retain } of subscriber.messages) {
    if (!topic.endsWith("/rpm") && !isHistory(topic)) continue;
    if (topic.split("/").length === 5 && !isHistory(topic)) continue;
    assert.equal(JSON.parse(text).historical, isHistory(topic));
    assert.equal(retain, !isHistory(topic));
  }
  for (const lane of ["json", "plain", "waveform"] as const) {
    assert.equal(store.outbox.depth(lane).readings, 0, lane);
  }
});
