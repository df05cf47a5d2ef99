/** A box as `gateside fleet` shows it. Times are ms UTC, ages s. */
export interface FleetBox {
  readonly site: string;
  /** As in agent/state; null if nothing was received. */
  readonly state: string | null;
  readonly version: string | null;
  readonly configuration: string | null;
  /** Settings that wait for a restart. */
  readonly pendingRestart: readonly string[];
  /** Of the newest reading; null if there is none. */
  readonly newestReadingAgeS: number | null;
  /** Of the newest statistics, which come every minute. */
  readonly statsAgeS: number | null;
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
  /** When the statistics arrived, ms; null if only their own time is known. */
  readonly statsReceivedMs: number | null;
  readonly newestReadingMs: number | null;
  readonly sensors: readonly { readonly sensor: string; readonly state: string | null }[];
  readonly alarms: readonly { readonly severity: string | null }[];
}

/** Statistics arrive every minute; after this long without any the box counts as silent, s. */
const STATS_AGE_MAX_S = 300;
/** A buffer with less than a day left will not last a weekend. */
const HOURS_LEFT_MIN = 24;

/** The facts in one line, with faults in words. */
export function fleetBox(facts: BoxFacts, nowMs: number): FleetBox {
  const { site, state, stats } = facts;
  const buffer = json(stats?.["buffer"]);
  const ageS = (ms: number | null) => (ms === null ? null : Math.max(0, (nowMs - ms) / 1000));
  const statsAgeS = ageS(facts.statsReceivedMs ?? time(stats?.["time"]));
  const silentSensors = facts.sensors
    .filter((sensor) => sensor.state === "silent")
    .map(({ sensor }) => sensor)
    .sort();
  const reported = text(state?.["state"]);
  const hoursUntilFull = number(buffer?.["hoursUntilFull"]);
  const needsHands: string[] = [];
  if (reported === "offline") {
    const reason = text(state?.["reason"]);
    needsHands.push(`offline${reason === null ? "" : ` (${reason})`}`);
  } else if (statsAgeS === null) needsHands.push("no statistics");
  else if (statsAgeS > STATS_AGE_MAX_S) needsHands.push(`silent for ${Math.round(statsAgeS)} s`);
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
  const count = (severity: string) =>
    facts.alarms.filter((entry) => entry.severity === severity).length;
  return {
    site,
    state: reported,
    version: text(stats?.["version"]) ?? text(state?.["version"]),
    configuration: text(stats?.["configuration"]) ?? text(state?.["configuration"]),
    pendingRestart: Array.isArray(pending)
      ? pending.filter((name): name is string => typeof name === "string")
      : [],
    newestReadingAgeS: ageS(facts.newestReadingMs),
    statsAgeS,
    backlog: number(buffer?.["depth"]),
    hoursUntilFull,
    sensors: facts.sensors.length,
    silentSensors,
    alarms: { warning: count("warning"), alarm: count("alarm") },
    needsHands,
  };
}

function json(value: unknown): Json | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Json)
    : null;
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
