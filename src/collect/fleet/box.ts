/** A box as `gateside fleet` shows it. Times are ms UTC, ages s. */
import { isJsonObject } from "../../core/record.ts";
import { DAY_MS } from "../../core/time-units.ts";
export interface FleetBox {
  readonly site: string;
  /** As in agent/state; null if nothing was received. */
  readonly state: string | null;
  readonly version: string | null;
  readonly configuration: string | null;
  /** Settings that wait for a restart. */
  readonly pendingRestart: readonly string[];
  /** Of the newest reading; null if there is none, or if the clock is ahead. */
  readonly newestReadingAgeS: number | null;
  /** True if a time that the box gave is later than the arrival of its message. */
  readonly isClockAhead: boolean;
  /** How old what has not arrived yet is, s; null if the box keeps up. */
  readonly behindS: number | null;
  /** Of the newest statistics, which come every minute; null if unknown. */
  readonly statsAgeS: number | null;
  /** True if it does not say that it is offline, and no statistics have come for five minutes or ever. */
  readonly isUnheard: boolean;
  /** Since when it is offline, ISO; null if it is not, or that is not known. */
  readonly offlineSince: string | null;
  /** Readings pending in its buffer. */
  readonly backlog: number | null;
  /** Hours of outage that fit into its buffer. */
  readonly hoursUntilFull: number | null;
  readonly sensors: number;
  readonly silentSensors: readonly string[];
  readonly alarms: { readonly warning: number; readonly alarm: number };
  /** Why somebody should check the box; empty if everything works. Machine alarms are not included: the box does its work. */
  readonly needsHands: readonly string[];
}

export type Json = Readonly<Record<string, unknown>>;

/** What is known about a site, wherever it was read. */
export interface BoxFacts {
  readonly site: string;
  readonly state: Json | null;
  readonly stats: Json | null;
  /** When state and statistics arrived, ms; null if only their own times are known. */
  readonly stateReceivedMs: number | null;
  readonly statsReceivedMs: number | null;
  /** True if runs of two boxes have alternated lately. */
  readonly areTwo: boolean;
  readonly newestReadingMs: number | null;
  /** When another reading was due at the latest, ms; null unless sensors say that they are online. */
  readonly readingDueMs: number | null;
  /** When the first message of the box was stored, ms; null if it is not known. */
  readonly firstHeardMs: number | null;
  /** Older readings are refused by the database, ms; null if it is not known. */
  readonly horizonMs: number | null;
  readonly sensors: readonly { readonly sensor: string; readonly state: string | null }[];
  readonly alarms: readonly { readonly severity: string | null }[];
}

/** Statistics arrive every minute; after this long without any the box counts as silent, s. */
const STATS_AGE_MAX_S = 300;
/** A buffer with less than a day left will not last a weekend. */
const HOURS_LEFT_MIN = 24;
/** A backlog may be this old before it needs attention, s. */
const PENDING_AGE_MAX_S = 3600;
/** Clocks of healthy boxes differ by less, ms. */
const CLOCK_TOLERANCE_MS = 60_000;
/** A horizon moves by whole weeks. */
const HORIZON_NEAR_MS = 7 * DAY_MS;
/** How long sensors that say they are online may be without a reading if their interval is unknown, ms. */
export const READING_AGE_MAX_MS = DAY_MS;

/** Offline ones first, then those that are behind, then by site. */
export function inOrder(boxes: readonly FleetBox[]): FleetBox[] {
  const rank = ({ state, behindS }: FleetBox) =>
    state === "offline" ? 0 : behindS !== null ? 1 : 2;
  return [...boxes].sort((a, b) => rank(a) - rank(b) || (a.site < b.site ? -1 : 1));
}

