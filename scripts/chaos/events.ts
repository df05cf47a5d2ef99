/** What can happen to a site, and when: drawn from the seed before the campaign begins. */
import type { FaultSpec } from "../../src/simulator/faults.ts";
import { SeededRandom } from "./random.ts";
import type { SiteChange } from "./site-file.ts";

/** Name of the site, and of the group of its edge node. */
export const PLANT_SITE = "plant";

export type Part =
  | "agent"
  | "broker"
  | "link"
  | "gateway"
  | "records"
  | "clock"
  | "disk"
  | "boxClock"
  | "host"
  | "siteFile"
  | "farSides";

export type LinkFault = "killed" | "frozen" | "silent" | "reset";

export type ChaosEvent =
  | { readonly name: "agent killed"; readonly forMs: number }
  | { readonly name: "agent stopped"; readonly forMs: number }
  | { readonly name: "broker killed"; readonly forMs: number }
  | { readonly name: "broker frozen"; readonly forMs: number }
  | { readonly name: "link silent"; readonly forMs: number }
  | { readonly name: "link reset"; readonly forMs: 0 }
  | { readonly name: "gateway fault"; readonly forMs: number; readonly fault: FaultSpec }
  | { readonly name: "odd records"; readonly forMs: 0; readonly fault: FaultSpec }
  | { readonly name: "gateway clock set"; readonly forMs: number; readonly offsetMs: number }
  | { readonly name: "disk full"; readonly forMs: number }
  | { readonly name: "box clock set"; readonly forMs: 0; readonly offsetS: number }
  | { readonly name: "host offline"; readonly forMs: number; readonly isAbrupt: boolean }
  | {
      readonly name: "site file changes";
      readonly forMs: 0;
      readonly changes: readonly SiteChange[];
      /** Which sensors, and what they become. */
      readonly draw: number;
    }
  | {
      readonly name: "uplinks change";
      readonly forMs: 0;
      readonly uplink: "visitor" | "cloud";
      /** SIGKILL this long after SIGHUP; null: none. */
      readonly killAfterMs: number | null;
    }
  | {
      readonly name: "other uplink fault";
      readonly forMs: number;
      readonly uplink: "visitor" | "cloud" | "scada";
      readonly what: LinkFault;
    };
export type EventName = ChaosEvent["name"];

export interface Planned {
  readonly atMs: number;
  readonly event: ChaosEvent;
}

/** At most one event at a time affects each part. */
export const PART_OF: Readonly<Record<EventName, Part>> = {
  "agent killed": "agent",
  "agent stopped": "agent",
  "broker killed": "broker",
  "broker frozen": "broker",
  "link silent": "link",
  "link reset": "link",
  "gateway fault": "gateway",
  "odd records": "records",
  "gateway clock set": "clock",
  "disk full": "disk",
  "box clock set": "boxClock",
  "host offline": "host",
  "site file changes": "siteFile",
  "uplinks change": "agent",
  "other uplink fault": "farSides",
};

/** Those that need several uplinks. */
export const UPLINK_EVENTS = ["site file changes", "uplinks change", "other uplink fault"] as const;
type UplinkEvent = (typeof UPLINK_EVENTS)[number];
/** Each draws from its own seed, so that the plan of the other events is the same with and without it. */
const UPLINK_SEED = 0x5eed;

/** How often each happens, relative to the others. */
const WEIGHTS: Readonly<Record<Exclude<EventName, UplinkEvent>, number>> = {
  "agent killed": 6,
  "agent stopped": 2,
  "broker killed": 4,
  "broker frozen": 2,
  "link silent": 3,
  "link reset": 3,
  "gateway fault": 8,
  "odd records": 3,
  "gateway clock set": 2,
  "disk full": 2,
  "box clock set": 2,
  "host offline": 3,
};

/** Faults that end by themselves and alter no record: what they hide can be read afterwards. */
export const PASSING = [
  ...(["refused", "never-answer", "close-without-answer", "reset-without-answer"] as const),
  ...(["stale-keep-alive", "slow-first-byte", "html-500", "html-login", "empty-body"] as const),
  ...(["too-many-requests", "unavailable", "no-date", "non-zero-status"] as const),
  ...(["non-zero-status-with-records", "string-status", "value-null", "value-missing"] as const),
  ...(["empty-array", "configs-missing", "key-missing", "bare-envelope", "wrapped"] as const),
  ...(["value-first", "two-elements", "duplicates", "out-of-order", "newest-first"] as const),
  ...(["late", "vanished", "shrunk", "numbers-as-strings", "decimal-commas", "odd-case"] as const),
  ...(["white-space", "plain-slashes", "bom", "utf16", "content-type", "gzip"] as const),
  ...(["cut", "reset", "length-larger", "length-smaller", "silence"] as const),
] as const;

