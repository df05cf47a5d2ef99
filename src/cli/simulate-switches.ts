import { parseStateOperation } from "../simulator/node-state.ts";
import type { EmptyDay, SimulatorOptions } from "../simulator/options.ts";
import { WIRING_FAULTS, type WiringFault } from "../simulator/wiring.ts";
import { type Flags, UsageError } from "./command.ts";

const EMPTY_DAYS = ["empty", "null", "missing", "empty-array"] as const;
const ORDER = [506, 502, 503, 504, 505] as const;

/** Switches for gateway behaviour that its documentation leaves open (services section 7). */
export function switchesOf(flags: Flags): Partial<SimulatorOptions> {
  const dir = flags.text("settings-dir");
  const answer = flags.choice("settings-answer", ["envelope", "bare", "key-only", "wrapped"]);
  const order = orderOf(flags.text("settings-order"));
  const emptyDay = emptyDayOf(flags);
  const dayRule = flags.choice("day-rule", ["time_data", "realnodetime"]);
  const stateOperations = flags.all("state-operation").map((text) => {
    const operation = parseStateOperation(text);
    if (typeof operation === "string") throw new UsageError(`--state-operation: ${operation}`);
    return operation;
  });
  return {
    wiring: flags.all("wiring").map(wiringOf),
    stateOperations,
    strictTypes: flags.has("strict-types"),
    faultStatus: flags.choice("fault-status", ["400", "500"]) === "500" ? 500 : 400,
    ...(emptyDay === null ? {} : { emptyDay }),
    ...(dayRule === null ? {} : { dayRule }),
    settings: {
      ...(dir === null ? {} : { dir }),
      ...(answer === null ? {} : { answer }),
      ...(order === null ? {} : { order }),
    },
  };
}

function wiringOf(text: string): WiringFault {
  const fault = WIRING_FAULTS.find((name) => name === text);
  if (fault !== undefined) return fault;
  throw new UsageError(`--wiring ${text} is none of ${WIRING_FAULTS.join(", ")}`);
}

/** A word, or a status number that is not 0. */
function emptyDayOf(flags: Flags): EmptyDay | null {
  const text = flags.text("empty-day");
  if (text !== null && /^-?[1-9]\d{0,8}$/.test(text)) return { status: Number(text) };
  return flags.choice("empty-day", EMPTY_DAYS);
}

/** All five numbers, each once. */
function orderOf(text: string | null): (502 | 503 | 504 | 505 | 506)[] | null {
  if (text === null) return null;
  const order = text.split(",").map((number) => ORDER.find((known) => String(known) === number));
  const known = order.filter((number) => number !== undefined);
  if (known.length !== ORDER.length || order.length !== ORDER.length || new Set(known).size < 5) {
    throw new UsageError(
      `--settings-order ${text} must list each of ${ORDER.join(", ")} exactly once`,
    );
  }
  return known;
}
