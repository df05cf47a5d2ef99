import assert from "node:assert/strict";
import { test } from "node:test";
import type { Site } from "../../../src/core/site.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { createGatesideProfile } from "../../../src/pipeline/publish/formats/gateside.ts";
import { createJsonEncoder } from "../../../src/pipeline/publish/formats/json.ts";
import { createPlainEncoder } from "../../../src/pipeline/publish/formats/plain.ts";
import { createWaveformEncoder } from "../../../src/pipeline/publish/formats/waveform.ts";
import { Publisher } from "../../../src/pipeline/publish/publisher.ts";
import { alarmLogOf } from "../../support/alarm-log.ts";
import { FollowingEngine } from "../../support/following-engine.ts";
import { linkFor } from "../../support/link.ts";
import {
  recordMessages,
  skipWithoutMosquitto as skip,
  startMosquitto,
} from "../../support/mosquitto.ts";
import {
  append,
  mainOf,
  readingOf,
  START_MS,
  tempStore,
  waveformOf,
} from "../../support/temp-database.ts";

test("publisher – with the real store and sessions cut while draining, every id arrives and live topics only move forward", {
  skip,
}, async (t) => {
  const broker = await startMosquitto();
  t.after(() => broker.close());
  const subscriber = await recordMessages(broker.url);
  t.after(() => subscriber.close());
  const store = tempStore(t, { uplinks: mainOf("json", "plain", "waveform") });
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

  const { link, logger } = linkFor(t, { url: broker.url });
  const names = {
    source: fixedSite({ site: "s", sensors: [] }),
    prefix: "g",
    site: "s",
  };
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
        {
          lane: "json",
          encode: createJsonEncoder({
            ...names,
            withRaw: false,
          }),
        },
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
  const ended = publisher.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
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

test("publisher – an alarm event does not wait behind a backlog, however slowly that is paced", {
  skip,
}, async (t) => {
  const broker = await startMosquitto();
  t.after(() => broker.close());
  const subscriber = await recordMessages(broker.url);
  t.after(() => subscriber.close());
  const store = tempStore(t, { site: () => "s" });
  const many = (from: number, rpm: number, count: number) =>
    Array.from({ length: count }, (_, i) =>
      readingOf("1", START_MS + (from + i) * 1000, { values: { rpm } }),
    );
  const site: Site = {
    site: "s",
    sensors: [{ code: "1", type: 6, kinds: ["rpm"], channels: {} }],
    alarms: [{ name: "speed", select: { values: ["rpm"] }, high: 3000 }],
  };
  const engine = new FollowingEngine(site);
  engine.load({ states: [], samples: [] });
  alarmLogOf(store).follower = engine;
  const backlog = 600;
  await append(store, many(0, 1480, backlog));
  const { link, logger } = linkFor(t, { url: broker.url });
  const { encode } = createGatesideProfile(store, {
    prefix: "g",
    site: "s",
    source: fixedSite(site),
    version: "1",
    formats: ["json"],
    waveforms: "never",
    withRaw: false,
    retain: true,
    clearRemoved: false,
    isWanted: null,
  });
  const publisher = new Publisher(
    {
      link,
      outbox: store.outbox,
      clock: systemClock,
      logger,
      metrics: createMetrics(),
      gatewayNow: Date.now,
    },
    // One of the backlog a second: the events below would be a matter of ten minutes.
    { lanes: [{ lane: "json", encode: encode.json }], backlogRatePerS: 1 },
  );
  const stop = new AbortController();
  const ended = publisher.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
  const isOn = (topic: string) => subscriber.onTopic(topic).length > 0;
  await subscriber.waitUntil(() => isOn("g/s/1/rpm"), 15_000);
  await append(store, many(backlog, 3100, 1));
  await subscriber.waitUntil(() => isOn("g/s/1/alarm/speed/rpm"), 15_000);
  const [event] = subscriber.onTopic("g/s/agent/event");
  assert.equal(JSON.parse(event?.text ?? "{}").measured, 3100);
  const waiting = store.outbox.depth("json").readings;
  assert.ok(waiting > backlog / 2, `${waiting} readings of the backlog still wait`);
});
