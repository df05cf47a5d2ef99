/** What a seed is: a plant, its settings and uplinks, and what happens to them. Everything is drawn before the trial begins. */
import type { PolledKind } from "../../src/core/sensor.ts";
import type { FaultSpec } from "../../src/simulator/faults.ts";
import { ALTERING, BOX_STEPS_S, CLOCK_STEPS_MS, PASSING } from "../chaos/events.ts";
import { SeededRandom } from "../chaos/random.ts";
import { NIGHTS } from "../chaos/scenes.ts";
import type { SiteChange } from "../chaos/site-file.ts";
import type { CutPlace } from "./broker.ts";
import type { DiskFault } from "./disk.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

export type UplinkName = "main" | "cloud" | "scada";
/** Where a process is killed: at the n-th commit, or when the broker gets the n-th PUBLISH from now on. */
export type KillPlace =
  | "now"
  | "before commit"
  | "after commit"
  | "before publish"
  | "after publish";

export type Happening =
  | {
      readonly name: "agent killed";
      readonly at: KillPlace;
      readonly n: number;
      readonly forMs: number;
    }
  | { readonly name: "agent stopped"; readonly forMs: number }
  | { readonly name: "gateway fault"; readonly fault: FaultSpec }
  | { readonly name: "odd records"; readonly fault: FaultSpec }
  | { readonly name: "gateway away"; readonly how: "shut" | "silent"; readonly forMs: number }
  | { readonly name: "gateway clock set"; readonly offsetMs: number; readonly forMs: number }
  | { readonly name: "box clock set"; readonly offsetMs: number }
  | {
      readonly name: "link cut";
      readonly uplink: UplinkName;
      readonly at: CutPlace;
      readonly n: number;
    }
  | {
      readonly name: "broker away";
      readonly uplink: UplinkName;
      readonly how: "shut" | "silent";
      readonly forMs: number;
    }
  | { readonly name: "broker refusing"; readonly uplink: UplinkName; readonly forMs: number }
  | {
      readonly name: "broker slow";
      readonly uplink: UplinkName;
      readonly delayMs: number;
      readonly forMs: number;
    }
  | { readonly name: "broker forgetful"; readonly uplink: UplinkName }
  | { readonly name: "disk fault"; readonly what: DiskFault; readonly forMs: number }
  | { readonly name: "host offline"; readonly isAbrupt: boolean; readonly forMs: number }
  | {
      readonly name: "site file changed";
      readonly changes: readonly SiteChange[];
      readonly draw: number;
    }
  | { readonly name: "uplinks changed" };
export type HappeningName = Happening["name"];

export interface Planned {
  readonly atMs: number;
  readonly what: Happening;
}

export interface Drawn {
  readonly seed: number;
  readonly hours: number;
  readonly zone: string;
  readonly startMs: number;
  readonly sensors: number;
  readonly cadenceS: Readonly<Record<PolledKind, number>>;
  readonly historyDays: number;
  readonly samples: number;
  readonly receiveMaximum: number;
  readonly uplinks: readonly UplinkName[];
  /** Settings that do not depend on addresses. */
  readonly env: Readonly<Record<string, string>>;
  readonly plan: readonly Planned[];
  /** Whoever gives up a reading of `main` has failed: an uplink delivers it, and the gateway still has it. */
  readonly mustGiveUpNothing?: boolean;
}

/** Further nights in which the calendar changes. */
const YEARS_AND_LEAPS = [
  ["Europe/Lisbon", "2026-12-31T23:56:00Z"],
  ["America/Sao_Paulo", "2028-02-29T02:56:00Z"],
  ["UTC", "2026-06-30T23:56:00Z"],
] as const;

/** How often each happens, relative to the others. */
const WEIGHTS: Readonly<Record<HappeningName, number>> = {
  "agent killed": 7,
  "agent stopped": 1,
  "gateway fault": 6,
  "odd records": 2,
  "gateway away": 2,
  "gateway clock set": 2,
  "box clock set": 2,
  "link cut": 5,
  "broker away": 3,
  "broker refusing": 2,
  "broker slow": 2,
  "broker forgetful": 2,
  "disk fault": 3,
  "host offline": 1,
  "site file changed": 2,
  "uplinks changed": 1,
};
export const HAPPENINGS = Object.keys(WEIGHTS) as readonly HappeningName[];

