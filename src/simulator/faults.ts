/** Every fault the simulator can show (services section 8), where each applies, and the list of active ones. */
import type { PolledKind } from "../core/sensor.ts";
import { chance, seedOf } from "./random.ts";

/** Before the response head: the connection, the status line, pages instead of data. */
const HEAD_FAULTS = {
  refused: "port closed for `forMs` (default 5000 ms), then open again on the same port",
  "never-answer": "connection stays open, nothing arrives",
  "close-without-answer": "connection closed without a response",
  "reset-without-answer": "connection reset without a response",
  "stale-keep-alive": "a connection used a second time is reset before any byte",
  "slow-first-byte": "first byte after `ms` (default 20000)",
  overloaded: "each response waits `ms` (default 2000) per request already in progress",
  "html-500": "500 with an HTML page",
  "html-400": "400 Request Error page",
  "html-404": "404 Endpoint not found page",
  "html-login": "200 with an HTML login page",
  "empty-body": "200 with no body",
  redirect: "302 to `text` (default /login)",
  unauthorized: "401",
  forbidden: "403",
  "proxy-auth": "407",
  "too-many-requests": "429 with Retry-After of `seconds` (default 2)",
  unavailable: "503 with Retry-After of `seconds` (default 2)",
  "http-status": "the status `status`",
  "no-date": "no Date header",
  "head-in-pieces":
    "the head in pieces of `bytes` bytes (default: a line each), one every `ms` (default 15)",
  "clock-jump":
    "gateway's clock wrong by `ms` (default 3600000) while on; records keep their stamps",
} as const;

/** How the envelope is written. */
const ENVELOPE_FAULTS = {
  "non-zero-status": "Key.StatusNumber is `status` (default 17), no records",
  "non-zero-status-with-records": "Key.StatusNumber is `status` (default 17), with records",
  "string-status": 'StatusNumber is "0"',
  "value-null": "Value: null",
  "value-missing": "no Value",
  "value-empty-list": "Value: [[]]",
  "empty-array": "the body is []",
  "configs-missing": "no Configs",
  "configs-null": "Configs: null",
  "key-missing": "no Key",
  "bare-envelope": "the object without its array",
  wrapped: "inside {<Operation>Result: …}",
  "value-first": "Value before Key",
  "two-elements": "the records spread over two array elements",
} as const;

/** The content of the records. ALTERING lists those that change records. */
const RECORD_FAULTS = {
  duplicates: "records come twice",
  "same-time-other-content": "a second record of the same time with other content",
  "out-of-order": "records shuffled",
  "newest-first": "records in reverse",
  late: "records appear `ms` (default 1800000) late",
  vanished: "records disappear (default a fifth)",
  shrunk: "only the first `count` (default 1) records of a day",
  "changed-field": "one field has changed",
  foreign: "records that name another sensor, beside the others",
  "other-day": "a record dated two days earlier, beside the others",
  "time-unset": "time is the unset value of year 1",
  "time-epoch": "time is 1970",
  "time-2106": "time is in 2106",
  "time-text": "time is not a time",
  "channels-cut": "all channels shortened equally",
  "channels-unequal": "channels of unequal length",
  "channels-empty": "channels without samples",
  "samples-out-of-range": "a sample beyond 16 bits",
  "samples-float": "a sample that is not an integer",
  "calibration-zero": "calibration 0",
  "calibration-negative": "calibration negative",
  "nan-tokens": "NaN, INF and -INF where numbers are expected",
  "null-fields": "fields are null",
  "missing-fields": "fields are missing",
  "unknown-members": "unknown members, including __proto__",
  "unknown-values": "unknown codes",
  "restored-from-backup": "history until now replaced by other content",
  "sensor-swapped":
    "from now on the point reports under the serial number `text`; the old one only has its past records",
  "type-changed": "the sensor is only found under type `status`",
  "big-day": "the day is padded to about `megabytes` (default 120) with further records",
} as const;

/** The spelling; the content stays the same. */
const SPELLING_FAULTS = {
  "numbers-as-strings": "numbers quoted",
  "decimal-commas": "fractions as quoted text with a comma",
  "quoted-tokens": "NaN and INF quoted (with nan-tokens)",
  "iso-times": "times as ISO 8601",
  "odd-case": "first letters of names in the other case",
  "white-space": "extra white space",
  "plain-slashes": "slashes not escaped",
  bom: "UTF-8 byte order mark in front",
  utf16: "body in UTF-16",
  "content-type": "Content-Type is `text` (default text/html); empty = none",
  gzip: "gzip where the request accepts it",
} as const;

/** The body on its way. */
const BODY_FAULTS = {
  cut: "body ends at `fraction`, connection closed normally",
  reset: "connection reset at `fraction` of the body",
  "length-larger": "Content-Length is larger than the body",
  "length-smaller": "Content-Length is smaller than the body",
  drip: "`bytes` (default 16) bytes every `ms` (default 1000)",
  silence: "nothing more after `fraction` of the body, connection open",
} as const;

export const FAULTS = {
  ...HEAD_FAULTS,
  ...ENVELOPE_FAULTS,
  ...RECORD_FAULTS,
  ...SPELLING_FAULTS,
  ...BODY_FAULTS,
} as const;
export type FaultName = keyof typeof FAULTS;

