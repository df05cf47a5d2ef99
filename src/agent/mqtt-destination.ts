/** JSON and plain topics over one session: readings, states, statistics, gaps, and commands if they are enabled. */

import { brokerOptions } from "../config/broker-options.ts";
import { profileOf } from "../config/profiles.ts";
import type { RefusedPublishes } from "../core/agent-status.ts";
import { clientIdsOf, type Uplink } from "../core/uplink.ts";
import type { Destination, Standing } from "../features/sessions.ts";
import { VERSION } from "../lib/version.ts";
import { MqttLink } from "../pipeline/link/mqtt-link.ts";
import { NOT_AUTHORIZED, refusalRemedy } from "../pipeline/link/refusals.ts";
import { TokenTimer } from "../pipeline/link/token-timer.ts";
import { chosenSensors } from "../pipeline/publish/chosen.ts";
import { createProfile } from "../pipeline/publish/formats/create-profile.ts";
import type { PayloadProfile } from "../pipeline/publish/formats/profile.ts";
import type { LaneOptions } from "../pipeline/publish/leased-entries.ts";
import { OtherAgents } from "../pipeline/publish/other-agents.ts";
import { Publisher } from "../pipeline/publish/publisher.ts";
import { ReadBack } from "../pipeline/publish/read-back.ts";
import { Turns } from "../pipeline/publish/turns.ts";
import { type DestinationParts, ownParts, REMOVED, reconnectDelays } from "./destination.ts";
import { inboundRequests } from "./inbound-requests.ts";
import { stayingMachines } from "./left-entities.ts";
import type { SharedUplinkParts } from "./uplink-parts.ts";
import { createPresence } from "./uplink-presence.ts";

/** Longest wait for the acknowledgements of an uplink that leaves its broker. */
const REMOVE_ENTITIES_MS = 10_000;

function lanesOver(
  { formats, waveforms }: Uplink,
  { encode }: PayloadProfile,
  standing: readonly Standing[],
): LaneOptions[] {
  const lanes: LaneOptions[] = [];
  const hasJson = formats.includes("json");
  const json = standing.reduce((made, one) => one.encoder?.(made) ?? made, encode.json);
  if (hasJson) lanes.push({ lane: "json", encode: json });
  if (formats.includes("plain")) {
    lanes.push({ lane: "plain", encode: encode.plain });
  }
  if (hasJson && waveforms !== "never") {
    lanes.push({ lane: "waveform", encode: encode.waveform, isBackground: true });
  }
  return lanes;
}

/** What a broker over MQTT 3.1.1 acknowledges and loses. */
function notPassedOn(
  { readBack, uplink }: SharedUplinkParts,
  url: string,
): RefusedPublishes | null {
  const topic = readBack.lostAt;
  if (topic === null) return null;
  const remedy = refusalRemedy(NOT_AUTHORIZED, clientIdsOf(uplink).mqtt ?? uplink.clientId);
  return {
    topics: 1,
    examples: [{ topic, reason: "not_passed_on" }],
    text: `${url} acknowledges publishes to ${topic} and passes none on, as brokers do over MQTT 3.1.1 with what they refuse: ${remedy}, or use MQTT 5, which reports it`,
  };
}