const SITE_CHANGES = ["added", "removed", "renamed", "re-typed", "clamp", "class"] as const;

export function drawSeed(seed: number, hours: number, allowed: ReadonlySet<HappeningName>): Drawn {
  const random = new SeededRandom(seed);
  // A broker that is away until the buffer is full, and more records than usual: what is given up for space is not seen otherwise.
  const isDark = random.next() < 0.06;
  const [zone, night] = random.pick([...NIGHTS, ...YEARS_AND_LEAPS]);
  const startMs = Date.parse(night) - Math.floor(random.next() * hours * HOUR_MS);
  const sensors = isDark ? 20 : random.between(5, 10);
  const uplinks: UplinkName[] = ["main"];
  if (!isDark && random.next() < 0.4) uplinks.push("cloud");
  if (!isDark && random.next() < 0.3) uplinks.push("scada");
  const historyDays = isDark ? 0.05 : random.pick([0.1, 0.5, 1]);
  const cadence = () => (isDark ? 30 : random.pick([120, 300, 300, 600, 900]));
  const drawn = {
    seed,
    hours,
    zone,
    startMs,
    sensors,
    cadenceS: {
      accel: isDark ? 600 : random.pick([900, 1800, 3600]),
      current: cadence(),
      currentV2: cadence(),
      accCurrent: cadence(),
      loop: cadence(),
      dryContact: cadence(),
      rpm: cadence(),
    },
    historyDays,
    samples: random.pick([128, 256, 250]),
    receiveMaximum: random.pick([1, 20, 65_535]),
    uplinks,
    env: settingsOf(random, isDark),
  };
  return { ...drawn, plan: isDark ? darkPlan(hours) : planOf(random, drawn, allowed) };
}

/**
 * A first start that is larger than the buffer, over three uplinks, while others fill the disk, links are cut, the agent is
 * killed and the gateway shows at once what it held back. `main` delivers throughout, so that nothing has to be given up.
 */
export function drawFlood(seed: number, hours: number): Drawn {
  const random = new SeededRandom(seed);
  const drawn = drawSeed(seed, hours, new Set());
  const plan: Planned[] = [];
  for (let atMs = random.between(500, 10_000); atMs < hours * HOUR_MS; ) {
    plan.push({ atMs, what: drawFloodHappening(random) });
    // The flood is over within minutes: most happens in them.
    atMs += random.between(1000, atMs < 5 * MINUTE_MS ? 30_000 : 5 * MINUTE_MS);
  }
  return {
    ...drawn,
    sensors: 10,
    cadenceS: {
      accel: 3600,
      current: 60,
      currentV2: 60,
      accCurrent: 60,
      loop: 60,
      dryContact: 60,
      rpm: 60,
    },
    historyDays: 1,
    uplinks: ["main", "cloud", "scada"],
    env: { ...drawn.env, BUFFER_MAX_MB: "8", PUBLISH_WAVEFORMS: "never", POLL_INTERVAL_S: "60" },
    plan,
    mustGiveUpNothing: true,
  };
}

function drawFloodHappening(random: SeededRandom): Happening {
  const forMs = random.between(1000, 5 * MINUTE_MS);
  const others = ["cloud", "scada"] as const;
  const how = random.pick(["shut", "silent"] as const);
  const at = random.pick(["before", "accepted", "acknowledged"] as const);
  const n = random.between(1, 12);
  switch (random.between(0, 9)) {
    case 0:
    case 1:
    case 2:
      return { name: "disk fault", what: "full", forMs };
    case 3:
      return { name: "broker away", uplink: random.pick(others), how, forMs: 2 * forMs };
    case 4:
      return { name: "broker slow", uplink: random.pick(others), delayMs: 3000, forMs };
    case 5:
      // Still acknowledged within half a minute.
      return { name: "broker slow", uplink: "main", delayMs: random.between(50, 2000), forMs };
    case 6:
      return { name: "link cut", uplink: random.pick(["main", ...others] as const), at, n };
    case 7:
      return { name: "gateway away", how, forMs };
    default:
      return { name: "agent killed", at: "after commit", n, forMs: random.between(1000, 20_000) };
  }
}

