/** A broker that is away and comes back, in the order that contract section 6 promises to a subscriber. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Relay } from "../../scripts/chaos/relay.ts";
import { untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { type RecordingSubscriber, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import {
  assertLiveMovesForward,
  type SeenReading,
  SeenReadings,
  truthOf,
} from "../support/seen-readings.ts";
import { SkippingClock } from "../support/skipping-clock.ts";
import { until } from "../support/wait-until.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const CADENCE_S = {
  accel: 20,
  accCurrent: 2,
  current: 2,
  currentV2: 2,
  loop: 2,
  dryContact: 2,
  rpm: 2,
} as const;
/** Two in the morning of this day: hours can be skipped, and all is within what the store keeps. */
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 120 * MINUTE_MS;
const WINDOW = 10;
const skip = skipWithoutBuild || skipWithoutMosquitto;

interface House {
  readonly plant: Plant;
  readonly relay: Relay;
  readonly clock: SkippingClock;
  readonly all: RecordingSubscriber;
  readonly seen: SeenReadings;
}

async function openHouse(
  t: TestContext,
  historyMinutes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<House> {
  const clock = new SkippingClock();
  const plant = await startPlant(t, {
    simulator: {
      clock,
      sensors: 7,
      startMs: START_MS,
      historyDays: (historyMinutes * MINUTE_MS) / DAY_MS,
      waveform: { sampleRateHz: 6400, samples: 256 },
      cadenceS: CADENCE_S,
    },
    broker: { receiveMaximum: 100 },
    env: {
      MQTT_INFLIGHT: String(WINDOW),
      PUBLISH_WAVEFORMS: "never",
      // Alarm events wait in the same buffer: what is owed would count more than the readings that these tests wait for.
      ALARMS_ENABLED: "false",
      ...env,
    },
  });
  const relay = new Relay(plant.broker.port);
  await relay.listen();
  t.after(() => relay.close());
  const all = await plant.subscribe();
  return { plant, relay, clock, all, seen: new SeenReadings(all) };
}

/** How many messages had arrived when each new reading was reported as stored, by id. */
async function watchStored(
  t: TestContext,
  agent: BuiltAgent,
  all: RecordingSubscriber,
): Promise<ReadonlyMap<string, number>> {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const response = await fetch(`${await agent.address}/api/v1/events`, { signal: stop.signal });
  const stored = new Map<string, number>();
  const read = async () => {
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        const match = /^event: reading\ndata: (.*)$/m.exec(event);
        if (match) stored.set(String(JSON.parse(match[1] ?? "{}").id), all.messages.length);
      }
    }
  };
  read().catch(() => {}); // Ended by the test.
  return stored;
}

