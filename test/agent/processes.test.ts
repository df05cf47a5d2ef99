/** The process itself: two on one directory, signals, and a start after a kill in the middle of a drain. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Relay } from "../../scripts/chaos/relay.ts";
import { untilMetric } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { programEnvironment } from "../support/fake-time.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { assertLiveMovesForward, SeenReadings, truthOf } from "../support/seen-readings.ts";
import { until, waitUntil } from "../support/wait-until.ts";

const MINUTE_MS = 60_000;
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 9 * 60 * MINUTE_MS;
const WINDOW = 10;
const skip = skipWithoutBuild || skipWithoutMosquitto;

async function openHouse(t: TestContext, historyMinutes: number) {
  const plant = await startPlant(t, {
    simulator: {
      sensors: 7,
      startMs: START_MS,
      historyDays: historyMinutes / (24 * 60),
      accelSensorsMax: 0,
      cadenceS: {
        accCurrent: 2,
        current: 2,
        currentV2: 2,
        loop: 2,
        dryContact: 2,
        rpm: 2,
      },
    },
    env: { MQTT_INFLIGHT: String(WINDOW) },
  });
  const relay = new Relay(plant.broker.port);
  await relay.listen();
  t.after(() => relay.close());
  return { plant, relay, seen: new SeenReadings(await plant.subscribe()) };
}

const truthNow = ({ simulator }: Plant) => truthOf(simulator, START_MS - 60 * MINUTE_MS);

/** `gateside run` to its end, which must come by itself. */
async function runOnce(env: Readonly<Record<string, string>>, cwd: string) {
  const child = spawn(process.execPath, [resolve("dist/gateside.js"), "run"], {
    cwd,
    env: { ...programEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, stdout, stderr };
}

describe("the agent as a process", { skip, concurrency: true, timeout: deadlineMs(90_000) }, () => {
  it("ends a second one in its directory with 2 and a clear message, and keeps running", async (t) => {
    const { plant, seen } = await openHouse(t, 1);
    const agent = plant.startAgent();
    await seen.waitFor(truthNow(plant), 30_000);
    const calls = plant.simulator.calls.length;
    // With its own id it would take nothing away from the first one at the broker.
    const second = await runOnce(
      { ...plant.env, HTTP_PORT: "off", MQTT_CLIENT_ID: "second" },
      join(plant.dataDir, ".."),
    );
    assert.equal(second.code, 2, second.stderr);
    const lines = second.stderr.trim().split("\n");
    assert.equal(lines.length, 1, second.stderr);
    assert.match(lines[0] ?? "", /another agent is running on/);
    assert.ok(lines[0]?.includes(plant.dataDir), lines[0]);
    assert.doesNotMatch(second.stdout, /connected|agent started/);
    const later = truthNow(plant);
    await seen.waitFor(later, 30_000);
    await waitUntil("the next poll", () => plant.simulator.calls.length > calls);
    assert.equal(agent.process.exitCode, null);
    assert.equal(await agent.stop(), 0);
    // Its lock went with it.
    const third = plant.startAgent();
    await third.address;
    await seen.waitFor(truthNow(plant), 30_000);
    assert.equal(await third.stop(), 0);
  });

  it("waits for a silent broker after the first SIGTERM, and ends at once at the second", async (t) => {
    const { plant, relay, seen } = await openHouse(t, 1);
    const agent = plant.startAgent({ MQTT_URL: relay.url });
    await seen.waitFor(truthNow(plant), 30_000);
    relay.silence();
    // Something is under way that nobody will answer.
    await untilMetric(agent, "gateside_outbox_readings", (value) => value > 0);
    // Both while it cannot run, so that the second comes before the wait for the broker ends, however slow this machine is.
    for (const signal of ["SIGSTOP", "SIGTERM", "SIGINT", "SIGCONT"] as const)
      agent.process.kill(signal);
    assert.ok([128 + 2, 128 + 15].includes(Number(await agent.ended)), String(await agent.ended));
    assert.ok(!agent.log.some(({ msg }) => msg === "agent stopped"), "it was still waiting");

    relay.heal();
    const again = plant.startAgent({ MQTT_URL: relay.url });
    await seen.waitFor(truthNow(plant), 30_000);
    assertLiveMovesForward(seen.list);
    // What was owed may all have come from the first one: a signal before its handlers would end the second one.
    await again.address;
    assert.equal(await again.stop(), 0);
  });

  it("killed while a backlog drains and restarted, it delivers the rest, and repeats only what was in flight", async (t) => {
    const { plant, relay, seen } = await openHouse(t, 8);
    relay.shut();
    const first = plant.startAgent({ MQTT_URL: relay.url });
    const backlog = truthNow(plant);
    await untilMetric(first, "gateside_outbox_readings", (value) => value >= backlog.size);
    relay.delayAnswers(20);
    relay.open();
    await until("a part of it", () => seen.update().list.length > backlog.size / 4 || undefined);
    assert.equal(await first.kill(), "SIGKILL");
    const before = seen.update().byId.size;
    assert.ok(before < backlog.size, "killed on the way");

    relay.delayAnswers(0);
    const second = plant.startAgent({ MQTT_URL: relay.url });
    await seen.waitFor(truthNow(plant), 30_000);
    const repeats = seen.list.length - seen.byId.size;
    // Acknowledged, and not yet recorded: a settlement's worth beside the window.
    assert.ok(repeats <= 100, `${repeats} readings came twice`);
    assertLiveMovesForward(seen.list);
    assert.equal(await second.stop(), 0);
  });
});
