import { randomBytes } from "node:crypto";
import { type BrokerAddress, publicBroker } from "../broker-url.ts";
import { MqttConnection } from "../mqtt/connection.ts";
import type { BrokerTls } from "../options.ts";
import { parseMessage } from "../parse/parse-message.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../site-topics.ts";
import { unreachedText } from "../unreached.ts";
import { type BoxFacts, type FleetBox, fleetBox, type Json, READING_AGE_MAX_MS } from "./box.ts";

/** Retained messages arrive at once; after this long without any there are no more, ms. */
const QUIET_MS = 1500;
/** Total limit, for a broker that never falls silent, ms. */
const READ_MS = 30_000;

interface Facts {
  state: Json | null;
  stats: Json | null;
  newestMs: number | null;
  /** Newest reading of the sensors that say they are online. */
  onlineMs: number | null;
  readonly sensors: Map<string, string | null>;
  readonly alarms: Map<string, string | null>;
}

/** Every box that has retained state at the broker. Tries the addresses in turn; rejects if none responds. */
export async function fleetFromBroker(
  addresses: readonly BrokerAddress[],
  tls: BrokerTls,
  prefix: string,
  nowMs: number,
): Promise<FleetBox[]> {
  const failures: string[] = [];
  for (const address of addresses) {
    try {
      return await read(address, tls, prefix, nowMs);
    } catch (error) {
      failures.push(`${publicBroker(address)}: ${unreachedText(error, "the broker")}`);
    }
  }
  throw new Error(failures.join("; "));
}

async function read(
  address: BrokerAddress,
  tls: BrokerTls,
  prefix: string,
  nowMs: number,
): Promise<FleetBox[]> {
  const sites = new Map<string, Facts>();
  let heardAt = performance.now();
  let close: (reason: string) => void = () => {};
  const closed = new Promise<string>((resolve) => {
    close = resolve;
  });
  const connection = new MqttConnection({
    address,
    tls,
    clientId: `gsf${randomBytes(8).toString("hex")}`,
    isTransient: true,
    onPublish: (packet) => {
      heardAt = performance.now();
      const payload = Buffer.isBuffer(packet.payload)
        ? packet.payload
        : Buffer.from(packet.payload);
      learn(sites, prefix, packet.topic, payload);
      if (packet.messageId !== undefined && packet.qos === 1)
        connection.acknowledge(packet.messageId);
      connection.flush();
    },
    onClose: (reason) => close(reason),
  });
  const startedAt = performance.now();
  try {
    await connection.open();
    await connection.subscribe([
      `${prefix}/+/agent/state`,
      `${prefix}/+/agent/stats`,
      `${prefix}/+/+/state`,
      `${prefix}/+/+/alarm/#`,
    ]);
  } catch (error) {
    connection.end(true);
    throw error;
  }
  // The time so far was needed for the connection.
  heardAt = performance.now();
  const check = setInterval(() => {
    const now = performance.now();
    if (now - heardAt > QUIET_MS || now - startedAt > READ_MS) connection.end(true);
  }, 100);
  const reason = await closed;
  clearInterval(check);
  if (reason !== "ended") throw new Error(reason);
  return [...sites].map(([site, facts]) => fleetBox(asFacts(site, facts), nowMs));
}

function learn(sites: Map<string, Facts>, prefix: string, topic: string, payload: Buffer): void {
  const factsOf = (site: string): Facts => {
    const known = sites.get(site);
    if (known) return known;
    const facts: Facts = {
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
    const severity: unknown =
      typeof body === "object" && body !== null ? Reflect.get(body, "severity") : null;
    return typeof severity === "string" ? severity : null;
  } catch {
    return null;
  }
}

function asFacts(site: string, facts: Facts): BoxFacts {
  return {
    site,
    state: facts.state,
    stats: facts.stats,
    stateReceivedMs: null,
    statsReceivedMs: null,
    newestReadingMs: facts.newestMs,
    readingDueMs: facts.onlineMs === null ? null : facts.onlineMs + READING_AGE_MAX_MS,
    horizonMs: null,
    sensors: [...facts.sensors].map(([sensor, state]) => ({ sensor, state })),
    alarms: [...facts.alarms.values()].map((severity) => ({ severity })),
  };
}
