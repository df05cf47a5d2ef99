/** A buffer that is too small for the outage, with the built agent: what is dropped first, what is reported, and the size of its files. */
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Relay } from "../../scripts/chaos/relay.ts";
import { bufferOf, storedCount, untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { assertLiveMovesForward, SeenReadings, truthOf } from "../support/seen-readings.ts";
import { SkippingClock } from "../support/skipping-clock.ts";
import { until } from "../support/wait-until.ts";

const HOUR_MS = 3_600_000;
/** Three in the night: all of it happens on one day, so that each stream is read in the order of time. */
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 3 * HOUR_MS;
const BUFFER_MB = 8;
const skip = skipWithoutBuild || skipWithoutMosquitto;

interface Buffer {
  readonly readings: number;
  readonly lanes: { readonly json: { readings: number }; readonly waveform: { readings: number } };
  readonly dropped: Readonly<Record<string, number>>;
}

/** The most that all files together ever held, looked at again and again. */
function watchFiles(t: TestContext, directory: string): () => number {
  let most = 0;
  const timer = setInterval(() => {
    try {
      const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size);
      most = Math.max(
        most,
        sizes.reduce((a, b) => a + b, 0),
      );
    } catch {
      // A file went away between the two calls, or the directory is not there yet.
    }
  }, 10);
  t.after(() => clearInterval(timer));
  return () => most;
}

