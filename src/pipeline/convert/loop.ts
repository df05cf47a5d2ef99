/** 4–20 mA transmitters over a shunt (signal-definitions 9; limits of NAMUR NE 43), 0–20 mA, and flow by its root (plant 24). */
import { bad, type Graded, good, uncertain } from "../../core/quality.ts";
import type { RawRecord } from "../../core/record.ts";
import type { ChannelConfig, Sensor } from "../../core/sensor.ts";
import { loopChannels } from "./channels.ts";
import { decimal } from "./decimal.ts";
import { numberField, type ValueSheet } from "./value-sheet.ts";

type LoopState =
  | "CONFIG_INVALID"
  | "NO_DATA"
  | "WIRE_BREAK"
  | "FAILURE_LOW"
  | "INDETERMINATE_LOW"
  | "UNDER_RANGE"
  | "NORMAL"
  | "OVER_RANGE"
  | "INDETERMINATE_HIGH"
  | "FAILURE_HIGH";

export interface LoopValue {
  /** mA, good whenever a voltage arrived. */
  readonly milliamps: Graded;
  /** In the channel's unit. */
  readonly value: Graded;
  readonly state: LoopState;
}

const SHUNT_OHM = 100;
/** In nanoamperes: 20 mA, and the current that stands for `low`. */
const NANOAMPS_HIGH = 20e6;
const NANOAMPS_LOW = { "4-20": 4e6, "0-20": 0 } as const;
/** A zero current that is measured as slightly negative, mA. */
const ZERO_MIN = -0.2;

/**
 * I = V/R·1000 mA; value = low + (I-4)/16·(high-low), of 0–20 mA low + I/20·(high-low). `low` may be above `high`. Quality is
 * that of the current alone.
 */
export function loopValue(volts: Graded, config: ChannelConfig): LoopValue {
  const { low = Number.NaN, high = Number.NaN, resistorOhm = SHUNT_OHM } = config;
  if (!(Number.isFinite(resistorOhm) && resistorOhm > 0)) {
    const nothing = bad("no_calibration");
    return { milliamps: nothing, value: nothing, state: "CONFIG_INVALID" };
  }
  if (volts.value === null) return { milliamps: volts, value: volts, state: "NO_DATA" };
  // Rounded before comparing: 0.38 V over 100 ohm is 3.8 mA, despite binary rounding.
  const nanoamps = Math.round((volts.value / resistorOhm) * 1e9);
  const current = nanoamps / 1e6;
  const milliamps = good(current);
  if (!Number.isFinite(low) || !Number.isFinite(high) || low === high) {
    return { milliamps, value: bad("no_calibration"), state: "CONFIG_INVALID" };
  }
  const state = config.signal === "0-20" ? zeroBasedState(current) : loopState(current);
  return { milliamps, value: valueIn(state, scaled(nanoamps, low, high, config)), state };
}

/** Currents from which on a value is bad, nA: the lower one of each signal, and the upper. */
const NANOAMPS_MIN = { "4-20": 3.6e6, "0-20": 0 } as const;
const NANOAMPS_MAX = 21e6;

/** Values at the ends of what is not bad: towards `low`, and towards `high`. */
export function loopReach(
  low: number,
  high: number,
  config: ChannelConfig,
): readonly [number, number] {
  const lowest = NANOAMPS_MIN[config.signal ?? "4-20"];
  return [scaled(lowest, low, high, config), scaled(NANOAMPS_MAX, low, high, config)];
}

function scaled(nanoamps: number, low: number, high: number, config: ChannelConfig): number {
  const { signal = "4-20", extraction = "none", lowFlowCutoff = 0 } = config;
  const zero = NANOAMPS_LOW[signal];
  const size = Math.max(Math.abs(low), Math.abs(high));
  // A zero current a little below zero is zero; so is the root of less than nothing.
  const hasFloor = signal === "0-20" || extraction === "squareRoot";
  const part = hasFloor ? Math.max(nanoamps, zero) : nanoamps;
  const span = NANOAMPS_HIGH - zero;
  if (extraction === "squareRoot") {
    const root = Math.sqrt((part - zero) / span);
    // Rounded before comparing: the root of 0.0049 is 0.07, despite binary rounding.
    return decimal(root) < lowFlowCutoff ? low : decimal(low + (high - low) * root, size);
  }
  // In whole nanoamperes and with one division, so that a value near zero has no more rounding noise than any other.
  return decimal((low * (NANOAMPS_HIGH - part) + high * (part - zero)) / span, size);
}

/** NE 43 does not apply: 0 mA is the lowest value, and a broken wire cannot be told from it. */
function zeroBasedState(milliamps: number): LoopState {
  if (milliamps < ZERO_MIN) return "FAILURE_LOW";
  return milliamps <= 20.0 ? "NORMAL" : stateAbove(milliamps);
}

function loopState(milliamps: number): LoopState {
  if (milliamps < 2.0) return "WIRE_BREAK";
  if (milliamps <= 3.6) return "FAILURE_LOW";
  if (milliamps < 3.8) return "INDETERMINATE_LOW";
  if (milliamps < 4.0) return "UNDER_RANGE";
  return milliamps <= 20.0 ? "NORMAL" : stateAbove(milliamps);
}

function stateAbove(milliamps: number): LoopState {
  if (milliamps <= 20.5) return "OVER_RANGE";
  return milliamps < 21.0 ? "INDETERMINATE_HIGH" : "FAILURE_HIGH";
}

function valueIn(state: LoopState, linear: number): Graded {
  switch (state) {
    case "WIRE_BREAK":
      return bad("wire_break");
    case "FAILURE_LOW":
      return bad("under_range");
    case "FAILURE_HIGH":
      return bad("over_range");
    case "INDETERMINATE_LOW":
      return uncertain(linear, "under_range");
    case "INDETERMINATE_HIGH":
      return uncertain(linear, "over_range");
    case "UNDER_RANGE":
    case "NORMAL":
    case "OVER_RANGE":
      return good(linear);
    case "CONFIG_INVALID":
    case "NO_DATA":
      return bad("no_calibration");
    default:
      return state satisfies never;
  }
}

export function convertLoop(record: RawRecord, sensor: Sensor, sheet: ValueSheet): void {
  for (const { name, config } of loopChannels(sensor)) {
    const { milliamps, value } = loopValue(numberField(record, `${name}_voltage`), config);
    sheet.number(name, config.unit ?? "1", value);
    sheet.number(`${name}_ma`, "mA", milliamps);
  }
}
