import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../src/core/sensor.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import { createApp } from "../../src/http/server.ts";
import { historyPages } from "../../src/pipeline/store/readings/history-pages.ts";
import { OPTIONS, testParts } from "../support/http-parts.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { append, readingOf, START_MS, tempStore } from "../support/temp-database.ts";

const MINUTE_MS = 60_000;
const rpm = (code: string, more: Partial<Sensor> = {}): Sensor => ({
  code,
  type: 6,
  kinds: ["rpm"],
  channels: {},
  ...more,
});

test("sensor replaced – its place has one trend, and a removed sensor stays as long as it has data", async (t) => {
  const store = tempStore(t, { clock: new ManualClock(START_MS) });
  const minutes = [
    ["1", 0, 1, 2, 9],
    ["2", 3, 4, 9.5],
    ["3", 5, 6],
  ] as const;
  for (const [code, ...times] of minutes) {
    for (const at of times) {
      const more = { kind: "rpm" as const, values: { rpm: Number(code) }, units: { rpm: "rpm" } };
      await append(store, [readingOf(code, START_MS + at * MINUTE_MS, more)]);
    }
  }
  const site = {
    site: "plant-7",
    sensors: [rpm("3", { replaces: ["1", "2"] }), rpm("1", { enabled: false })],
  };
  const clock = new ManualClock(START_MS + 20 * MINUTE_MS);
  const parts = {
    ...testParts(),
    site: fixedSite(site),
    history: historyPages(store.history),
    clock,
    gatewayNow: () => clock.now(),
  };
  const app = createApp(parts, OPTIONS);
  t.after(() => app.close());
  const get = async (url: string) =>
    (await app.inject({ url: `/api/v1/${url}`, headers: { host: "localhost" } })).json();

  const range = `kind=rpm&from=${new Date(START_MS).toISOString()}&to=${new Date(clock.now()).toISOString()}&buckets=2000`;
  const place = await get(`trend?sensor=3&${range}`);
  // What the old ones still measured after their successor's first reading is not of the place.
  assert.deepEqual(place.series.rpm.mean, [1, 1, 1, 2, 2, 3, 3]);
  assert.deepEqual(place.formerSensors, [
    { sensor: "1", untilMs: START_MS + 3 * MINUTE_MS },
    { sensor: "2", untilMs: START_MS + 5 * MINUTE_MS },
  ]);
  const own = await get(`trend?sensor=1&${range}`);
  assert.deepEqual(own.series.rpm.mean, [1, 1, 1, 1]);
  assert.equal(own.formerSensors, undefined);

  const { sensors, total } = await get("sensors");
  assert.deepEqual(
    sensors.map(({ code, state, enabled, replacedBy }: Record<string, unknown>) => [
      code,
      state,
      enabled,
      replacedBy,
    ]),
    [
      ["3", "unknown", true, null],
      ["1", "unknown", false, "3"],
      ["2", "removed", false, "3"],
    ],
  );
  assert.equal(total, 3);
  const gone = await get("sensors/2");
  assert.deepEqual([gone.state, gone.kinds], ["removed", ["rpm"]]);
  assert.equal(gone.latest.rpm.values.rpm, 2);
  assert.equal((await get("sensors?state=removed")).total, 1);
  assert.match((await get("sensors/4")).error.message, /no sensor/);
});

test("sensor removed – one that has only hourly values or kept measurements left is still listed", async (t) => {
  const plain = testParts();
  const hours = {
    points: () => [],
    isGone: () => true,
    firstMs: (sensor: string) => (sensor === "hours" ? START_MS : null),
    sinceMs: () => START_MS,
  };
  const extent = { count: 1, oldestMs: START_MS, newestMs: START_MS };
  const measurements = {
    ...plain.measurements,
    extent: ({ sensor }: { sensor: string }) => (sensor === "kept" ? extent : null),
  };
  const streams = () =>
    ["hours", "kept", "aged"].map((sensor) => ({ sensor, kind: "accel" as const }));
  const history = {
    latest: () => null,
    latestOf: () => [],
    streams,
    page: () => [],
    extent: () => null,
    counts: () => [],
    newestSeq: () => 0,
    merged: () => [],
  };
  const formerName = (code: string) => (code === "hours" ? "Pump 4 DE bearing" : null);
  const app = createApp({ ...plain, history, hours, measurements, formerName }, OPTIONS);
  t.after(() => app.close());
  const get = async (url: string) =>
    (await app.inject({ url: `/api/v1/${url}`, headers: { host: "localhost" } })).json();
  const { sensors } = await get("sensors?state=removed");
  assert.equal(sensors[0].name, "Pump 4 DE bearing", "its last name");
  assert.deepEqual(
    sensors.map(({ code }: { code: string }) => code),
    ["hours", "kept"],
  );
  assert.equal((await get("sensors/kept")).state, "removed");
});
