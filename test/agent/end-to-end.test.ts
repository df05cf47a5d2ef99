/** The built program against the simulator over HTTP and a real broker: everything it publishes, compared with the truth. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { POLLED_KINDS, type Sensor } from "../../src/core/sensor.ts";
import type { TruthRecord } from "../../src/simulator/day-response.ts";
import { deadlineMs } from "../support/deadline.ts";
import { expectedId, expectedReading } from "../support/expected-reading.ts";
import { type SeenMessage, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

const START_MS = Date.UTC(2026, 2, 10, 1, 30);
const SENSORS = 50;
const ZONE = "Asia/Kolkata";
/** Statistics, and what comes out of spectra (signal-definitions 11). */
const TOLERANCE = 1e-9;
const SPECTRAL_TOLERANCE = 1e-6;

interface Payload {
  readonly v: number;
  readonly id: string;
  readonly site: string;
  readonly sensor: string;
  readonly kind: string;
  readonly name: string;
  readonly time: string;
  readonly values: Record<string, number | string | boolean | null>;
  readonly units: Record<string, string>;
  readonly quality: Record<string, unknown>;
  readonly attributes: Record<string, unknown>;
  readonly location: unknown;
  readonly historical: boolean;
}

const parsed = (message: SeenMessage): Payload => JSON.parse(message.text);
const isReading = ({ topic }: SeenMessage) =>
  /\/(history|\d+\/[a-zA-Z0-9]+)$/.test(topic) && !/\/(state|about)$/.test(topic);

