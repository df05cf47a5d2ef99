/** What a seed is: a plant, its settings and uplinks, and what happens to them. Everything is drawn before the trial begins. */
import type { PolledKind } from "../../src/core/sensor.ts";
import { SeededRandom } from "../chaos/random.ts";
import { NIGHTS } from "../chaos/scenes.ts";
import {
  drawHappening,
  HAPPENINGS,
  type Happening,
  type HappeningName,
  HOUR_MS,
  MINUTE_MS,
  SITE_CHANGES,
  type UplinkName,
  WEIGHTS,
} from "./happenings.ts";

export interface Planned {
  readonly atMs: number;
  readonly what: Happening;
}

/** The trial of a document takes minutes. */
const APART_HOURS_MIN = 0.5;

export const PLATFORM_PROFILES = ["homeassistant", "thingsboard", "aws-iot", "azure-iot"] as const;
export type PlatformProfile = (typeof PLATFORM_PROFILES)[number];

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
  /** Of the uplink `platform`. */
  readonly profile: PlatformProfile;
  /** MQTT version of the uplinks of the uplinks file. */
  readonly version: 4 | 5;
  /** Machines that are diagnosed, with bands; baselines; sensors whose node is asked for its state. */
  readonly hasMachines: boolean;
  readonly hasStateReads: boolean;
  /** The first start finds a store that 0.2 made, with readings that are pending. */
  readonly isUpgrade: boolean;
  /** Of every third sensor, s; null: none has its own. */
  readonly ownIntervalS: number | null;
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

export function drawSeed(seed: number, hours: number, allowed: ReadonlySet<HappeningName>): Drawn {
  const random = new SeededRandom(seed);
  // A broker that is away until the buffer is full, and more records than usual: what is given up for space is not seen otherwise.
  const isDark = random.next() < 0.06;
  const [zone, night] = random.pick([...NIGHTS, ...YEARS_AND_LEAPS]);
  const startMs = Date.parse(night) - Math.floor(random.next() * hours * HOUR_MS);
  const sensors = isDark ? 20 : random.between(5, 10);
  const uplinks: UplinkName[] = ["main"];
  if (!isDark && random.next() < 0.4) uplinks.push("cloud");
  if (!isDark && random.next() < 0.4) uplinks.push("scada");
  if (!isDark && random.next() < 0.3) uplinks.push("platform");
  const historyDays = isDark ? random.pick([0.05, 0.25]) : random.pick([0.1, 0.5, 1]);
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
    profile: random.pick(PLATFORM_PROFILES),
    version: random.pick([4, 5] as const),
    hasMachines: !isDark && random.next() < 0.4,
    hasStateReads: random.next() < 0.3,
    isUpgrade: random.next() < 0.2,
    ownIntervalS: ownIntervalOf(seed, hours),
    env: settingsOf(random, isDark),
  };
  if (isDark) return { ...drawn, plan: darkPlan(random, hours) };
  const plan = [
    ...firstOf(seed, drawn, allowed),
    ...planOf(random, drawn, allowed),
    ...documentsOf(seed, drawn, allowed),
    ...[...yearsAheadOf(seed, drawn), ...datelessOf(seed, drawn)].filter(({ what }) =>
      allowed.has(what.name),
    ),
  ];
  return { ...drawn, plan: plan.sort((a, b) => a.atMs - b.atMs) };
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
    hasMachines: false,
    hasStateReads: false,
    isUpgrade: false,
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

/** Drawn apart, as documents are. */
function ownIntervalOf(seed: number, hours: number): number | null {
  const random = new SeededRandom(seed ^ 0x60d5);
  if (hours < APART_HOURS_MIN || random.next() > 0.3) return null;
  return random.pick([30, 120, 900]);
}

/** The broker is away from the beginning or the first hour on, until shortly before the end; meanwhile writes fail now and then. */
function darkPlan(random: SeededRandom, hours: number): Planned[] {
  // A run of less than two hours begins earlier, but its draw is taken all the same.
  const fromMs = Math.min(random.pick([0, 0.5 * HOUR_MS]), (hours / 4) * HOUR_MS);
  const forMs = Math.max(hours - 0.25, hours / 2) * HOUR_MS - fromMs;
  const plan: Planned[] = [
    { atMs: fromMs, what: { name: "broker away", uplink: "main", how: "shut", forMs } },
  ];
  const isTroubled = random.next() < 0.5;
  for (
    let atMs = 0.1 * HOUR_MS;
    isTroubled && atMs < forMs;
    atMs += random.between(1, 30) * MINUTE_MS
  )
    plan.push({ atMs, what: { name: "disk fault", what: "write error", forMs: 20_000 } });
  return plan;
}

/**
 * In every other seed something is aimed at the flow of the first start: most is read, committed and sent within its first
 * seconds. Drawn apart, so that the rest of the seed does not depend on it.
 */
