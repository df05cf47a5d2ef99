import { readFileSync, writeFileSync } from "node:fs";
import type { TestContext } from "node:test";
import type { WiringFault } from "../../src/simulator/wiring.ts";
import { type Plant, startPlant } from "./plant.ts";

interface PlantSensor {
  readonly code: string;
  readonly kinds: readonly string[];
  readonly location: { readonly machine: number; readonly point: number };
}

/** The machine has run for half an hour and goes on for more than four. */
const RUNS_MS = Date.UTC(2026, 10, 22, 6, 22);

interface Pace {
  readonly historyDays: number;
  readonly speed: number;
  /** Between records of acceleration, s. */
  readonly accelS: number;
  readonly wiring?: readonly WiringFault[];
}

/** A plant whose machine "Pump 1" has a bearing 6205 with an outer race half gone, whatever the date. */
export async function failingBearing(t: TestContext, pace: Pace) {
  const { historyDays, speed, accelS, wiring = [] } = pace;
  const plant: Plant = await startPlant(t, {
    simulator: {
      seed: 12,
      machinesStartMs: RUNS_MS,
      growthDays: 1_000_000,
      sensors: 7,
      wiring,
      historyDays,
      speed,
      waveform: { sampleRateHz: 6400, samples: 4096 },
      cadenceS: {
        current: 600,
        currentV2: 600,
        loop: 600,
        dryContact: 600,
        rpm: 60,
        accel: accelS,
      },
    },
  });
  const site: { sensors: PlantSensor[] } = JSON.parse(readFileSync(plant.siteFile, "utf8"));
  const sensorOf = (kind: string): PlantSensor => {
    const sensor = site.sensors.find(({ kinds }) => kinds.includes(kind));
    if (sensor === undefined) throw new Error(`the plant has no sensor of kind ${kind}`);
    return sensor;
  };
  const accel = sensorOf("accel");
  const rpm = sensorOf("rpm");
  const { machine: id, point } = accel.location;
  const bearing = { point, name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04 };
  /** Replaces the machine in the site file. */
  const write = (machine: object) =>
    writeFileSync(plant.siteFile, JSON.stringify({ ...site, machines: [{ id, ...machine }] }));
  write({ name: "Pump 1", speed: { sensor: rpm.code }, bearings: [bearing] });
  return { plant, id, accel, rpm, bearing, write };
}