function plantFor(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Plant> {
  return startPlant(t, {
    simulator: {
      sensors: SENSORS,
      startMs: START_MS,
      zone: ZONE,
      speed: 10,
      historyDays: 0.5,
      growthDays: 4,
      waveform: { sampleRateHz: 6400, samples: 1024 },
      cadenceS: { current: 300, currentV2: 300, loop: 300, dryContact: 300, rpm: 300, accel: 5400 },
    },
    env: {
      GATEWAY_TIMEZONE: ZONE,
      POLL_INTERVAL_S: "4",
      BACKFILL_DAYS: "1",
      PUBLISH_FORMATS: "json,plain",
      PUBLISH_WAVEFORMS: "always",
      GATEWAY_CONCURRENCY: "8",
      ...env,
    },
  });
}

/** The gateway's records until a moment: today's, and yesterday's, which is still open for late ones. */
function truthUntil({ simulator }: Plant, untilMs: number): TruthRecord[] {
  return simulator.plant.sensors.flatMap(({ code, kinds }) =>
    kinds.flatMap((kind) => simulator.truth(code, kind, START_MS - 86_400_000, untilMs)),
  );
}

const idOf = ({ sensor, kind, record }: TruthRecord) => expectedId(sensor, kind, record) as string;

function readingsById(
  messages: readonly SeenMessage[],
  byId = new Map<string, SeenMessage[]>(),
): Map<string, SeenMessage[]> {
  for (const message of messages.filter(isReading)) {
    const id = String(message.userProperties["id"] ?? parsed(message).id);
    const list = byId.get(id);
    if (list) list.push(message);
    else byId.set(id, [message]);
  }
  return byId;
}

/** Waits until every record of the truth has come over MQTT; returns them by id. */
async function collect(messages: () => readonly SeenMessage[], truth: readonly TruthRecord[]) {
  const wanted = truth.map((item) => [idOf(item), item] as const);
  const seen = new Map<string, SeenMessage[]>();
  let missing: readonly TruthRecord[] = [];
  let at = 0;
  const what = () => {
    const some = missing.slice(0, 5).map((m) => `${m.sensor} ${m.kind} ${m.n} of ${m.day}`);
    return `${missing.length} missing records: ${some.join(", ")}`;
  };
  const look = () => {
    const all = messages();
    readingsById(all.slice(at), seen);
    at = all.length;
    missing = wanted.flatMap(([id, item]) => (seen.has(id) ? [] : [item]));
    return missing.length === 0 ? seen : undefined;
  };
  return until(what, look, 60_000);
}

function assertNear(actual: unknown, expected: number, tolerance: number, what: string): void {
  assert.equal(typeof actual, "number", what);
  const difference = Math.abs(Number(actual) - expected);
  assert.ok(
    // Values of vibration have nine significant digits.
    difference <= Math.max(tolerance, 5e-9) * Math.abs(expected) + 1e-9,
    `${what}: ${actual}, not ${expected}`,
  );
}

function assertReading(plant: Plant, truth: TruthRecord, message: SeenMessage): void {
  const sensor = plant.simulator
    .siteFile("plant")
    .sensors.find(({ code }) => code === truth.sensor) as Sensor;
  const want = expectedReading(sensor, truth.kind, truth.record);
  const got = parsed(message);
  const what = `${truth.sensor} ${truth.kind} ${got.time}`;
  const topic = `gateside/plant/${truth.sensor}/${truth.kind}`;
  assert.equal(message.topic, got.historical ? `${topic}/history` : topic, what);
  assert.deepEqual([message.qos, message.retain], [1, !got.historical], what);
  assert.equal(got.v, 1);
  assert.equal(got.id, idOf(truth), what);
  assert.deepEqual([got.site, got.sensor, got.kind], ["plant", truth.sensor, truth.kind]);
  assert.equal(got.name, sensor.name);
  assert.equal(got.time, new Date(want.timeMs).toISOString(), what);
  assert.deepEqual(got.units, want.units, what);
  assert.deepEqual(got.quality, want.quality, what);
  assert.deepEqual(got.attributes, want.attributes, what);
  assert.deepEqual(got.location, sensor.location, what);
  assert.deepEqual(Object.keys(got.values).sort(), Object.keys(want.values).sort(), what);
  for (const [name, value] of Object.entries(want.values)) {
    if (typeof value !== "number") assert.equal(got.values[name], value, `${what} ${name}`);
    else {
      const isSpectral = /vel_rms|disp_pp|env_rms/.test(name);
      assertNear(
        got.values[name],
        value,
        isSpectral ? SPECTRAL_TOLERANCE : TOLERANCE,
        `${what} ${name}`,
      );
    }
  }
}

/** Live topics only move forward; the newest of each stream stands retained with the plain texts of its values. */
function assertLiveTopics(messages: readonly SeenMessage[]): void {
  const newest = new Map<string, string>();
  for (const message of messages.filter(isReading)) {
    if (message.topic.endsWith("/history")) continue;
    const { time } = parsed(message);
    assert.ok(time > (newest.get(message.topic) ?? ""), `${message.topic} went back to ${time}`);
    newest.set(message.topic, time);
  }
}

function assertWaveforms(
  plant: Plant,
  messages: readonly SeenMessage[],
  truth: readonly TruthRecord[],
): void {
  const configuredChannels = new Map(
    plant.simulator.siteFile("plant").sensors.map(({ code, channels }) => [code, channels]),
  );
  const byId = new Map(truth.map((item) => [idOf(item), item]));
  const seen = new Map<string, number>();
  for (const message of messages.filter(({ topic }) => topic.includes("/waveform/"))) {
    const got = JSON.parse(message.text);
    const item = byId.get(got.id);
    if (!item) continue;
    const counts = item.record[got.channel];
    assert.ok(counts instanceof Int16Array);
    const mean = counts.reduce((total, count) => total + count, 0) / counts.length;
    const bytes = Buffer.from(got.base64, "base64");
    assert.equal(bytes.length, counts.length * 4);
    counts.forEach((count, i) => {
      const g = (count - mean) * Number(item.record["calibration"]);
      assert.ok(Math.abs(bytes.readFloatLE(i * 4) - g) <= 1e-6 * Math.max(1, Math.abs(g)));
    });
    const { base64: _, channels, ...head } = got;
    const channel = Number(got.channel.slice(-1));
    const listed = configuredChannels.get(item.sensor)?.[got.channel];
    assert.deepEqual(channels, listed && { [got.channel]: listed });
    assert.deepEqual(head, {
      v: 1,
      id: got.id,
      site: "plant",
      sensor: item.sensor,
      time: new Date(item.timeMs).toISOString(),
      channel: got.channel,
      axis: "HVA"[channel - 1],
      unit: "G",
      sampleRate: 6400,
      samples: counts.length,
      recordingReason: ["", "requested", "scheduled", "alarm"][
        Number(item.record["recording_reason"])
      ],
    });
    assert.equal(message.topic, `gateside/plant/${item.sensor}/waveform/${got.channel}`);
    assert.deepEqual([message.qos, message.retain], [1, false]);
    seen.set(got.id, (seen.get(got.id) ?? 0) + 1);
  }
  for (const item of truth.filter(({ kind }) => kind === "accel")) {
    const axes = item.record["channel3"] === null ? 2 : 3;
    assert.ok((seen.get(idOf(item)) ?? 0) >= axes, `waveforms of ${item.sensor} ${item.n}`);
  }
}

const skip = skipWithoutBuild || skipWithoutMosquitto;

describe("the built agent", { skip, concurrency: false, timeout: deadlineMs(180_000) }, () => {
  it("publishes every record of 50 sensors of all kinds as the contract says, and ends with its will", async (t) => {
    const plant = await plantFor(t);
    const all = await plant.subscribe();
    const agent = plant.startAgent();
    await all.waitFor(({ topic }) => topic === "gateside/plant/agent/state", 20_000);
    const truth = truthUntil(plant, plant.simulator.clock.now());
    assert.deepEqual([...new Set(truth.map(({ kind }) => kind))].sort(), [...POLLED_KINDS].sort());
    assert.equal(new Set(truth.map(({ sensor }) => sensor)).size, SENSORS);
    const seen = await collect(() => all.messages, truth);
    // Records that come about from now on are live.
    const late = plant.simulator.clock.now();
    await all.waitUntil(
      (messages) =>
        messages.some(
          (m) => isReading(m) && !m.topic.endsWith("/history") && Date.parse(parsed(m).time) > late,
        ),
      30_000,
    );

    for (const item of truth) {
      const messages = seen.get(idOf(item)) ?? [];
      assert.equal(messages.length, 1, `${item.sensor} ${item.kind} ${item.n} once`);
      assertReading(plant, item, messages[0] as SeenMessage);
    }
    const everything = truthUntil(plant, Number.POSITIVE_INFINITY);
    const known = new Set(everything.map(idOf));
    for (const id of readingsById(all.messages).keys())
      assert.ok(known.has(id), `${id} was invented`);
    assertLiveTopics(all.messages);
    const waveformsWanted = truth.reduce(
      (count, { kind, record }) =>
        count + (kind !== "accel" ? 0 : record["channel3"] === null ? 2 : 3),
      0,
    );
    await all.waitUntil(
      (messages) =>
        messages.filter(({ topic }) => topic.includes("/waveform/")).length >= waveformsWanted,
      30_000,
    );
    assertWaveforms(plant, all.messages, truth);

    await t.test("MQTT 5 properties carry id, kind and content type", () => {
      for (const [id, [message]] of seen) {
        if (!message) continue;
        assert.equal(message.contentType, "application/json");
        assert.deepEqual({ ...message.userProperties }, { id, kind: parsed(message).kind });
      }
    });
    await t.test(
      "a new subscriber finds the newest live reading and its plain values retained",
      async () => {
        const next = await plant.subscribe();
        await next.waitUntil((messages) => messages.length > 300, 10_000);
        const plain = next.messages.filter(
          ({ topic }) =>
            /\/\d+\/(rpm|loop|current|dryContact)\/\w+$/.test(topic) && !topic.endsWith("/history"),
        );
        assert.ok(plain.length > 50);
        const live = new Map(
          next.messages.filter((m) => isReading(m) && m.retain).map((m) => [m.topic, parsed(m)]),
        );
        for (const message of plain) {
          const at = message.topic.lastIndexOf("/");
          const reading = live.get(message.topic.slice(0, at));
          if (reading?.id !== message.userProperties["id"]) continue;
          assert.equal(message.text, String(reading?.values[message.topic.slice(at + 1)]));
        }
      },
    );
    await t.test("states and statistics report its condition", async () => {
      const state = JSON.parse(all.onTopic("gateside/plant/agent/state").at(-1)?.text ?? "{}");
      assert.equal(state.state, "online");
      assert.equal(typeof state.version, "string");
      const sensor = await all.waitFor(
        ({ topic, text }) =>
          topic === "gateside/plant/100200300/state" && text.includes('"online"'),
        15_000,
      );
      assert.ok(sensor.retain);
      const stats = JSON.parse(
        (await all.waitFor(({ topic }) => topic.endsWith("agent/stats"), 10_000)).text,
      );
      assert.equal(typeof stats.gateway.isUp, "boolean");
      assert.equal(stats.brokers[0].isConnected, true);
      assert.ok("hoursUntilFull" in stats.buffer && "oldestAgeS" in stats.buffer);
    });
    await t.test("a killed agent leaves `offline` behind", async () => {
      const before = all.messages.length;
      await agent.kill();
      await all.waitUntil(
        (messages) =>
          messages
            .slice(before)
            .some(
              ({ topic, text }) =>
                topic === "gateside/plant/agent/state" && text.includes('"offline"'),
            ),
        10_000,
      );
    });
    await t.test("a newly installed agent gives every record the id it had", async () => {
      all.clear();
      const again = plant.startAgent({ DATA_DIR: join(plant.dataDir, "..", "second") });
      const repeated = await collect(() => all.messages, truth);
      for (const item of truth) {
        const before = parsed((seen.get(idOf(item)) ?? [])[0] as SeenMessage);
        const after = parsed((repeated.get(idOf(item)) ?? [])[0] as SeenMessage);
        assert.deepEqual({ ...after, historical: null }, { ...before, historical: null });
      }
      assert.equal(await again.stop(), 0);
    });
  });

  it("publishes the same over MQTT 3.1.1", async (t) => {
    const plant = await plantFor(t, {
      MQTT_VERSION: "4",
      PUBLISH_FORMATS: "json",
      PUBLISH_WAVEFORMS: "never",
    });
    const all = await plant.subscribe();
    const agent = plant.startAgent();
    await all.waitFor(({ topic }) => topic === "gateside/plant/agent/state", 20_000);
    const truth = truthUntil(plant, plant.simulator.clock.now()).filter(
      ({ kind }) => kind !== "accel",
    );
    const seen = await collect(() => all.messages, truth);
    for (const item of truth)
      assertReading(plant, item, (seen.get(idOf(item)) ?? [])[0] as SeenMessage);
    assertLiveTopics(all.messages);
    assert.equal(await agent.stop(), 0);
    const state = JSON.parse(all.onTopic("gateside/plant/agent/state").at(-1)?.text ?? "{}");
    assert.equal(state.state, "offline");
  });
});
