/** One state read that stores nothing: used by `probe`, the set-up page and `doctor`. */

import type { GatewayAccess, GatewayConfiguration } from "../../cli/gateway-access.ts";
import type { ModbusStateRead, Sensor, ServiceStateRead } from "../../core/sensor.ts";
import { addDays, dayOf } from "../../core/time/time-zone.ts";
import { createWireNames } from "../../pipeline/wire/wire-names.ts";
import { registerValue } from "./rules/registers.ts";
import type { StateSample } from "./rules/state-sample.ts";
import { ServiceStates } from "./service-states.ts";

/** Numbers that no node measures: float32 words in the wrong order give such values. */
const ABSURD_ABOVE = 1e12;
const ABSURD_BELOW = 1e-12;

/** Reads states of nodes through the gateway of a command. */
export function openServiceStates(
  { client: source, metrics, gate }: GatewayAccess,
  { settings }: GatewayConfiguration,
): ServiceStates {
  const names = createWireNames({ word: settings.wireWord, service: settings.gatewayService });
  const emptyStatuses = new Set(settings.gatewayEmptyStatuses);
  return new ServiceStates({ source, names, metrics, gate, emptyStatuses });
}

interface StateOnce {
  readonly sample: StateSample | null;
  /** Why there is no sample. */
  readonly problem: string | null;
}

/** Today's newest state, otherwise yesterday's. `date` requests only that day. Rejects with a CallFailure. */
export async function readServiceState(
  service: Pick<ServiceStates, "read">,
  request: {
    readonly sensor: Sensor;
    readonly read: ServiceStateRead;
    readonly date: string | null;
    readonly nowMs: number;
    readonly zone: string;
  },
  signal: AbortSignal,
): Promise<StateOnce> {
  const { sensor, read, date, nowMs, zone } = request;
  const day = read.request === "none" ? null : (date ?? dayOf(nowMs, zone));
  let response = await service.read(sensor, read, day, signal);
  if (response.records === 0 && day !== null && date === null) {
    response = await service.read(sensor, read, addDays(day, -1), signal);
  }
  const sample = response.samples.at(-1) ?? null;
  if (sample !== null) return { sample, problem: null };
  const wanted = Object.values(read.fields).map(({ from }) => from);
  const problem =
    response.records === 0
      ? "the gateway responds, but has no record"
      : `${response.records} records, but none is from this sensor and has one of the fields ${wanted.join(", ")}`;
  return { sample: null, problem };
}

interface RegisterOnce {
  readonly name: string;
  /** Null if the registers contain no number. */
  readonly value: number | null;
  readonly unit: string;
  /** With the words of a 32-bit register swapped; undefined for one of 16 bits. */
  readonly otherOrder?: number | null;
  /** The value is absurd as configured, and plausible with its words swapped. */
  readonly looksSwapped: boolean;
}

/** The values of a Modbus read in its word order and in the other. */
export function registersOnce(
  words: ReadonlyMap<number, number>,
  read: ModbusStateRead,
): RegisterOnce[] {
  const order = read.wordOrder ?? "big";
  const other = order === "big" ? "little" : "big";
  return read.registers.map((register) => {
    const { address, type, value: name, unit = "1" } = register;
    const own = [words.get(address) ?? 0, words.get(address + 1) ?? 0];
    const value = finite(registerValue(own, register, order));
    if (!type.endsWith("32")) return { name, value, unit, looksSwapped: false };
    const otherOrder = finite(registerValue(own, register, other));
    const looksSwapped = type === "float32" && isAbsurd(value) && !isAbsurd(otherOrder);
    return { name, value, unit, otherOrder, looksSwapped };
  });
}

function isAbsurd(value: number | null): boolean {
  if (value === null) return true;
  const size = Math.abs(value);
  return size > ABSURD_ABOVE || (size > 0 && size < ABSURD_BELOW);
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
