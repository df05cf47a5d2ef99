import type { SensorBands } from "./bands/band.ts";
import type { Shaft } from "./shaft.ts";

/** The kinds returned by the gateway's read operations, in the order of the contract's table (contract section 5). */
export const POLLED_KINDS = [
  "accel",
  "current",
  "currentV2",
  "accCurrent",
  "loop",
  "dryContact",
  "rpm",
] as const;
export type PolledKind = (typeof POLLED_KINDS)[number];
/** Every kind of reading: `node` comes from a sensor's state reads, `bands` from its acceleration (plant sections 14, 18). */
export const KINDS = [...POLLED_KINDS, "node", "bands"] as const;
export type Kind = (typeof KINDS)[number];

/** One configured channel of a sensor. Which members apply depends on the kind (contract section 4). */
export interface ChannelConfig {
  readonly name?: string;
  /** accel: the direction this channel measures. */
  readonly axis?: "H" | "V" | "A";
  /** current, currentV2: rating of the fitted clamp, A. */
  readonly clamp?: 50 | 100 | 250 | 500;
  /** current, currentV2, accCurrent: what the conductor carries for 1 A in the clamp; text such as 400:5 is a quotient. */
  readonly ratio?: number | string;
  /** loop: engineering unit, value at 4 mA (0 mA of 0–20 mA), value at 20 mA (low > high is allowed). */
  readonly unit?: string;
  readonly low?: number;
  readonly high?: number;
  /** loop: current that stands for `low` and `high`, mA; default 4-20. */
  readonly signal?: "4-20" | "0-20";
  /** loop: squareRoot of a flow that is measured by its differential pressure; default none. */
  readonly extraction?: "none" | "squareRoot";
  /** loop with squareRoot: smaller shares of the flow's span are `low`; default 0. */
  readonly lowFlowCutoff?: number;
  /** loop: shunt in ohm; default 100. */
  readonly resistorOhm?: number;
  /** dryContact: true publishes the opposite of the wire's value. */
  readonly invert?: boolean;
}

/** Ids are the ones that the query service returns. */
export interface SensorLocation {
  readonly company: number;
  readonly area: number;
  readonly machine: number;
  readonly point: number;
  readonly names?: {
    readonly company?: string;
    readonly area?: string;
    readonly machine?: string;
    readonly point?: string;
  };
}

/** A value of kind `node`: its field in the response, and its unit if it is a number with one. */
export interface StateField {
  readonly from: string;
  readonly unit?: string;
}

export const REGISTER_TYPES = ["uint16", "int16", "uint32", "int32", "float32"] as const;
export type RegisterType = (typeof REGISTER_TYPES)[number];
/** Registers that a value of each type takes. */
export const REGISTER_WORDS: Readonly<Record<RegisterType, 1 | 2>> = {
  uint16: 1,
  int16: 1,
  uint32: 2,
  int32: 2,
  float32: 2,
};
/** Protocol addresses range from 0 up to here, exclusive. */
export const REGISTERS_END = 65_536;

/** A value of kind `node` from registers of a Modbus device: value = register × scale + offset. */
export interface StateRegister {
  /** Protocol address, from 0. */
  readonly address: number;
  readonly type: RegisterType;
  readonly value: string;
  readonly unit?: string;
  /** Default 1. */
  readonly scale?: number;
  /** In the value's unit; default 0. */
  readonly offset?: number;
}

/** A further read operation of the gateway's service. */
export interface ServiceStateRead {
  readonly via?: "service";
  readonly operation: string;
  /** date: requested like the read operations, for today · none: without a date. Default: date. */
  readonly request?: "date" | "none";
  /** By the value's name. */
  readonly fields: Readonly<Record<string, StateField>>;
  /** Time between two reads, s; by default the sensor's poll interval. */
  readonly intervalS?: number;
}

/** Registers with node states, served by the gateway. */
export interface ModbusStateRead {
  readonly via: "modbus";
  /** tcp://host:port; default port 502. */
  readonly url: string;
  /** Unit id; default 1. */
  readonly unit?: number;
  /** 3 reads holding registers, 4 input registers; default 3. */
  readonly function?: 3 | 4;
  /** big = high word first (default). */
  readonly wordOrder?: "big" | "little";
  readonly registers: readonly StateRegister[];
  /** Time between two reads, s; by default the sensor's poll interval. */
  readonly intervalS?: number;
}

