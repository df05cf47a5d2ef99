import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import type { TestContext } from "node:test";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import type { MosquittoOptions } from "./mosquitto.ts";
import { startPlant } from "./plant.ts";

/** The machine has run for half an hour and goes on for more than eleven. */
const RUNS_MS = Date.UTC(2026, 10, 18, 5, 16);

interface TurningPlantOptions {
  readonly cadenceS?: SimulatorOptions["cadenceS"];
  readonly broker?: MosquittoOptions;
  readonly env?: Readonly<Record<string, string>>;
}

/** One running machine, twenty times as fast as ours, with a broker, a subscriber, and alarm rules that a test writes. */
export async function turningPlant(t: TestContext, options: TurningPlantOptions = {}) {
  const { broker = {}, cadenceS, env = {} } = options;
  const plant = await startPlant(t, {
    simulator: {
      sensors: 7,
      historyDays: 0.02,
      speed: 20,
      machinesStartMs: RUNS_MS,
      waveform: { sampleRateHz: 6400, samples: 256 },
      cadenceS: {
        current: 600,
        currentV2: 600,
        loop: 600,
        dryContact: 600,
        rpm: 20,
        accel: 600,
        ...cadenceS,
      },
    },
    broker,
    env,
  });
  const site: { sensors: { code: string; kinds: string[]; location: { machine: number } }[] } =
    JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const turning = site.sensors.filter(({ kinds }) => kinds.includes("rpm")).map(({ code }) => code);
  const [code] = turning;
  assert.ok(code !== undefined);
  const all = await plant.subscribe();
  return {
    plant,
    all,
    /** Codes of the sensors that measure a speed, and the first of them. */
    turning,
    code,
    /** Of the first one. */
    machine: site.sensors.find((one) => one.code === code)?.location.machine,
    /** Writes the rules into the site file, without a sensor that is to leave it. */
    write: (alarms: unknown, removed?: string) => {
      const sensors = site.sensors.filter((one) => one.code !== removed);
      writeFileSync(plant.siteFile, JSON.stringify({ ...site, sensors, alarms }));
    },
    until: (done: () => boolean) => all.waitUntil(done, 30_000),
    /** The alarm's own topic. */
    topicOf: (sensor: string, alarm: string, prefix = "gateside") =>
      `${prefix}/plant/${sensor}/alarm/${alarm}/rpm`,
    /** The last message of a topic. */
    last: (topic: string) => all.messages.findLast((message) => message.topic === topic)?.text,
  };
}
