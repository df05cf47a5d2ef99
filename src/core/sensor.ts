/** The kinds of reading, in the order of the contract's table (contract 5). */
export const KINDS = [
  "accel",
  "current",
  "currentV2",
  "accCurrent",
  "loop",
  "dryContact",
  "rpm",
] as const;
export type Kind = (typeof KINDS)[number];

/** One configured channel of a sensor. Which members matter depends on the kind (contract 4). */
export interface ChannelConfig {
  readonly name?: string;
  /** accel: the direction this channel measures. */
  readonly axis?: "H" | "V" | "A";
  /** current, currentV2: rating of the fitted clamp, A. */
  readonly clamp?: 50 | 100 | 250 | 500;
  /** loop: engineering unit, value at 4 mA, value at 20 mA (low > high is allowed). */
  readonly unit?: string;
  readonly low?: number;
  readonly high?: number;
  /** loop: shunt in ohm; 100 unless given. */
  readonly resistorOhm?: number;
  /** dryContact: true publishes the opposite of what the wire says. */
  readonly invert?: boolean;
}

/** Ids are the ones the query service answers with. */
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
  /** Serial number: trimmed decimal text, as the site file has it. */
  readonly code: string;
  /** The vendor's sensor type code, passed through unread. */
  readonly type: number;
  readonly name?: string;
  readonly description?: string;
  readonly model?: string;
  readonly kinds: readonly Kind[];
  /** Overrides POLL_INTERVAL_S for this sensor, s. */
  readonly pollIntervalS?: number;
  readonly location?: SensorLocation;
  /** By channel name: channel1…4 (accel, loop), current1…4, input1…4. */
  readonly channels: Readonly<Record<string, ChannelConfig>>;
  readonly machineClass?: MachineClass;
  /** Own zone limits [A/B, B/C, C/D], mm/s, rising; replace the class's table. */
  readonly limits?: readonly [number, number, number];
  /** True also applies the displacement limits of signal-definitions 8 (group classes only). */
  readonly checkDisplacement?: boolean;
  /** Nominal shaft speed, r/min: marks harmonics, and below 600 lowers the velocity band to 2 Hz. */
  readonly speedRpm?: number;
  /** Counts at which this sensor clips when below the 16-bit limit. */
  readonly fullScaleCounts?: number;
  /** Battery type code that the query service answers (1–4); never copied from `battery_type`. */
  readonly batteryType?: number;
  /** Low-battery limit, V; a lower voltage is shown as a warning. */
  readonly batteryLowV?: number;
}

export interface Site {
  readonly site: string;
  readonly sensors: readonly Sensor[];
}

/** Serial numbers compare as trimmed decimal text without leading zeros (services 2, rule 10). */
export function sameCode(a: string, b: string): boolean {
  return normalCode(a) === normalCode(b);
}

export function normalCode(code: string): string {
  const text = code.trim();
  return /^\d+$/.test(text) ? text.replace(/^0+(?=\d)/, "") : text;
}