export function mqttDestination(uplink: Uplink, parts: DestinationParts): Destination {
  const { settings, store, clock } = parts;
  const own = ownParts(uplink, parts);
  const { logger, metrics } = own;
  const platform = profileOf(uplink.profile);
  const hasMachines = parts.features().some((feature) => feature.publishesMachines === true);
  const profile = createProfile(
    { ...uplink, machines: uplink.machines && hasMachines },
    { waveforms: store.waveforms },
    {
      site: parts.site,
      version: VERSION,
      instance: parts.instance,
      run: parts.run,
      clearRemoved: settings.publishClearRemoved,
    },
    platform?.create,
  );
  const others = new OtherAgents({
    marker: profile.marker,
    statsTopic: profile.topics.agentStats,
    site: parts.site.current.site,
    instance: parts.instance,
    run: parts.run,
    clock,
    logger,
    states: parts.states,
    uplink: uplink.name,
  });
  // MQTT 5 tells what is refused.
  const readBack = new ReadBack(uplink.version === 4 ? profile.marker : null, clock);
  const shared: SharedUplinkParts = {
    uplink,
    parts,
    own,
    profile,
    others,
    readBack,
    isChosen: chosenSensors(uplink, parts.site),
  };
  const clientId = clientIdsOf(uplink).mqtt ?? uplink.clientId;
  const broker = brokerOptions(uplink, clientId, parts.credentialsDirectory);
  const inbound = inboundRequests(shared, broker.redact, (message) => link.publish(message));
  const link: MqttLink = new MqttLink(
    {
      clock,
      logger,
      metrics,
      hooks: {
        onConnected: async () => {
          tokens?.begin();
          inbound.documents?.connected(inbound.session);
          await presence.online();
        },
        onDisconnected: () => {
          tokens?.end();
          presence.disconnected();
        },
        // States and descriptions may take a slow broker longer than an uplink counts as delivering.
        onAccepted: () => parts.store.outboxOf(uplink.name).accepted(),
        onMessage: (message) => {
          presence.received(message.topic, message.payload, message.retain);
          inbound.handle(message);
        },
      },
    },
    {
      ...broker,
      ...reconnectDelays(parts),
      name: "mqtt",
      returnsToOwn: true,
      triesAside: true,
      will: () => presence.will(),
      subscriptions: [...inbound.topics, ...profile.subscriptions].map((topic) => ({
        topic,
        qos: 1,
      })),
    },
  );
  // A platform ends the session when its token expires: a new one starts before that.
  const tokens =
    uplink.sasKey === null || platform?.login === undefined
      ? null
      : new TokenTimer(platform.login.renewMs, () => void link.leave(false, null));
  const turns = new Turns({
    link,
    clock,
    readings: {
      get hasLive() {
        return publisher.hasLive;
      },
      liveSent: (signal) => publisher.liveSent(signal),
    },
  });
  const session = {
    uplink,
    isChosen: shared.isChosen,
    outbox: store.outboxOf(uplink.name),
    profile,
    link,
    turns,
    logger,
    others,
    uplinks: parts.uplinks,
  };
  const standing = parts.features().flatMap((feature) => feature.stand?.(session) ?? []);
  const presence = createPresence(shared, link, turns, standing);
  const publisher: Publisher = new Publisher(
    {
      link,
      outbox: store.outboxOf(uplink.name),
      clock,
      logger,
      metrics,
      gatewayNow: parts.gatewayNow,
    },
    { lanes: lanesOver(uplink, profile, standing), backlogRatePerS: uplink.backlogRatePerS },
  );
  const removeEntities = async () => {
    const timeout = new AbortController();
    const late = clock.sleep(REMOVE_ENTITIES_MS, timeout.signal);
    const leaving = standing.flatMap((one) => one.leaving?.() ?? []);
    const retained = leaving.flatMap(({ payload, topic }) => (payload === "" ? [topic] : []));
    const sent = [...leaving, ...presence.entitiesRemoved()].map((one) => link.publish(one));
    const outcomes = await Promise.race([late.then(() => null), Promise.all(sent)]);
    timeout.abort();
    if (outcomes !== null && outcomes.every(({ result }) => result === "delivered"))
      for (const one of standing) one.left?.();
    else if (retained.length > 0) logger.warn(...stayingMachines(uplink.urls, retained));
  };
  let connection: Promise<void> = Promise.resolve();
  let stoppedAt: number | null = null;
  const connecting = new AbortController();
  return {
    get state() {
      const { state } = link;
      const refused = state.refused ?? (state.isConnected ? notPassedOn(shared, state.url) : null);
      return { ...state, refused, otherAgent: others.current };
    },
    get delivered() {
      return publisher.delivered;
    },
    get failures() {
      return publisher.failures;
    },
    async run(signal) {
      connection = link.run(connecting.signal);
      const publishing = publisher.run(signal);
      const stopped = new Promise<void>((resolve) => {
        const note = () => {
          stoppedAt = clock.monotonic();
          turns.end();
          resolve();
        };
        if (signal.aborted) note();
        else signal.addEventListener("abort", note, { once: true });
      });
      // States and statistics that a broker leaves unacknowledged are not waited for at the end: closing the link ends
      // them.
      await Promise.race([
        Promise.all([
          publishing,
          presence.run(signal),
          ...standing.map((one) => one.run?.(signal)),
        ]),
        stopped.then(() => publishing),
      ]);
    },
    async publish(message) {
      const outcome = await link.publish(message);
      link.forgetRefusal(message.topic);
      return outcome;
    },
    async close(reason) {
      if (reason === REMOVED) await removeEntities();
      // The publisher may have waited for the same acknowledgements already.
      const waitedMs = stoppedAt === null ? 0 : clock.monotonic() - stoppedAt;
      await link.close(presence.offline(reason), waitedMs);
      connecting.abort();
      inbound.documents?.close(inbound.session);
      tokens?.end();
      await connection;
    },
  };
}
