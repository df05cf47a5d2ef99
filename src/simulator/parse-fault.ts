/** Faults as the control service and the command line name them. */

import { isJsonObject } from "../core/record.ts";
import { likely } from "../lib/nearest.ts";
import { FAULTS, type FaultSpec } from "./faults.ts";

const NAMES: ReadonlySet<string> = new Set(Object.keys(FAULTS));

const STRINGS = ["operation", "kind", "sensor", "day", "text"] as const;

const NUMBERS = [
  ...(["fromCall", "toCall", "times", "probability", "forMs", "fraction"] as const),
  ...(["ms", "seconds", "status", "count", "bytes", "megabytes"] as const),
] as const;

/** Validates a fault from outside; returns the fault or what is wrong with it. */
export function parseFault(value: unknown): FaultSpec | string {
  if (!isJsonObject(value)) return "a fault is an object with a name";
  const { name } = value;
  if (typeof name !== "string" || !NAMES.has(name)) {
    const closest = likely(String(name), [...NAMES]);
    const advice =
      closest === null ? `the faults are ${[...NAMES].join(", ")}` : `did you mean ${closest}?`;
    return `there is no fault named ${String(name)}; ${advice}`;
  }
  const spec: Record<string, unknown> = { name };
  for (const [key, member] of Object.entries(value)) {
    if (key === "name") continue;
    const isText = STRINGS.some((known) => known === key);
    if (!isText && !NUMBERS.some((known) => known === key)) return `${name} has no option ${key}`;
    if (typeof member !== (isText ? "string" : "number")) {
      return `${key} of ${name} must be ${isText ? "text" : "a number"}`;
    }
    spec[key] = member;
  }
  return spec as unknown as FaultSpec;
}

/** The command line form: NAME[:key=value,key=value]. */
export function parseFaultFlag(text: string): FaultSpec | string {
  const colon = text.indexOf(":");
  const spec: Record<string, unknown> = { name: colon < 0 ? text : text.slice(0, colon) };
  for (const pair of colon < 0 ? [] : text.slice(colon + 1).split(",")) {
    const equals = pair.indexOf("=");
    if (equals < 1) return `${text}: write options as key=value`;
    const key = pair.slice(0, equals);
    const value = pair.slice(equals + 1);
    spec[key] = STRINGS.some((known) => known === key) ? value : Number(value);
    if (Number.isNaN(spec[key])) return `${text}: ${key} must be a number`;
  }
  return parseFault(spec);
}