describe("a buffer smaller than the outage", { skip, timeout: deadlineMs(120_000) }, () => {
  it("drops delivered history, then waveforms, then the oldest readings, reports each of those, and stays within its size", async (t) => {
    const clock = new SkippingClock();
    const plant = await startPlant(t, {
      simulator: {
        clock,
        sensors: 7,
        startMs: START_MS,
        historyDays: 2 / 24,
        waveform: { sampleRateHz: 6400, samples: 2048 },
        cadenceS: {
          accel: 600,
          accCurrent: 30,
          current: 30,
          currentV2: 30,
          loop: 30,
          dryContact: 30,
          rpm: 30,
        },
      },
      broker: { receiveMaximum: 1000 },
      // Events of alarms lie in the buffer, too, and would have to be distinguished from readings here.
      env: {
        BUFFER_MAX_MB: String(BUFFER_MB),
        PUBLISH_WAVEFORMS: "always",
        ALARMS_ENABLED: "false",
      },
    });
    const { simulator } = plant;
    clock.stop();
    const relay = new Relay(plant.broker.port);
    await relay.listen();
    t.after(() => relay.close());
    const all = await plant.subscribe();
    const seen = new SeenReadings(all);
    const mostBytes = watchFiles(t, plant.dataDir);
    const agent = plant.startAgent({ MQTT_URL: relay.url });
    const shown = () => truthOf(simulator, START_MS - 3 * HOUR_MS);
    await seen.waitFor(shown(), 30_000);
    await untilMetric(agent, "gateside_outbox_readings", (value) => value === 0);
    // A reading whose waveform is pending is not history yet.
    await until("the waveforms", async () => {
      const { lanes } = await bufferOf<Buffer>(agent);
      return lanes.waveform.readings === 0 || undefined;
    });
    const delivered = new Set(seen.byId.keys());

    relay.shut();
    const looks: Buffer[] = [];
    for (let hours = 0; hours < 18; hours += 2) {
      clock.skip(2 * HOUR_MS);
      const wanted = shown().size;
      await until("the records", async () => (await storedCount(agent)) >= wanted || undefined);
      looks.push(await bufferOf<Buffer>(agent));
    }
    const firstWaveform = looks.find(({ dropped }) => (dropped["waveform_buffer_full"] ?? 0) > 0);
    const firstReading = looks.find(({ dropped }) => (dropped["buffer_full"] ?? 0) > 0);
    assert.ok(firstWaveform && firstReading, JSON.stringify(looks.at(-1)));
    assert.ok(looks.indexOf(firstWaveform) < looks.indexOf(firstReading), "waveforms first");
    assert.equal(firstWaveform.readings, firstWaveform.lanes.json.readings, "history before them");
    assert.ok((looks[0]?.readings ?? 0) > (looks[0]?.lanes.json.readings ?? 0), "it was there");

    const lastMs = Math.max(...[...shown().values()].map(({ timeMs }) => timeMs));
    relay.open();
    await untilMetric(agent, "gateside_outbox_readings", (value) => value === 0, 40_000);
    const { dropped } = await bufferOf<Buffer>(agent);
    const missing = seen.missing(shown());
    assert.equal(missing.length, dropped["buffer_full"], "lost are those that are counted");
    const gaps = await until("the gap records", () => {
      const reported = all.onTopic("gateside/plant/agent/gap").map(
        ({
          text,
        }): { sensor: string; kind: string; from: string; to: string } & {
          count: number;
          reason: string;
        } => JSON.parse(text),
      );
      const count = reported.reduce((sum, gap) => sum + gap.count, 0);
      assert.ok(count <= missing.length, `${count} reported, ${missing.length} lost`);
      return count === missing.length ? reported : undefined;
    });
    assert.deepEqual([...new Set(gaps.map(({ reason }) => reason))], ["buffer_full"]);
    for (const { code, kinds } of simulator.plant.sensors) {
      for (const kind of kinds) {
        const lost = missing.filter((item) => item.sensor === code && item.kind === kind);
        const reported = gaps.filter((gap) => gap.sensor === code && gap.kind === kind);
        const what = `${code} ${kind}`;
        assert.equal(
          reported.reduce((sum, gap) => sum + gap.count, 0),
          lost.length,
          what,
        );
        for (const { timeMs } of lost) {
          assert.ok(
            reported.some((gap) => timeMs >= Date.parse(gap.from) && timeMs <= Date.parse(gap.to)),
            what,
          );
        }
        // The oldest of what was owed, and nothing between.
        const newestLost = Math.max(...lost.map(({ timeMs }) => timeMs), 0);
        const kept = seen.list.filter(({ id, stream }) => stream === what && !delivered.has(id));
        const older = kept.filter(({ timeMs }) => timeMs <= newestLost);
        assert.equal(older.length, 0, `${what}: ${older.length} older ones were kept`);
      }
    }
    await untilMetric(
      agent,
      'gateside_lane_outbox_readings{lane="waveform"}',
      (value) => value === 0,
    );
    const accel = [...shown()].filter(([, { kind }]) => kind === "accel").map(([id]) => id);
    // The broker may acknowledge a message before it has sent it to a subscriber.
    await until("each waveform, sent or counted", () => {
      const withWaveform = new Set(
        all.messages
          .filter(({ topic }) => topic.includes("/waveform/"))
          .map(({ text }) => String(JSON.parse(text).id)),
      );
      const without = accel.filter((id) => !withWaveform.has(id)).length;
      assert.ok(without >= (dropped["waveform_buffer_full"] ?? 0), "none is counted and sent");
      return without === dropped["waveform_buffer_full"] || undefined;
    });

    // What was dropped for space is not fetched again, not even when the gateway shows the day in another order.
    simulator.faults.add({ name: "newest-first" });
    clock.skip(60_000);
    await seen.waitFor(new Map([...shown()].filter(([, { timeMs }]) => timeMs > lastMs)), 30_000);
    await untilMetric(agent, "gateside_outbox_readings", (value) => value === 0);
    assert.equal(seen.missing(shown()).length, missing.length, "given up for good");
    assert.deepEqual((await bufferOf<Buffer>(agent)).dropped, dropped);

    assert.ok(mostBytes() <= BUFFER_MB * 1024 * 1024, `${mostBytes()} bytes`);
    // The rest is kept for a -wal, whose longest moment a look may miss, and for what is remembered of removed readings.
    assert.ok(mostBytes() > 0.72 * BUFFER_MB * 1024 * 1024, `only ${mostBytes()} bytes`);
    assertLiveMovesForward(seen.list);
    assert.ok(agent.log.some(({ msg }) => /oldest undelivered readings/.test(String(msg))));
    assert.equal(await agent.stop(), 0);
  });
});