describe("a broker that is away", { skip, concurrency: true, timeout: deadlineMs(120_000) }, () => {
  it("gets the newest of every sensor and kind live first, then the backlog oldest first, and new readings in between", async (t) => {
    const { plant, relay, clock, all, seen } = await openHouse(t, 1);
    const agent = plant.startAgent({ MQTT_URL: relay.url });
    const truthSoFar = () => truthOf(plant.simulator, START_MS - 2 * MINUTE_MS);
    await seen.waitFor(truthSoFar(), 30_000);
    relay.shut();
    await untilMetric(agent, "gateside_broker_connected", (value) => value === 0);
    clock.skip(7 * MINUTE_MS);
    const missed = seen.missing(truthSoFar()).length;
    assert.ok(missed > 1000, `${missed} records`);
    await untilMetric(agent, "gateside_outbox_readings", (value) => value >= missed);

    const newestKnown = new Map<string, number>();
    for (const { sensor, kind, timeMs } of truthSoFar().values()) {
      const stream = `${sensor} ${kind}`;
      newestKnown.set(stream, Math.max(timeMs, newestKnown.get(stream) ?? 0));
    }
    const before = seen.update().list.length;
    const stored = await watchStored(t, agent, all);
    // The backlog takes as long as it takes for new readings to come beside it.
    relay.delayAnswers(150);
    relay.open();
    const isNew = ({ stream, timeMs, isHistory }: SeenReading) =>
      !isHistory && timeMs > (newestKnown.get(stream) ?? Number.POSITIVE_INFINITY);
    await until(
      "new readings",
      () => seen.update().list.slice(before).filter(isNew).length >= 10 || undefined,
      60_000,
    );
    relay.delayAnswers(0);
    await seen.waitFor(truthSoFar(), 60_000);
    await untilMetric(agent, "gateside_outbox_readings", (value) => value < WINDOW);

    const back = seen.update().list.slice(before);
    const firstHistory = back.findIndex(({ isHistory }) => isHistory);
    const first = back.slice(0, firstHistory);
    for (const [stream, newestMs] of newestKnown) {
      const live = first.find((reading) => reading.stream === stream);
      const claim = `${stream} of ${new Date(newestMs).toISOString()} before the backlog`;
      // A record that became visible in the moment of the look may be stored just after it.
      const graceMs = stream.endsWith("accel") ? 22_000 : 5_000;
      assert.ok(live && live.timeMs >= newestMs - graceMs, claim);
    }
    const last = new Map<string, number>();
    for (const { stream, timeMs, isHistory } of back) {
      if (!isHistory) continue;
      assert.ok(timeMs >= (last.get(stream) ?? 0), `${stream}: the backlog goes back`);
      last.set(stream, timeMs);
    }

    // What was stored while the backlog went: on its live topic after a window on its way and one behind it.
    const lastHistory = back.findLast(({ isHistory }) => isHistory)?.index ?? 0;
    const meanwhile = back.filter(
      ({ id, isHistory }) =>
        !isHistory && (stored.get(id) ?? Number.POSITIVE_INFINITY) < lastHistory,
    );
    assert.ok(meanwhile.length >= 3, `${meanwhile.length} new readings beside the backlog`);
    for (const { id, stream, index } of meanwhile) {
      const between = back.filter(
        (other) => other.isHistory && other.index < index && other.index >= (stored.get(id) ?? 0),
      ).length;
      assert.ok(between <= 3 * WINDOW, `${stream} waited for ${between} messages of the backlog`);
    }
    assertLiveMovesForward(seen.list);
    const repeats = [...seen.byId.values()].filter((list) => list.length > 1).length;
    assert.ok(repeats <= WINDOW, `${repeats} readings came twice`);
  });

  it("gets the backlog no faster than MQTT_BACKLOG_RATE, and live readings at once", async (t) => {
    const rate = 100;
    const { plant, relay, clock, seen } = await openHouse(t, 2, {
      MQTT_BACKLOG_RATE: String(rate),
    });
    relay.shut();
    // Nothing new may count towards the size below while a sensor has not been read yet.
    clock.stop();
    const agent = plant.startAgent({ MQTT_URL: relay.url });
    const truth = truthOf(plant.simulator, START_MS - 3 * MINUTE_MS);
    await untilMetric(agent, "gateside_outbox_readings", (value) => value >= truth.size);
    relay.open();
    await seen.waitFor(truth, 60_000);
    const history = seen.list.filter(({ isHistory }) => isHistory);
    const streams = new Set(seen.list.map(({ stream }) => stream)).size;
    const first = seen.list.slice(0, streams);
    assert.ok(
      first.every(({ isHistory }) => !isHistory),
      "live first",
    );
    // A tenth of a second may go at once.
    const seconds = ((history.at(-1)?.at ?? 0) - (history[0]?.at ?? 0)) / 1000;
    const least = (history.length - rate / 10) / rate;
    assert.ok(seconds > 0.95 * least, `${history.length} messages in ${seconds} s`);
    // Far above: a busy machine may fall behind the rate, a stuck lane does worse.
    assert.ok(
      seconds * 1000 < deadlineMs(4000 * least + 5000),
      `${history.length} messages in ${seconds} s`,
    );
  });

  it("without a subscriber still counts as delivery, unless MQTT_REQUIRE_SUBSCRIBER is set", async (t) => {
    const { plant, all, seen } = await openHouse(t, 1, { MQTT_REQUIRE_SUBSCRIBER: "true" });
    await all.close();
    const truth = truthOf(plant.simulator, START_MS - 2 * MINUTE_MS);
    const agent = plant.startAgent();
    const refused = 'gateside_delivery_failures_total{reason="no_subscriber"}';
    await untilMetric(agent, refused, (value) => value > 0);
    await untilMetric(agent, "gateside_outbox_readings", (value) => value >= truth.size);
    await untilMetric(agent, "gateside_delivered_total", (value) => value === 0);
    const line = agent.log.find(({ reason }) => reason === "no_subscriber");
    assert.match(String(line?.["msg"]), /refuses this topic; trying again/);

    const late = new SeenReadings(await plant.subscribe());
    await late.waitFor(truth, 40_000);
    await untilMetric(agent, "gateside_outbox_readings", (value) => value === 0);
    assertLiveMovesForward(late.list);
    assert.equal(await agent.stop(), 0);

    // Without the setting the broker's word is enough: nobody listens, and all is delivered.
    const plain = plant.startAgent({
      MQTT_REQUIRE_SUBSCRIBER: "false",
      DATA_DIR: `${plant.dataDir}-plain`,
    });
    await untilMetric(plain, "gateside_delivered_total", (value) => value >= truth.size);
    assert.equal(seen.update().list.length, 0);
  });
});
