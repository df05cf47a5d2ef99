import type { TestContext } from "node:test";
import type { PolledKind } from "../../src/core/sensor.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import type { PlantSensor } from "../../src/simulator/plant.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { ManualClock } from "../support/manual-clock.ts";

export const OPERATIONS: Readonly<Record<PolledKind, string>> = {
  accel: "getAccelData",
  current: "getCurrentData",
  currentV2: "getCurrentV2Data",
  accCurrent: "getAccCurrentData",
  loop: "get4_20GPData",
  dryContact: "getDryContactData",
  rpm: "getRPMData",
};

/** A small plant at noon of 20 November 2026 in Berlin, with a clock turned by hand. */
export async function plant(t: TestContext, options: SimulatorOptions = {}) {
  const clock = new ManualClock("2026-11-20T11:00:00Z");
  const simulator = await startSimulator({
    clock,
    zone: "Europe/Berlin",
    sensors: 7,
    seed: 5,
    waveform: { samples: 64 },
    ...options,
  });
  t.after(() => simulator.close());
  return { clock, simulator };
}

export function sensorOf(simulator: Simulator, kind: PolledKind): PlantSensor {
  const sensor = simulator.plant.sensors.find((s) => s.kinds.includes(kind));
  if (!sensor) throw new Error(`no sensor speaks ${kind}`);
  return sensor;
}

export function question(simulator: Simulator, kind: PolledKind, day = "2026-11-20"): string {
  const { type, code } = sensorOf(simulator, kind);
  return JSON.stringify({ sensorType: type, sensorCode: code, date: day });
}

export async function ask(simulator: Simulator, kind: PolledKind, day?: string): Promise<string> {
  const response = await fetch(`${simulator.url}/SensorService.svc/${OPERATIONS[kind]}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: question(simulator, kind, day),
  });
  return response.text();
}

type Answer = [{ Key: { StatusNumber: number }; Value: Record<string, unknown>[] }];

export async function records(simulator: Simulator, kind: PolledKind, day?: string) {
  return (JSON.parse(await ask(simulator, kind, day)) as Answer)[0].Value;
}

export async function post(simulator: Simulator, operation: string, body: object) {
  const response = await fetch(`${simulator.url}/SensorService.svc/${operation}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}
