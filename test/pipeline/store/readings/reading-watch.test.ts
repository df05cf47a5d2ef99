import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reading } from "../../../../src/core/reading.ts";
import type { Kind, PolledKind, Sensor, StreamKey } from "../../../../src/core/sensor.ts";
import { ReplaceableSite } from "../../../../src/core/site-source.ts";
import { LiveHub } from "../../../../src/pipeline/store/readings/live-hub.ts";
import { ReadingWatch } from "../../../../src/pipeline/store/readings/reading-watch.ts";
import { storedReading } from "../../../support/memory-outbox.ts";

const VALUES: Readonly<Partial<Record<Kind, object>>> = {
  accel: { channel1_zone: "D" },
  rpm: { rpm: 1480, battery: 3.6 },
};
const latest = (sensor: string, kind: Kind) =>
  storedReading(1, { sensor, kind, values: JSON.stringify(VALUES[kind]) });
const history = {
  latest,
  latestOf: <K extends StreamKey>(wanted: readonly K[]) =>
    wanted.map((key) => [key, latest(key.sensor, key.kind)] as const),
};
const fan = (...kinds: PolledKind[]): Sensor => ({ code: "7", type: 3, kinds, channels: {} });
const siteOf = (...sensors: Sensor[]) => ({ site: "plant", sensors });

test("reading watch – zone and battery of a kind that leaves the site file go with it, and return with it", () => {
  const site = new ReplaceableSite(siteOf(fan("accel", "rpm")));
  const watch = new ReadingWatch(site, history, new LiveHub());
  watch.open();
  const known = () => [watch.zone("7"), watch.batteryV("7")];
  assert.deepEqual(known(), ["D", 3.6]);
  const renamed = { ...fan("accel", "rpm"), name: "Fan" };
  for (const [sensors, expected] of [
    [[renamed], ["D", 3.6]],
    [[fan("rpm")], [null, 3.6]],
    [[fan("accel")], ["D", null]],
    [[], [null, null]],
    [[fan("rpm", "accel")], ["D", 3.6]],
  ] as const) {
    site.replace(siteOf(...sensors));
    assert.deepEqual(known(), expected);
  }
});

test("reading watch – a node's state that is dated in the future does not stand in place of those that follow", () => {
  const empty = { latest: () => null, latestOf: () => [] };
  const site = new ReplaceableSite(siteOf(fan()));
  const watch = new ReadingWatch(site, empty, new LiveHub());
  watch.open();
  const state = (timeMs: number, battery: number, flags: readonly string[] = []): Reading => ({
    id: String(timeMs),
    sensor: "7",
    kind: "node",
    timeMs,
    offsetMinutes: null,
    values: { battery, firmware: battery, signal: -battery },
    units: {},
    quality: {},
    attributes: { flags },
    raw: {},
    waveform: null,
  });
  watch.stored(state(Date.UTC(2106, 1, 7), 2, ["time_in_future"]));
  assert.deepEqual([watch.batteryV("7"), watch.node("7")], [null, null]);
  watch.stored(state(1000, 3.6));
  assert.equal(watch.batteryV("7"), 3.6);
  assert.deepEqual(watch.node("7"), { timeMs: 1000, firmware: 3.6, signalDbm: -3.6 });
});
