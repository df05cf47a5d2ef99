import { isJsonObject } from "../../core/record.ts";
import { parseMessage } from "../parse/parse-message.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../site-topics.ts";
import { type BoxFacts, type FleetBox, fleetBox, type Json, READING_AGE_MAX_MS } from "./box.ts";
import { type Broker, withRetained } from "./retained.ts";

interface RetainedFacts {
  state: Json | null;
  stats: Json | null;
  newestMs: number | null;
  /** Newest reading of the sensors that say they are online. */
  onlineMs: number | null;
  readonly sensors: Map<string, string | null>;
  readonly alarms: Map<string, string | null>;
}

/** Every box that has retained state at the broker. Rejects if it does not respond, or cannot tell. */
export function fleetFromBroker(
  broker: Broker,
  prefix: string,
  nowMs: number,
): Promise<FleetBox[]> {
  let sites = new Map<string, RetainedFacts>();
  const below = ["agent/state", "agent/stats", "+/state", "+/alarm/#"];
  return withRetained(
    broker,
    below.map((topic) => `${prefix}/+/${topic}`),
    () => {
      sites = new Map();
      return (topic, payload) => learn(sites, prefix, topic, payload);
    },
    ({ protocolVersion, hasRetained }) => {
      // What boxes happen to publish meanwhile is not the fleet.
      if (protocolVersion === 4 && !hasRetained)
        throw new Error(
          `no retained message below ${prefix}/: either no box has published there, or this broker gives none to topics with wildcards (RabbitMQ 3.10), and --db is needed`,
        );
      return [...sites].map(([site, facts]) => fleetBox(asFacts(site, facts), nowMs));
    },
  );
}

function learn(
  sites: Map<string, RetainedFacts>,
  prefix: string,
  topic: string,
  payload: Buffer,
): void {
  const factsOf = (site: string): RetainedFacts => {
    const known = sites.get(site);
    if (known) return known;
    const facts: RetainedFacts = {
      state: null,
      stats: null,
      newestMs: null,
      onlineMs: null,
      sensors: new Map(),
      alarms: new Map(),
    };
    sites.set(site, facts);
    return facts;
  };
  const levels = topic.slice(prefix.length + 1).split("/");
  if (levels[2] === "alarm" && levels[0] !== undefined) {
    const severity = payload.length === 0 ? null : severityOf(payload);
    if (severity === null) factsOf(levels[0]).alarms.delete(topic);
    else factsOf(levels[0]).alarms.set(topic, severity);
    return;
  }
  const delivery = {
    topic,
    dots: "kept" as const,
    payload,
    bytes: payload.length,
    receivedMs: 0,
    acknowledge() {},
  };
  const item = parseMessage(delivery, {
    topics: new SiteTopics(prefix, DEFAULT_TOPIC),
    keepDays: null,
  });
  if (item.type === "boxState" && item.body !== null) factsOf(item.site).state = item.body;
  else if (item.type === "boxStats" && item.body !== null) factsOf(item.site).stats = item.body;
  else if (item.type === "sensorState" && item.body !== null) {
    const facts = factsOf(item.site);
    const state = item.body["state"];
    if (state === "removed") facts.sensors.delete(item.sensor);
    else facts.sensors.set(item.sensor, typeof state === "string" ? state : null);
    const last = item.body["lastReading"];
    const ms = typeof last === "string" ? Date.parse(last) : Number.NaN;
    if (Number.isNaN(ms)) return;
    facts.newestMs = Math.max(facts.newestMs ?? ms, ms);
    if (state === "online") facts.onlineMs = Math.max(facts.onlineMs ?? ms, ms);
  }
}

function severityOf(payload: Buffer): string | null {
  try {
    const body: unknown = JSON.parse(payload.toString());
    const severity = isJsonObject(body) ? body["severity"] : null;
    return typeof severity === "string" ? severity : null;
  } catch {
    return null;
  }
}

function asFacts(site: string, facts: RetainedFacts): BoxFacts {
  return {
    site,
    state: facts.state,
    stats: facts.stats,
    stateReceivedMs: null,
    statsReceivedMs: null,
    areTwo: false,
    newestReadingMs: facts.newestMs,
    readingDueMs: facts.onlineMs === null ? null : facts.onlineMs + READING_AGE_MAX_MS,
    firstHeardMs: null,
    horizonMs: null,
    sensors: [...facts.sensors].map(([sensor, state]) => ({ sensor, state })),
    alarms: [...facts.alarms.values()].map((severity) => ({ severity })),
  };
}
