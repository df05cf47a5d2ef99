/** Every state read of a sensor once, as it would be stored; registers in both word orders: for `probe` and the set-up page. */

import type { ProbedState } from "../../core/configuration/setup.ts";
import type { ModbusStateRead, Sensor, ServiceStateRead } from "../../core/sensor.ts";
import { messageOf } from "../../core/thrown.ts";
import type { ServiceStates } from "./service-states.ts";
import { readServiceState, registersOnce } from "./state-once.ts";

export interface StateSources {
  readonly service: Pick<ServiceStates, "read">;
  /** GATEWAY_TIMEZONE. */
  readonly zone: string;
  /** The gateway's clock, ms. */
  readonly nowMs: number;
}

/** A failing read reports its reason in its own part. @param date only that day; null: today, otherwise yesterday */
export async function probeStates(
  sensor: Sensor,
  date: string | null,
  sources: StateSources,
  signal: AbortSignal,
): Promise<ProbedState[]> {
  // Loaded here, so that its code costs memory only when it is used.
  const { ModbusStates } = await import("./modbus-states.ts");
  const modbus = new ModbusStates();
  const probed: ProbedState[] = [];
  try {
    for (const read of sensor.stateReads ?? []) {
      const source = read.via === "modbus" ? read.url : read.operation;
      try {
        probed.push(
          read.via === "modbus"
            ? ofRegisters(read, await modbus.words(read, signal))
            : await ofService(sensor, read, date, sources, signal),
        );
      } catch (error) {
        const message = messageOf(error);
        probed.push({ source, time: null, values: [], error: message });
      }
    }
  } finally {
    modbus.close();
  }
  return probed;
}

async function ofService(
  sensor: Sensor,
  read: ServiceStateRead,
  date: string | null,
  { service, zone, nowMs }: StateSources,
  signal: AbortSignal,
): Promise<ProbedState> {
  const request = { sensor, read, date, nowMs, zone };
  const { sample, problem } = await readServiceState(service, request, signal);
  if (sample === null) return { source: read.operation, time: null, values: [], error: problem };
  const values = Object.entries(sample.values).map(([name, value]) => ({
    name,
    value,
    unit: sample.units[name] ?? null,
    quality: sample.quality[name]?.reason ?? "good",
  }));
  const time = sample.time === null ? null : new Date(sample.time.ms).toISOString();
  return { source: read.operation, time, values, error: null };
}

function ofRegisters(read: ModbusStateRead, words: ReadonlyMap<number, number>): ProbedState {
  const values = registersOnce(words, read).map(({ name, value, unit, otherOrder }) => ({
    name,
    value,
    unit,
    quality: value === null ? "not_a_number" : "good",
    ...(otherOrder === undefined ? {} : { otherOrder }),
  }));
  const order = read.wordOrder ?? "big";
  return { source: `${read.url}, word order ${order}`, time: null, values, error: null };
}