function settingsOf(random: SeededRandom, isDark: boolean): Record<string, string> {
  return {
    POLL_INTERVAL_S: String(random.pick([60, 300, 600])),
    COMMIT_INTERVAL_S: String(random.pick([0, 1, 5, 60])),
    MQTT_VERSION: String(random.pick([4, 5, 5])),
    MQTT_INFLIGHT: String(random.pick([1, 10, 100, 500])),
    PUBLISH_FORMATS: random.pick(["json", "json", "json,plain"]),
    PUBLISH_RAW: "true",
    PUBLISH_WAVEFORMS: isDark ? "never" : random.pick(["always", "always", "alarm"]),
    BUFFER_MAX_MB: isDark ? "8" : random.pick(["16", "64", "2048"]),
    BACKFILL_DAYS: "3",
    DISK_FREE_MIN_MB: "0",
    GATEWAY_TIMEOUT_MS: "5000",
    HTTP_PORT: "off",
    COMMANDS_ENABLED: String(random.next() < 0.5),
  };
}

/** The broker is away from the first hour on, until shortly before the end. */
function darkPlan(hours: number): Planned[] {
  const forMs = (hours - 0.75) * HOUR_MS;
  return [
    { atMs: 0.5 * HOUR_MS, what: { name: "broker away", uplink: "main", how: "shut", forMs } },
  ];
}

function planOf(
  random: SeededRandom,
  { hours, sensors, uplinks }: Pick<Drawn, "hours" | "sensors" | "uplinks">,
  allowed: ReadonlySet<HappeningName>,
): Planned[] {
  const bag = HAPPENINGS.flatMap((name) => Array.from({ length: WEIGHTS[name] }, () => name));
  const codes = Array.from({ length: sensors }, (_, i) => String(100_200_300 + 37 * i));
  const plan: Planned[] = [];
  const endMs = hours * HOUR_MS;
  for (let atMs = 5 * MINUTE_MS; atMs < endMs; atMs += random.between(MINUTE_MS, 40 * MINUTE_MS)) {
    // Drawn also if it is left out: the others stay the same.
    const what = drawHappening(random, random.pick(bag), codes, uplinks);
    if (allowed.has(what.name)) plan.push({ atMs, what });
  }
  return plan;
}

function drawHappening(
  random: SeededRandom,
  name: HappeningName,
  codes: readonly string[],
  uplinks: readonly UplinkName[],
): Happening {
  const forMs = random.pick([
    random.between(1000, MINUTE_MS),
    random.between(MINUTE_MS, 30 * MINUTE_MS),
  ]);
  const uplink = random.pick(uplinks);
  const n = random.between(1, 12);
  switch (name) {
    case "agent killed": {
      const places = [
        "now",
        "before commit",
        "after commit",
        "before publish",
        "after publish",
      ] as const;
      return { name, at: random.pick(places), n, forMs };
    }
    case "agent stopped":
    case "broker refusing":
      return name === "agent stopped" ? { name, forMs } : { name, uplink, forMs };
    case "gateway fault": {
      const where = random.next() < 0.5 ? {} : { sensor: random.pick(codes) };
      return {
        name,
        fault: {
          name: random.pick(PASSING),
          ...where,
          probability: random.pick([0.3, 1, 1]),
          forMs,
        },
      };
    }
    case "odd records": {
      const fraction = random.pick([0.01, 0.05, 0.2]);
      return { name, fault: { name: random.pick(ALTERING), sensor: random.pick(codes), fraction } };
    }
    case "gateway away":
      return { name, how: random.pick(["shut", "silent"] as const), forMs };
    case "gateway clock set":
      return { name, offsetMs: random.pick(CLOCK_STEPS_MS), forMs };
    case "box clock set":
      return { name, offsetMs: random.pick(BOX_STEPS_S) * 1000 };
    case "link cut":
      return { name, uplink, at: random.pick(["before", "accepted", "acknowledged"] as const), n };
    case "broker away":
      return { name, uplink, how: random.pick(["shut", "silent"] as const), forMs };
    case "broker slow":
      return { name, uplink, delayMs: random.pick([200, 3000, 40_000]), forMs };
    case "broker forgetful":
      return { name, uplink };
    case "disk fault":
      return {
        name,
        what: random.pick(["full", "read only", "write error", "sync error"] as const),
        forMs,
      };
    case "host offline":
      return { name, isAbrupt: random.next() < 0.5, forMs };
    case "site file changed": {
      const changes = Array.from({ length: random.between(1, 4) }, () => random.pick(SITE_CHANGES));
      return { name, changes, draw: random.between(0, 1e6) };
    }
    case "uplinks changed":
      return { name };
  }
}
