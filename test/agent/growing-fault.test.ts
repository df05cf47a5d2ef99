/** A bearing that goes, seen by whoever listens to MQTT: the envelope rises and the zone gets worse (issue of the vibration analysis). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Sensor } from "../../src/core/sensor.ts";
import { machineState } from "../../src/simulator/machines.ts";
import { createPlant } from "../../src/simulator/plant.ts";
import { deadlineMs } from "../support/deadline.ts";
import { expectedReading } from "../support/expected-reading.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";
import { type SeenReading, SeenReadings, truthOf } from "../support/seen-readings.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const GROWTH_DAYS = 1.5;
const CODE = "100200300";
const TOPIC = `gateside/plant/${CODE}/accel`;
const skip = skipWithoutBuild || skipWithoutMosquitto;

/** The last running minutes before the machine's repair, of a certain week: its fault is as bad as it gets. */
function worstMoment(): number {
  const plant = createPlant({ seed: 1, sensors: 1, accelSensorsMax: 1, growthDays: GROWTH_DAYS });
  const [machine] = plant.machines;
  assert.ok(machine?.defect === "bearing");
  const step = 5 * 60_000;
  let ms = Date.UTC(2026, 10, 18, 12);
  while (machineState(machine, ms - step).severity <= machineState(machine, ms).severity)
    ms -= step;
  while (!machineState(machine, ms - step).isRunning) ms -= step;
  return ms - step;
}

const valueOf = ({ payload }: SeenReading, name: string) =>
  (payload["values"] as Record<string, unknown>)[name];

const mean = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

describe("a growing bearing fault", { skip, timeout: deadlineMs(60_000) }, () => {
  it("shows on MQTT: the envelope rises many times over, the zone goes from good to bad, the newest is retained", async (t) => {
    const startMs = worstMoment();
    const plant = await startPlant(t, {
      simulator: {
        sensors: 1,
        startMs,
        machinesStartMs: startMs,
        historyDays: 1.2,
        growthDays: GROWTH_DAYS,
        cadenceS: { accel: 1200 },
        waveform: { sampleRateHz: 6400, samples: 2048 },
      },
      env: { BACKFILL_DAYS: "2", PUBLISH_WAVEFORMS: "never" },
    });
    const [machine] = plant.simulator.plant.machines;
    assert.ok(machine);
    const seen = new SeenReadings(await plant.subscribe());
    const agent = plant.startAgent();
    const truth = truthOf(plant.simulator, startMs - 2 * DAY_MS);
    await seen.waitFor(truth, 40_000);

    const running: SeenReading[] = [];
    for (const [id, { timeMs }] of truth) {
      const [reading] = seen.byId.get(id) ?? [];
      assert.ok(reading);
      const { isRunning, speedRpm } = machineState(machine, timeMs);
      if (isRunning && speedRpm > 0.99 * machine.speedRpm) running.push(reading);
    }
    running.sort((a, b) => a.timeMs - b.timeMs);
    const part = Math.floor(running.length / 5);
    assert.ok(part >= 5, `${running.length} measurements of a running machine`);
    const fifths = Array.from({ length: 5 }, (_, n) => running.slice(n * part, (n + 1) * part));
    const envelopes = fifths.map((list) =>
      mean(list.map((reading) => Number(valueOf(reading, "channel1_env_rms")))),
    );
    const shown = JSON.stringify(envelopes.map((value) => Number(value.toPrecision(3))));
    for (let n = 1; n < 5; n++)
      assert.ok(Number(envelopes[n]) > Number(envelopes[n - 1]), `GE by time: ${shown}`);
    assert.ok(Number(envelopes[4]) > 5 * Number(envelopes[0]), `GE by time: ${shown}`);
    const zones = fifths.map((list) =>
      list.map((reading) => String(valueOf(reading, "channel1_zone"))).sort(),
    );
    assert.ok(
      zones[0]?.every((zone) => zone === "A"),
      `healthy: ${zones[0]}`,
    );
    assert.ok(/[CD]/.test(zones[4]?.at(-1) ?? ""), `worn: ${zones[4]}`);

    // Worked out by a plain transform, which takes its time: one of each fifth.
    const [sensor] = plant.simulator.siteFile("plant").sensors as [Sensor];
    for (const [reading] of fifths) {
      const item = reading && truth.get(reading.id);
      assert.ok(reading && item);
      const want = expectedReading(sensor, item.kind, item.record).values;
      for (const axis of [1, 2, 3]) {
        const name = `channel${axis}_env_rms`;
        const [got, due] = [Number(valueOf(reading, name)), Number(want[name])];
        assert.ok(Math.abs(got - due) <= 1e-6 * due, `${name}: ${got}, not ${due}`);
        const zone = `channel${axis}_zone`;
        assert.equal(valueOf(reading, zone), want[zone], zone);
      }
    }

    // Whoever comes now finds the newest, with its zone, retained on the live topic.
    const next = await plant.subscribe({ topics: [TOPIC] });
    const retained = await next.waitFor(({ topic }) => topic === TOPIC);
    const newest = running.at(-1);
    const { time, values } = JSON.parse(retained.text);
    assert.equal(Date.parse(time), newest?.timeMs);
    assert.equal(values.channel1_zone, zones[4]?.at(-1));
    assert.equal(await agent.stop(), 0);
  });
});
