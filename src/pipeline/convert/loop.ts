/** 4–20 mA transmitters over a shunt (signal-definitions 9; limits of NAMUR NE 43). */
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
/** 4, 20 and 16 mA. */
const NANOAMPS_LOW = 4e6;
const NANOAMPS_HIGH = 20e6;
const NANOAMPS_SPAN = NANOAMPS_HIGH - NANOAMPS_LOW;

/** I = V/R·1000 mA; value = low + (I-4)/16·(high-low). `low` may be above `high`. */
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
  const state = loopState(current);
  // In whole nanoamperes and with one division, so that a value near zero has no more rounding noise than any other.
  const linear = decimal(
    (low * (NANOAMPS_HIGH - nanoamps) + high * (nanoamps - NANOAMPS_LOW)) / NANOAMPS_SPAN,
    Math.max(Math.abs(low), Math.abs(high)),
  );
  return { milliamps, value: valueIn(state, linear), state };
}

function loopState(milliamps: number): LoopState {
  if (milliamps < 2.0) return "WIRE_BREAK";
  if (milliamps <= 3.6) return "FAILURE_LOW";
  if (milliamps < 3.8) return "INDETERMINATE_LOW";
  if (milliamps < 4.0) return "UNDER_RANGE";
  if (milliamps <= 20.0) return "NORMAL";
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