/** The facts in one line, with faults in words. @param nowMs by the clock that dated the arrivals */
export function fleetBox(facts: BoxFacts, nowMs: number): FleetBox {
  const { site, state, stats } = facts;
  const buffer = json(stats?.["buffer"]);
  const isLater = (ms: number | null, arrivedMs: number | null) =>
    ms !== null && ms > (arrivedMs ?? nowMs) + CLOCK_TOLERANCE_MS;
  const ageS = (ms: number | null) =>
    ms === null || isLater(ms, null) ? null : Math.max(0, (nowMs - ms) / 1000);
  const statsAgeS = ageS(facts.statsReceivedMs ?? time(stats?.["time"]));
  const newestReadingAgeS = ageS(facts.newestReadingMs);
  // Statistics are newer: a state tells of the connect.
  const isClockAhead =
    isLater(facts.newestReadingMs, null) ||
    (stats === null
      ? isLater(time(state?.["time"]), facts.stateReceivedMs)
      : isLater(time(stats["time"]), facts.statsReceivedMs));
  const pendingAgeS = number(buffer?.["oldestAgeS"]);
  const backlog = number(buffer?.["depth"]);
  const silentSensors = facts.sensors
    .filter((sensor) => sensor.state === "silent")
    .map(({ sensor }) => sensor)
    .sort();
  const reported = text(state?.["state"]);
  const hoursUntilFull = number(buffer?.["hoursUntilFull"]);
  const needsHands: string[] = [];
  const isUnheard =
    reported !== "offline" && (stats === null || (statsAgeS ?? 0) > STATS_AGE_MAX_S);
  if (reported === "offline") {
    const reason = text(state?.["reason"]);
    needsHands.push(`offline${reason === null ? "" : ` (${reason})`}`);
  } else if (isUnheard)
    needsHands.push(statsAgeS === null ? "no statistics" : `silent for ${span(statsAgeS)}`);
  if (facts.areTwo || isOfAnother(facts)) needsHands.push("two boxes publish as this site");
  const late = [
    pendingAgeS !== null && pendingAgeS > PENDING_AGE_MAX_S && !isFirstBackfill(facts, nowMs)
      ? pendingAgeS
      : 0,
    reported !== "offline" && (facts.readingDueMs ?? nowMs) < nowMs ? (newestReadingAgeS ?? 0) : 0,
  ];
  const behindS = Math.max(...late) > 0 ? Math.max(...late) : null;
  if (behindS !== null)
    needsHands.push(
      `behind by ${span(behindS)}${backlog ? `, ${backlog.toLocaleString("en-US")} readings` : ""}`,
    );
  const { horizonMs } = facts;
  if (behindS !== null && pendingAgeS !== null && horizonMs !== null) {
    const leftMs = nowMs - pendingAgeS * 1000 - horizonMs;
    const before = new Date(horizonMs).toISOString().slice(0, 10);
    if (leftMs < 0) needsHands.push(`backlog is older than the database keeps (${before})`);
    else if (leftMs < HORIZON_NEAR_MS)
      needsHands.push(`backlog nears what the database refuses as too old (${before})`);
  }
  if (isClockAhead) needsHands.push("clock ahead");
  if (json(stats?.["gateway"])?.["isUp"] === false) needsHands.push("gateway down");
  if (buffer?.["isWritable"] === false) needsHands.push("buffer not writable");
  const alarm = text(buffer?.["alarm"]);
  if (alarm !== null) needsHands.push(`buffer: ${alarm}`);
  if (hoursUntilFull !== null && hoursUntilFull < HOURS_LEFT_MIN)
    needsHands.push(`buffer full in ${hoursUntilFull.toFixed(1)} h`);
  if (json(stats?.["clock"])?.["isPlausible"] === false) needsHands.push("clock implausible");
  if (silentSensors.length > 0)
    needsHands.push(`${silentSensors.length} silent sensor${silentSensors.length > 1 ? "s" : ""}`);
  const pending = state?.["pendingRestart"];
  // The box's own count also has the alarms that were raised before the database existed.
  const counted = json(stats?.["alarms"]);
  const count = (severity: string) =>
    number(counted?.[severity]) ??
    facts.alarms.filter((entry) => entry.severity === severity).length;
  return {
    site,
    state: reported,
    version: text(stats?.["version"]) ?? text(state?.["version"]),
    configuration: text(stats?.["configuration"]) ?? text(state?.["configuration"]),
    pendingRestart: Array.isArray(pending)
      ? pending.filter((name): name is string => typeof name === "string")
      : [],
    newestReadingAgeS,
    isClockAhead,
    behindS,
    statsAgeS,
    isUnheard,
    offlineSince: reported === "offline" ? offlineSince(facts) : null,
    backlog,
    hoursUntilFull,
    sensors: facts.sensors.length,
    silentSensors,
    alarms: { warning: count("warning"), alarm: count("alarm") },
    needsHands,
  };
}

/** Statistics of another run than the one that came online before them: a box that starts again says so first. */
function isOfAnother({ state, stats, stateReceivedMs, statsReceivedMs }: BoxFacts): boolean {
  const runs = [text(state?.["run"]), text(stats?.["run"])];
  if (state?.["state"] !== "online" || runs.includes(null) || runs[0] === runs[1]) return false;
  const [startedMs, sentMs] = [time(state["time"]), time(stats?.["time"])];
  // Retained, those of the run before may arrive after the start.
  if (startedMs !== null && sentMs !== null && sentMs <= startedMs) return false;
  const cameMs = stateReceivedMs ?? startedMs ?? Number.POSITIVE_INFINITY;
  return (statsReceivedMs ?? sentMs ?? 0) > cameMs;
}

/**
 * What is pending was measured before the box was there: it reads the past for the first time, and nothing can have
 * waited for an hour yet. Retained topics do not say since when it is there.
 */
function isFirstBackfill({ stats, firstHeardMs }: BoxFacts, nowMs: number): boolean {
  const pendingAgeS = number(json(stats?.["buffer"])?.["oldestAgeS"]) ?? 0;
  const uptimeS = number(stats?.["uptimeS"]);
  if (uptimeS === null || uptimeS > PENDING_AGE_MAX_S || pendingAgeS <= uptimeS) return false;
  return firstHeardMs === null || nowMs - pendingAgeS * 1000 < firstHeardMs;
}

/** A will is dated by its session's begin: its arrival says more, or the statistics before it. */
function offlineSince({ state, stats, stateReceivedMs }: BoxFacts): string | null {
  const own = time(state?.["time"]);
  const ms = stateReceivedMs ?? Math.max(own ?? 0, time(stats?.["time"]) ?? 0);
  return ms === 0 ? null : new Date(ms).toISOString();
}

/** "5 days"; rounded down. */
function span(s: number): string {
  if (s >= 2 * 86_400) return `${Math.floor(s / 86_400)} days`;
  if (s >= 2 * 3600) return `${Math.floor(s / 3600)} hours`;
  return `${Math.floor(s / 60)} min`;
}

function json(value: unknown): Json | null {
  return isJsonObject(value) ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function time(value: unknown): number | null {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