function firstOf(
  seed: number,
  { uplinks }: Pick<Drawn, "uplinks">,
  allowed: ReadonlySet<HappeningName>,
): Planned[] {
  const random = new SeededRandom(seed ^ 0x2f1d);
  const n = random.between(1, 30);
  const forMs = random.between(1000, 20_000);
  const killed = {
    name: "agent killed",
    at: random.pick(["after progress", "before commit", "after commit", "after publish"] as const),
    n,
    forMs,
  } as const;
  const at = random.pick(["before", "before", "accepted"] as const);
  const cut = { name: "link cut", uplink: random.pick(uplinks), at, n } as const;
  const what = random.pick([killed, cut]);
  const isDrawn = random.next() < 0.5;
  return isDrawn && allowed.has(what.name) ? [{ atMs: random.between(100, 1000), what }] : [];
}

/**
 * Signed site files, in some seeds; often the agent is killed while one is put in its place. Drawn apart, too, and not in short
 * runs: the seeds known for a break stay what they are.
 */
function documentsOf(
  seed: number,
  { hours }: Pick<Drawn, "hours">,
  allowed: ReadonlySet<HappeningName>,
): Planned[] {
  const random = new SeededRandom(seed ^ 0x3d0c);
  if (hours < APART_HOURS_MIN || random.next() > 0.35 || !allowed.has("document sent")) return [];
  const plan: Planned[] = [];
  for (
    let atMs = random.between(2, 30) * MINUTE_MS;
    atMs < hours * HOUR_MS;
    atMs += random.between(1, 60) * MINUTE_MS
  ) {
    const damages = ["unsigned", "elsewhere", "unread", "unread", null, null, null, null] as const;
    const draw = random.between(0, 1e6);
    const change = random.pick(SITE_CHANGES);
    const what = { name: "document sent", change, damage: random.pick(damages), draw } as const;
    plan.push({ atMs, what });
    const at = random.pick(["before rename", "after rename"] as const);
    const n = random.between(1, 4);
    const forMs = random.between(1000, MINUTE_MS);
    const killed = { name: "agent killed", at, n, forMs } as const;
    if (random.next() < 0.5 && allowed.has(killed.name)) plan.unshift({ atMs, what: killed });
  }
  return plan;
}

/** In some seeds the box starts years ahead while the gateway, which would tell, is away: nobody may remove anything. Drawn apart, too. */
function yearsAheadOf(seed: number, { hours }: Pick<Drawn, "hours">): Planned[] {
  const random = new SeededRandom(seed ^ 0x77a1);
  if (hours < APART_HOURS_MIN || random.next() > 0.15) return [];
  const atMs = random.between(1, (hours * HOUR_MS) / MINUTE_MS - 10) * MINUTE_MS;
  const forMs = random.between(10, 30) * MINUTE_MS;
  const offsetMs = random.between(1, 5) * 8766 * HOUR_MS;
  return [
    { atMs, what: { name: "gateway away", how: "shut", forMs } },
    { atMs: atMs + 1000, what: { name: "box clock set", offsetMs } },
    { atMs: atMs + 2000, what: { name: "agent killed", at: "now", n: 1, forMs: 5000 } },
  ];
}

/**
 * In some seeds only the box's clock tells the day, and it is days ahead until it is set right while the agent runs: since a start,
 * or for a while. Drawn apart, too.
 */
function datelessOf(seed: number, { hours }: Pick<Drawn, "hours">): Planned[] {
  const random = new SeededRandom(seed ^ 0x1c0d);
  if (hours < APART_HOURS_MIN || random.next() > 0.25) return [];
  const atMs = random.between(1, (hours * HOUR_MS) / MINUTE_MS / 2) * MINUTE_MS;
  const aheadMs = random.between(1, 10) * MINUTE_MS;
  const fault = { name: "no-date", forMs: hours * HOUR_MS - atMs } as const;
  // By the first, the true day is closed and still backfilled.
  const offsetMs = random.pick([random.between(50, 72), random.between(48, 168)]) * HOUR_MS;
  const killed = { name: "agent killed", at: "now", n: 1, forMs: 5000 } as const;
  const isStart = random.next() < 0.7;
  return [
    { atMs, what: { name: "gateway fault", fault } },
    // What it knew by a `Date` is over with the process.
    ...(isStart ? [] : [{ atMs: atMs + 500, what: killed }]),
    { atMs: atMs + (isStart ? 1000 : 2 * MINUTE_MS), what: { name: "box clock set", offsetMs } },
    ...(isStart ? [{ atMs: atMs + 2000, what: killed }] : []),
    {
      atMs: atMs + 3 * MINUTE_MS + aheadMs,
      what: { name: "box clock set", offsetMs: 0 },
    },
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
  // The first start has most to read, commit and send: the first thing often happens during it.
  const firstMs = random.pick([3_000, 20_000, MINUTE_MS, 5 * MINUTE_MS]);
  for (let atMs = firstMs; atMs < endMs; atMs += random.between(MINUTE_MS, 40 * MINUTE_MS)) {
    // Drawn also if it is left out: the others stay the same.
    const what = drawHappening(random, random.pick(bag), codes, uplinks);
    if (allowed.has(what.name)) plan.push({ atMs, what });
  }
  return plan;
}
