/** The names of values of kind `node` with a meaning elsewhere in the product (docs/node-state.md). */

const FIRMWARE = ["firmware", "firmwareVersion", "firmware_version"];
const SIGNAL = ["signal", "signalStrength", "signal_strength", "signalStrengthValue", "rssi"];
/** Internal RMS of a channel: what the node computes itself. */
const RMS = /^(accel|acc|vel|env)_rms([1-3])$/;

type Values = Readonly<Record<string, unknown>>;

/** The firmware that the node reports, a number or a text; null if it reports none. */
export function firmwareOf(values: Values): string | number | null {
  for (const name of FIRMWARE) {
    const value = values[name];
    if (typeof value === "string" || typeof value === "number") return value;
  }
  return null;
}

/** The strength of the node's radio signal, in the unit given in the site file (usually dBm); null if unknown. */
export function signalOf(values: Values): number | null {
  for (const name of SIGNAL) {
    const value = values[name];
    if (typeof value === "number") return value;
  }
  return null;
}

/** Whether a value of this name is the internal RMS of a channel. */
export function isInternalRms(name: string, channel: number): boolean {
  return RMS.exec(name)?.[2] === String(channel);
}

export interface InternalRms {
  /** Of the value in the reading. */
  readonly name: string;
  readonly quantity: "accel" | "vel" | "env";
  /** In the unit of the reading; null if the value is bad. */
  readonly value: number | null;
}

/** The internal RMS of a channel as the node reports it: acceleration, velocity and envelope, in this order. */
export function internalRms(values: Values, channel: number): InternalRms[] {
  const found: InternalRms[] = [];
  for (const quantity of ["accel", "vel", "env"] as const) {
    for (const [name, value] of Object.entries(values)) {
      const match = RMS.exec(name);
      const named = match?.[1] === "acc" ? "accel" : match?.[1];
      if (named !== quantity || Number(match?.[2]) !== channel) continue;
      found.push({ name, quantity, value: typeof value === "number" && value >= 0 ? value : null });
      break;
    }
  }
  return found;
}