/** Where readings of kind `node` come from (plant sections 13 and 14). */
export type StateRead = ServiceStateRead | ModbusStateRead;

export type MachineClass =
  | "group1-rigid"
  | "group1-flexible"
  | "group2-rigid"
  | "group2-flexible"
  | "class1"
  | "class2"
  | "class3"
  | "class4";

export interface Sensor {
  /** Serial number: trimmed decimal text, as written in the site file. */
  readonly code: string;
  /** The vendor's sensor type code, passed through uninterpreted. */
  readonly type: number;
  readonly name?: string;
  readonly description?: string;
  readonly model?: string;
  readonly kinds: readonly PolledKind[];
  /** Reads of the node itself: its battery, firmware, signal, own RMS. */
  readonly stateReads?: readonly StateRead[];
  /** False: kept in lists, history and dashboard, but not read. */
  readonly enabled?: boolean;
  /** Codes of the sensors that were in its place before it. */
  readonly replaces?: readonly string[];
  /** Overrides POLL_INTERVAL_S for this sensor, s. */
  readonly pollIntervalS?: number;
  readonly location?: SensorLocation;
  /** By channel name: channel1…4 (accel, loop), current1…4, input1…4. */
  readonly channels: Readonly<Record<string, ChannelConfig>>;
  readonly machineClass?: MachineClass;
  /** Configured zone limits [A/B, B/C, C/D], mm/s, ascending; replace the class's table. */
  readonly limits?: readonly [number, number, number];
  /** True also applies the displacement limits of signal-definitions 8 (group classes only). */
  readonly checkDisplacement?: boolean;
  /** Nominal shaft speed, r/min: marks harmonics, and below 600 lowers the velocity band to 2 Hz. */
  readonly speedRpm?: number;
  /** accel: its true sample rate over the one that its records name; default 1. */
  readonly sampleRateFactor?: number;
  /** rpm: pulses that its transmitter counts as turns; default 1. */
  readonly pulsesPerRevolution?: number;
  /** Counts at which this sensor clips if below the 16-bit limit. */
  readonly fullScaleCounts?: number;
  /** Battery type code that the query service returns (1–4); never copied from `battery_type`. */
  readonly batteryType?: number;
  /** Low-battery limit, V; a lower voltage is shown as a warning. */
  readonly batteryLowV?: number;
  /** Of its machine; not written in the site file. */
  readonly bands?: SensorBands;
  /** The shaft at its point, where that is not the measured one; not written either. */
  readonly shaft?: Shaft;
}

/** True unless the site file says otherwise. */
export function isRead(sensor: Pick<Sensor, "enabled">): boolean {
  return sensor.enabled !== false;
}

const NODE: readonly Kind[] = ["node"];
const BANDS: readonly Kind[] = ["bands"];

/** The kinds of readings of a sensor: the polled ones, `node` if it has state reads, `bands` if its machine asks for them. */
export function readingKinds(
  sensor: { readonly kinds: readonly Kind[] } & Pick<Sensor, "stateReads" | "bands">,
): readonly Kind[] {
  const hasStates = (sensor.stateReads?.length ?? 0) > 0;
  const hasBands = sensor.bands !== undefined;
  // For most sensors nothing is made: it is asked for thousands of them at a time.
  if (!hasStates && !hasBands) return sensor.kinds;
  return [...sensor.kinds, ...(hasStates ? NODE : []), ...(hasBands ? BANDS : [])];
}

/** What is stored in order of time. */
export interface StreamKey {
  /** Sensor code. */
  readonly sensor: string;
  readonly kind: Kind;
}

/** As the key of a map; codes that people wrote are normalised before. */
export const streamKey = (code: string, kind: string): string => `${kind} ${code}`;

export function streamsOf(sensors: readonly Sensor[]): StreamKey[] {
  return sensors.flatMap((sensor) =>
    readingKinds(sensor).map((kind) => ({ sensor: sensor.code, kind })),
  );
}

/** Serial numbers compare as trimmed decimal text without leading zeros (services 2, rule 10). */
export function sameCode(a: string, b: string): boolean {
  return normalCode(a) === normalCode(b);
}

export function normalCode(code: string): string {
  const text = code.trim();
  // Called several times per reading, and few codes begin with a zero.
  if (!text.startsWith("0")) return text;
  return /^\d+$/.test(text) ? text.replace(/^0+(?=\d)/, "") : text;
}
