/** Another program that holds the store of the built agent open, with a real broker: what is said, what goes on, and what comes after. */
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { bufferOf, storedCount, untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { holdStore } from "../support/hold.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { assertLiveMovesForward, SeenReadings, truthOf } from "../support/seen-readings.ts";
import { SkippingClock } from "../support/skipping-clock.ts";
import { starvedMs } from "../support/starved.ts";
import { until } from "../support/wait-until.ts";

const HOUR_MS = 3_600_000;
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 3 * HOUR_MS;
const HELD_METRIC = "gateside_store_held_seconds";
const MIB = 1 << 20;
const skip = skipWithoutBuild || skipWithoutMosquitto;

interface Buffer {
  readonly alarm: string | null;
  readonly isWritable: boolean;
  readonly dropped: Readonly<Record<string, number>>;
}

/** The longest that /healthz took once there was a processor for it, ms. */
function watchHealth(t: TestContext, agent: BuiltAgent): () => number {
  let longest = 0;
  const stop = new AbortController();
  const watching = (async () => {
    const address = await agent.address;
    while (!stop.signal.aborted) {
      const now = () => performance.now() - starvedMs(agent.process.pid) - starvedMs();
      const startedAt = now();
      await (await fetch(`${address}/healthz`)).text().catch(() => "");
      longest = Math.max(longest, now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })().catch(() => {});
  t.after(async () => {
    stop.abort();
    await watching;
  });
  return () => longest;
}

const filesBytes = (directory: string) =>
  readdirSync(directory)
    .filter((name) => name.startsWith("gateside."))
    .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);

// Both wait, mostly.
const options = { skip, timeout: deadlineMs(180_000), concurrency: true };

describe("a store that another program holds open", options, () => {
  it("is told with the program's pid; reading pauses, what is stored goes out, also after kill -9, and all of it arrives", async (t) => {
    const clock = new SkippingClock();
    const plant = await startPlant(t, {
      simulator: {
        clock,
        sensors: 7,
        startMs: START_MS,
        historyDays: 0.5 / 24,
        waveform: { sampleRateHz: 6400, samples: 2048 },
        cadenceS: { accel: 60 },
      },
      env: { BUFFER_MAX_MB: "16" },
    });
    clock.stop();
    const { dataDir, simulator } = plant;
    const seen = new SeenReadings(await plant.subscribe());
    const shown = () => truthOf(simulator, START_MS - 3 * HOUR_MS);
    let agent = plant.startAgent();
    await seen.waitFor(shown(), 30_000);
    const holder = await holdStore(t, dataDir, "reader");
    const longest = watchHealth(t, agent);
    clock.skip(HOUR_MS / 4);
    await untilMetric(agent, HELD_METRIC, (value) => value > 0, 20_000);
    const said = `another program holds the store open (pid ${holder.pid}), since `;
    assert.ok((await bufferOf<Buffer>(agent)).alarm?.startsWith(said));
    assert.ok(agent.log.some(({ msg }) => String(msg).startsWith(said)));
    const doctor = await runCommand(["doctor"], { env: plant.env });
    assert.match(doctor.stdout, new RegExp(`^FAILED +store +another program .*${holder.pid}`, "m"));

    const isPaused = async () =>
      /: reading pauses/.test((await bufferOf<Buffer>(agent)).alarm ?? "") || undefined;
    for (let quarters = 0; quarters < 48 && !(await isPaused()); quarters++) {
      clock.skip(HOUR_MS / 4);
      const wanted = shown().size;
      const isRead = async () => (await storedCount(agent)) >= wanted || undefined;
      await until("the records, or a pause", async () => (await isRead()) ?? isPaused());
    }
    await until("the pause", isPaused);
    assert.ok(filesBytes(dataDir) < 20 * MIB, `${filesBytes(dataDir)}`);
    assert.ok(longest() < deadlineMs(1_000), `/healthz took ${longest()} ms`);

    await agent.kill();
    agent = plant.startAgent();
    await untilMetric(agent, HELD_METRIC, (value) => value > 0, 30_000);
    await holder.release();
    await untilMetric(agent, HELD_METRIC, (value) => value === 0, 20_000);
    await seen.waitFor(shown(), 60_000);
    assertLiveMovesForward(seen.list);
    const { alarm, dropped, isWritable } = await bufferOf<Buffer>(agent);
    assert.deepEqual(
      { alarm, dropped, isWritable },
      { alarm: null, dropped: {}, isWritable: true },
    );
    await until(
      "a short log",
      () => statSync(join(dataDir, "gateside.db-wal")).size <= MIB || undefined,
    );
  });

  it("is not written while that has the lock: changes are refused over HTTP, by commands and over MQTT, and /healthz answers", async (t) => {
    const plant = await startPlant(t, { env: { COMMANDS_ENABLED: "true" } });
    const subscriber = await plant.subscribe();
    const agent = plant.startAgent();
    await untilMetric(agent, "gateside_delivered_total", (value) => value > 0);
    const holder = await holdStore(t, plant.dataDir, "writer");
    const longest = watchHealth(t, agent);
    await untilMetric(agent, HELD_METRIC, (value) => value > 0, 20_000);
    const { alarm, isWritable } = await bufferOf<Buffer>(agent);
    assert.match(alarm ?? "", new RegExp(`\\(pid ${holder.pid}\\).*: nothing is written`));
    assert.equal(isWritable, false);

    const response = await fetch(`${await agent.address}/api/v1/backfill`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ from: "2020-01-01", to: "2020-01-01" }),
    });
    assert.equal(response.status, 503);
    assert.match(await response.text(), /store_held: another program holds the store open/);
    const words = ["backfill", "--from", "2020-01-01", "--to", "2020-01-01"];
    const command = await runCommand(words, { env: plant.env });
    assert.equal(command.code, 1);
    assert.match(command.stderr, /store_held/);
    await subscriber.publish("gateside/plant/agent/cmd/saveSettings", JSON.stringify({ a: 1 }));
    const answer = await subscriber.waitFor(({ topic }) => topic.endsWith("saveSettings/result"));
    assert.equal(JSON.parse(answer.text).reason, "store_held");
    assert.ok(longest() < deadlineMs(1_000), `/healthz took ${longest()} ms`);

    await holder.release();
    await untilMetric(agent, HELD_METRIC, (value) => value === 0, 20_000);
    await until(
      "a store that is written",
      async () => (await bufferOf<Buffer>(agent)).isWritable || undefined,
    );
    assert.deepEqual((await bufferOf<Buffer>(agent)).dropped, {});
  });
});
