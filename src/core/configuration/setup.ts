/** Reads and sessions that are tried before a change is saved, and why they are refused. */

import {
  ANYTHING,
  INTEGER,
  ISO,
  list,
  map,
  NUMBER,
  type Of,
  object,
  optional,
  orNull,
  TEXT,
  YES_NO,
} from "../schema.ts";
import type { Sensor } from "../sensor.ts";
import { type ConfigurationFault } from "./configuration-fault.ts";

/** What is wrong with a request, by location; or why it cannot be done now. */
export type Refused =
  | { readonly faults: readonly ConfigurationFault[] }
  | { readonly busy: string };

export const isRefusal = (result: object): result is Refused =>
  "faults" in result || "busy" in result;

/** What set-up lends to others while SETUP_ENABLED is true. */
export interface SetupPort {
  readonly site: { read(): { readonly content: unknown } };
  /** A read of a sensor, one at a time and not for long. */
  trySensor<T>(
    sensor: unknown,
    attempt: (sensor: Sensor, signal: AbortSignal) => Promise<T>,
  ): Promise<T | Refused>;
}

/** One read of a sensor that need not be in the site file; nothing is stored. */
export const PROBE_REPORT = object({
  day: TEXT,
  /** Records of the day that became readings. */
  records: INTEGER,
  durationMs: NUMBER,
  error: { ...orNull(TEXT), description: "Why nothing could be read." },
  /** The newest, null where there is none. */
  reading: orNull(
    object({
      id: TEXT,
      time: ISO,
      values: map(ANYTHING),
      units: map(TEXT),
      quality: map(ANYTHING),
      raw: ANYTHING,
    }),
  ),
  /** What `main` would publish; long payloads are truncated. */
  messages: list(object({ topic: TEXT, qos: INTEGER, retain: YES_NO, payload: TEXT })),
});
export type ProbeReport = Of<typeof PROBE_REPORT>;

/** One state read of a sensor that need not be in the site file; nothing is stored. */
const PROBED_STATE = object({
  /** The operation, or the device and its word order. */
  source: TEXT,
  /** Null if the response has no time of its own. */
  time: orNull(ISO),
  values: list(
    object({
      name: TEXT,
      value: ANYTHING,
      unit: orNull(TEXT),
      quality: TEXT,
      /** The value of a 32-bit register with its words swapped; null if it is not a number. */
      otherOrder: optional({ ...orNull(NUMBER), description: "With the words swapped." }),
    }),
  ),
  error: { ...orNull(TEXT), description: "Why there are no values." },
});
export type ProbedState = Of<typeof PROBED_STATE>;
export const PROBED_STATES = object({ reads: list(PROBED_STATE) });

/** One attempt at one address of an uplink, shown without credentials. */
const ADDRESS_REPORT = object({ url: TEXT, ok: YES_NO, detail: TEXT });
export type AddressReport = Of<typeof ADDRESS_REPORT>;
export const ADDRESS_REPORTS = object({ addresses: list(ADDRESS_REPORT) });