/** Faults that alter records. They stay until the end, so that what was shown can be read again. */
export const ALTERING = [
  ...(["same-time-other-content", "changed-field", "foreign", "other-day"] as const),
  ...(["time-unset", "time-epoch", "time-text", "time-2106", "channels-cut"] as const),
  ...(["channels-unequal", "channels-empty", "samples-out-of-range", "samples-float"] as const),
  ...(["calibration-zero", "nan-tokens", "null-fields", "missing-fields"] as const),
  ...(["unknown-members", "unknown-values"] as const),
] as const;

const HOUR_MS = 3_600_000;
export const CLOCK_STEPS_MS = [
  60_000,
  -90_000,
  0.5 * HOUR_MS,
  -2 * HOUR_MS,
  5 * HOUR_MS,
  26 * HOUR_MS,
  -26 * HOUR_MS,
];
/** The last one: a box without a clock chip wakes up around 1970. */
export const BOX_STEPS_S = [0, 7200, -7200, 86_400 * 3, -86_400 * 40, -1_790_000_000];

/**
 * The campaign of a seed. A longer one begins like a shorter one. If something is not possible (no permission to mount, no
 * Sparkplug host), only that is left out.
 */
export function planCampaign(
  random: SeededRandom,
  lengthMs: number,
  sensors: readonly string[],
  possible: ReadonlySet<EventName>,
): Planned[] {
  const bag = (Object.keys(WEIGHTS) as Exclude<EventName, UplinkEvent>[]).flatMap((name) =>
    Array.from({ length: WEIGHTS[name] }, () => name),
  );
  const plan: Planned[] = [];
  for (let atMs = 800; atMs < lengthMs; atMs += random.between(100, 1300)) {
    const event = draw(random, random.pick(bag), sensors);
    if (possible.has(event.name)) plan.push({ atMs, event });
  }
  return plan;
}

/** What happens to further uplinks and to the files, all from one seed. */
export function planUplinkEvents(seed: number, lengthMs: number): Planned[] {
  const random = new SeededRandom(seed ^ UPLINK_SEED);
  const plan: Planned[] = [];
  for (let atMs = 1500; atMs < lengthMs; atMs += random.between(200, 1500)) {
    plan.push({ atMs, event: drawUplinkEvent(random, random.pick(UPLINK_EVENTS)) });
  }
  return plan;
}

const SITE_CHANGES = ["added", "removed", "renamed", "re-typed", "clamp", "class"] as const;

function drawUplinkEvent(random: SeededRandom, name: UplinkEvent): ChaosEvent {
  switch (name) {
    case "site file changes": {
      const changes = Array.from({ length: random.between(1, 4) }, () => random.pick(SITE_CHANGES));
      return { name, forMs: 0, changes, draw: random.between(0, 1e6) };
    }
    case "uplinks change": {
      const killAfterMs = random.next() < 0.4 ? random.between(0, 120) : null;
      return { name, forMs: 0, uplink: random.pick(["visitor", "visitor", "cloud"]), killAfterMs };
    }
    case "other uplink fault": {
      const what = random.pick(["killed", "frozen", "silent", "reset"] as const);
      const uplink = random.pick(["visitor", "cloud", "scada"] as const);
      return { name, forMs: random.between(300, 5000), uplink, what };
    }
  }
}

function draw(
  random: SeededRandom,
  name: Exclude<EventName, UplinkEvent>,
  sensors: readonly string[],
): ChaosEvent {
  switch (name) {
    case "agent killed":
    case "agent stopped":
      return { name, forMs: random.between(0, 2500) };
    case "broker killed":
      return { name, forMs: random.between(0, 4000) };
    case "broker frozen":
    case "link silent":
      return { name, forMs: random.between(500, 6000) };
    case "link reset":
      return { name, forMs: 0 };
    case "gateway fault": {
      const where = random.next() < 0.5 ? {} : { sensor: random.pick(sensors) };
      const probability = random.pick([0.3, 1, 1]);
      const forMs = random.between(300, 4000);
      return { name, forMs, fault: { name: random.pick(PASSING), ...where, probability, forMs } };
    }
    case "odd records": {
      const fraction = random.pick([0.01, 0.05, 0.2]);
      return {
        name,
        forMs: 0,
        fault: { name: random.pick(ALTERING), sensor: random.pick(sensors), fraction },
      };
    }
    case "gateway clock set":
      return { name, forMs: random.between(500, 5000), offsetMs: random.pick(CLOCK_STEPS_MS) };
    case "disk full":
      return { name, forMs: random.between(500, 5000) };
    case "box clock set":
      return { name, forMs: 0, offsetS: random.pick(BOX_STEPS_S) };
    case "host offline":
      return { name, forMs: random.between(300, 6000), isAbrupt: random.next() < 0.5 };
  }
}