export interface FaultSpec {
  readonly name: FaultName;
  /* Where it applies; absent = everywhere. */
  readonly operation?: string;
  readonly kind?: PolledKind;
  readonly sensor?: string;
  /** yyyy-MM-dd. */
  readonly day?: string;
  /* When. */
  /** Calls of the same operation, sensor and day, counted from when the fault was added: first and last, from 1. */
  readonly fromCall?: number;
  readonly toCall?: number;
  /** Ends after this many responses. */
  readonly times?: number;
  /** Probability of a call being hit; drawn from the seeded source. */
  readonly probability?: number;
  /** Ends by itself after this many ms of real time. */
  readonly forMs?: number;
  /* Options; FAULTS describes each. */
  /** Share of the records (record faults; default 1) or of the body (body faults; seeded). */
  readonly fraction?: number;
  readonly ms?: number;
  readonly seconds?: number;
  readonly status?: number;
  readonly text?: string;
  readonly count?: number;
  readonly bytes?: number;
  readonly megabytes?: number;
}

export interface CallPlace {
  readonly operation: string;
  readonly kind: PolledKind | null;
  readonly sensor: string;
  readonly day: string;
}

export interface ActiveFault {
  readonly id: number;
  readonly spec: FaultSpec;
  /** For this fault's random choices; depends on the simulator's seed and the fault's position in the list. */
  readonly seed: number;
  /** True plant time when it was activated, ms. */
  readonly sinceMs: number;
  /** Responses it has altered. */
  readonly hits: number;
}

interface PlannedFault {
  readonly fault: ActiveFault;
  hits: number;
  draws: number;
  readonly calls: Map<string, number>;
}

/** Call counters kept per fault; a campaign over more starts counting again. */
const PLACES_MAX = 100_000;
export class FaultBook {
  readonly #seed: number;
  readonly #entries = new Map<number, PlannedFault>();
  readonly #now: () => number;
  readonly #onChange: (fault: ActiveFault, isOn: boolean) => void;
  #nextId = 1;

  constructor(
    seed: number,
    trueNow: () => number,
    onChange: (fault: ActiveFault, isOn: boolean) => void = () => {},
  ) {
    this.#seed = seed;
    this.#now = trueNow;
    this.#onChange = onChange;
  }

  /** Activates a fault; the returned function deactivates it. */
  add(spec: FaultSpec): { readonly id: number; readonly remove: () => boolean } {
    const id = this.#nextId++;
    const seed = seedOf(this.#seed, `${id} ${spec.name}`);
    const fault = { id, spec, seed, sinceMs: this.#now(), hits: 0 };
    this.#entries.set(id, { fault, hits: 0, draws: 0, calls: new Map() });
    this.#onChange(fault, true);
    return { id, remove: () => this.remove(id) };
  }

  /** False if it was not active. */
  remove(id: number): boolean {
    const entry = this.#entries.get(id);
    if (!entry) return false;
    this.#entries.delete(id);
    this.#onChange(entry.fault, false);
    return true;
  }

  clear(): void {
    for (const id of this.#entries.keys()) this.remove(id);
  }

  list(): ActiveFault[] {
    return [...this.#entries.values()].map(({ fault, hits }) => ({ ...fault, hits }));
  }

  /** The faults that hit this call. Counts the call. */
  matchFaults(place: CallPlace): FaultSet {
    const struck: ActiveFault[] = [];
    for (const entry of this.#entries.values()) {
      const { spec, seed, id } = entry.fault;
      if (!isAt(spec, place)) continue;
      const key = `${place.operation} ${place.sensor} ${place.day}`;
      const call = (entry.calls.get(key) ?? 0) + 1;
      if (entry.calls.size >= PLACES_MAX) entry.calls.clear();
      entry.calls.set(key, call);
      if (call < (spec.fromCall ?? 1) || call > (spec.toCall ?? Number.POSITIVE_INFINITY)) continue;
      if (spec.probability !== undefined && chance(seed, entry.draws++) >= spec.probability)
        continue;
      struck.push({ ...entry.fault, hits: entry.hits });
      entry.hits += 1;
      if (spec.times !== undefined && entry.hits >= spec.times) this.remove(id);
    }
    return new FaultSet(struck);
  }
}

/** The faults of one call. */
export class FaultSet {
  readonly all: readonly ActiveFault[];

  constructor(all: readonly ActiveFault[]) {
    this.all = all;
  }
  get(name: FaultName): ActiveFault | undefined {
    return this.all.find((fault) => fault.spec.name === name);
  }
  has(name: FaultName): boolean {
    return this.get(name) !== undefined;
  }
}

function isAt(spec: FaultSpec, place: CallPlace): boolean {
  return (
    (spec.operation === undefined || spec.operation === place.operation) &&
    (spec.kind === undefined || spec.kind === place.kind) &&
    // A swapped sensor is requested under either serial number.
    (spec.sensor === undefined ||
      spec.sensor === place.sensor ||
      (spec.name === "sensor-swapped" && spec.text === place.sensor)) &&
    (spec.day === undefined || spec.day === place.day)
  );
}
