import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownStatus } from "../../src/core/agent-status.ts";
import type { ShownReading, ShownSensor } from "../../src/core/query/shown.ts";
import { Model } from "../../src/dashboard/model.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12);

function statusOf(more: Partial<ShownStatus> = {}): ShownStatus {
  return {
    site: "plant",
    version: "1",
    startedAtMs: NOW_MS - 1000,
    nowMs: NOW_MS,
    timezone: "Europe/Berlin",
    gateway: {
      isUp: true,
      isNeeded: true,
      url: "http://gateway",
      lastAnswerAtMs: NOW_MS,
      lastError: null,
      lastErrorClass: null,
      skewMs: 7_200_000,
    },
    links: [],
    buffer: {
      lanes: {},
      readings: 0,
      databaseBytes: 0,
      limitBytes: 1,
      diskFreeBytes: null,
      hoursUntilFull: null,
      hours: { bytes: 0, limitBytes: 16_777_216, oldestHourMs: null, oldestDayMs: null },
      dropped: {},
      alarm: null,
      isWritable: true,
      kept: { measurements: 0, pins: 0, bytes: 0, limitBytes: 16 << 20, isFull: false },
    },
    sensors: [],
    delivered: 0,
    clock: { skewMs: null, isPlausible: true, isConfirmed: true },
    configuration: "0123456789ab",
    pendingRestart: [],
    renewedByRestart: [],
    setup: false,
    notifications: [],
    activeAlarms: null,
    certificates: [],
    daysSetAside: [],
    pendingReload: [],
    configurationFaults: [],
    http: { address: null, lastError: null },
    faults: 0,
    alarms: null,
    ...more,
  };
}

const SENSOR: ShownSensor = {
  code: "1",
  type: 3,
  name: null,
  description: null,
  model: null,
  kinds: ["accel"],
  enabled: true,
  replaces: [],
  replacedBy: null,
  location: null,
  channels: {},
  machineClass: null,
  limits: null,
  speedRpm: null,
  batteryLowV: null,
  state: "online",
  lastReadingMs: null,
  batteryV: null,
  firmware: null,
  signalDbm: null,
  reads: [],
  zone: null,
  latest: {},
};

function readingOf(timeMs: number, more: Partial<ShownReading> = {}): ShownReading {
  return {
    seq: 1,
    id: String(timeMs),
    sensor: "1",
    kind: "accel",
    time: "",
    timeMs,
    storedAtMs: timeMs,
    values: { channel1_zone: "A", channel2_zone: "C", battery: 3.5 },
    units: {},
    quality: {},
    attributes: {},
    waveforms: [],
    ...more,
  };
}

test("model – an older reading, or one from the future, never replaces the one shown", () => {
  const model = new Model();
  model.takeSensors([SENSOR]);
  model.takeReading(readingOf(2_000));
  model.takeReading(readingOf(1_000));
  model.takeReading(readingOf(9_000, { attributes: { flags: ["time_in_future"] } }));
  model.takeReading(readingOf(9_000, { sensor: "unheard of" }));
  const shown = model.sensors.get("1");
  assert.equal(shown?.latest.accel?.timeMs, 2_000);
  assert.equal(shown?.zone, "C");
  assert.equal(shown?.batteryV, 3.5);
  assert.equal(shown?.lastReadingMs, 2_000);
});

test("model – ages are computed from the gateway's clock, not this computer's", () => {
  const model = new Model();
  model.takeStatus(statusOf());
  const ahead = model.gatewayNowMs() - (NOW_MS + 7_200_000);
  assert.ok(ahead >= 0 && ahead < 5_000, `${ahead} ms off`);
  assert.equal(model.times.zone, "Europe/Berlin");
});

test("model – when data stops, rates end and listeners are notified once", () => {
  const model = new Model();
  const heard: string[] = [];
  model.subscribe((change) => heard.push(change));
  model.takeStatus(statusOf());
  model.takeLive("live");
  model.takeLive("live");
  assert.equal(model.isLive, true);
  model.takeLive("late");
  model.takeLive("late");
  assert.equal(model.isLive, false);
  assert.deepEqual(heard, ["status", "live", "live"]);
  assert.deepEqual(model.rates(), { storedPerS: null, sentPerS: new Map() });
  assert.notEqual(model.live.lastHeardMs, null);
});

test("model – each link has its own rate", (t) => {
  let nowMs = 1_000;
  t.mock.method(performance, "now", () => nowMs);
  const model = new Model();
  const link = {
    isConnected: true,
    url: "mqtt://b",
    since: 1,
    lastError: null,
    refused: null,
    failures: {},
  };
  const statusAfter = (mqtt: number, sparkplug: number) =>
    statusOf({
      links: [
        { ...link, name: "mqtt", uplink: "main", pending: 0, oldestTimeMs: null, delivered: mqtt },
        {
          ...link,
          name: "sparkplug",
          uplink: "main",
          pending: 0,
          oldestTimeMs: null,
          delivered: sparkplug,
        },
      ],
      delivered: mqtt + sparkplug,
    });
  model.takeStatus(statusAfter(100, 7));
  nowMs += 10_000;
  model.takeStatus(statusAfter(150, 7));
  // Nothing in ten seconds is no rate yet; nothing in a minute is.
  assert.deepEqual(model.rates(), { storedPerS: null, sentPerS: new Map([["main/mqtt", 5]]) });
  for (let n = 0; n < 30; n++) {
    nowMs += 2_000;
    model.takeStatus(statusAfter(150, 7));
  }
  const idle = new Map([
    ["main/mqtt", 0],
    ["main/sparkplug", 0],
  ]);
  assert.deepEqual(model.rates(), { storedPerS: 0, sentPerS: idle });
});

test("model – a list and readings in any order leave the newest reading of each kind", () => {
  const older = readingOf(1_000, { values: { channel1_zone: "A" } });
  const newer = readingOf(2_000, { values: { channel1_zone: "D" }, seq: 2 });
  const list: ShownSensor[] = [{ ...SENSOR, latest: { accel: older }, zone: "A" }];
  const events = [
    (model: Model) => model.takeSensors(list),
    (model: Model) => model.takeReading(newer),
    (model: Model) => model.takeSensors(list),
  ];
  for (const order of [
    [0, 1],
    [1, 0],
    [0, 1, 2],
    [1, 0, 2],
  ]) {
    const model = new Model();
    for (const at of order) events[at]?.(model);
    const shown = model.sensors.get("1");
    assert.deepEqual([shown?.latest.accel?.timeMs, shown?.zone], [2_000, "D"], order.join());
  }
});

test("model – a kind that left the site file leaves with the next list", () => {
  const model = new Model();
  model.takeSensors([SENSOR]);
  model.takeReading(readingOf(2_000));
  model.takeSensors([{ ...SENSOR, kinds: ["rpm"] }]);
  assert.deepEqual(model.sensors.get("1")?.latest, {});
});
