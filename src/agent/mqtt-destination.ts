/** JSON and plain topics over one session: readings, states, statistics, gaps, and commands if they are enabled. */
import { acknowledge } from "../command/acknowledge.ts";
import { CommandGate } from "../command/command-gate.ts";
import { mqttActor } from "../command/request.ts";
import type { RefusedPublishes } from "../core/agent-status.ts";
import type { InboundMessage } from "../core/link.ts";
import type { Kind } from "../core/sensor.ts";
import type { StoredReading } from "../core/stored-reading.ts";
import { clientIdsOf, MAIN_UPLINK, type Uplink } from "../core/uplink.ts";
import { VERSION } from "../lib/version.ts";
import { MqttLink } from "../link/mqtt-link.ts";
import { NOT_AUTHORIZED, refusalRemedy } from "../link/refusals.ts";
import { AlarmBoard } from "../publish/alarm-board.ts";
import { Descriptions } from "../publish/descriptions.ts";
import { SAS_RENEW_MS } from "../publish/formats/azure-sas.ts";
import { createProfile } from "../publish/formats/create-profile.ts";
import type { PayloadProfile } from "../publish/formats/profile.ts";
import type { LaneOptions } from "../publish/leased-entries.ts";
import { OtherAgents } from "../publish/other-agents.ts";
import { Presence } from "../publish/presence.ts";
import { Publisher } from "../publish/publisher.ts";
import { ReadBack } from "../publish/read-back.ts";
import { RetainedCheck } from "../publish/retained-check.ts";
import { RetainedQuery } from "../publish/retained-query.ts";
import { StaleAlarms } from "../publish/stale-alarms.ts";
import { Turns } from "../publish/turns.ts";
import { activeBefore, activePayloads, isNewestEvent } from "./alarms/active-payloads.ts";
import { brokerOptions } from "./broker-options.ts";
import { chosenSensors } from "./chosen.ts";
import {
  type Destination,
  type DestinationParts,
  ownParts,
  REMOVED,
  reconnectDelays,
} from "./destination.ts";
import { announcedKey } from "./left-entities.ts";
import { TokenTimer } from "./token-timer.ts";

/** Longest wait for the acknowledgements of an uplink that leaves its broker. */
const REMOVE_ENTITIES_MS = 10_000;

/** Shared by the parts of one destination. */
interface Shared {
  readonly uplink: Uplink;
  readonly parts: DestinationParts;
  readonly own: ReturnType<typeof ownParts>;
  readonly profile: PayloadProfile;
  readonly others: OtherAgents;
  readonly readBack: ReadBack;
  readonly isChosen: (sensor: string) => boolean;
}

function lanesOver(
  { formats, waveforms }: Uplink,
  { encode }: PayloadProfile,
  board: AlarmBoard,
): LaneOptions[] {
  const lanes: LaneOptions[] = [];
  const hasJson = formats.includes("json");
  if (hasJson) lanes.push({ lane: "json", encode: board.encoder(encode.json) });
  if (formats.includes("plain")) {
    lanes.push({ lane: "plain", encode: encode.plain });
  }
  if (hasJson && waveforms !== "never") {
    lanes.push({ lane: "waveform", encode: encode.waveform, isBackground: true });
  }
  return lanes;
}

/** What a broker over MQTT 3.1.1 acknowledges and loses. */
function notPassedOn({ readBack, uplink }: Shared, url: string): RefusedPublishes | null {
  const topic = readBack.lostAt;
  if (topic === null) return null;
  const remedy = refusalRemedy(NOT_AUTHORIZED, clientIdsOf(uplink).mqtt ?? uplink.clientId);
  return {
    topics: 1,
    examples: [{ topic, reason: "not_passed_on" }],
    text: `${url} acknowledges publishes to ${topic} and passes none on, as brokers do over MQTT 3.1.1 with what they refuse: ${remedy}, or use MQTT 5, which reports it`,
  };
}

function sensorOf(eventPayload: string): string {
  const { sensor }: { readonly sensor?: unknown } = JSON.parse(eventPayload);
  return String(sensor);
}

export function mqttDestination(uplink: Uplink, parts: DestinationParts): Destination {
  const { settings, store, clock } = parts;
  const own = ownParts(uplink, parts);
  const { logger, metrics } = own;
  const profile = createProfile(
    uplink,
    { waveforms: store.waveforms },
    {
      site: parts.site,
      version: VERSION,
      instance: parts.instance,
      clearRemoved: settings.publishClearRemoved,
    },
  );
  const others = new OtherAgents({
    marker: profile.marker,
    site: parts.site.current.site,
    instance: parts.instance,
    clock,
    logger,
  });
  // MQTT 5 tells what is refused.
  const readBack = new ReadBack(uplink.version === 4 ? profile.marker : null, clock);
  const shared: Shared = {
    uplink,
    parts,
    own,
    profile,
    others,
    readBack,
    isChosen: chosenSensors(uplink, parts.site),
  };
  const clientId = clientIdsOf(uplink).mqtt ?? uplink.clientId;
  const session = brokerOptions(uplink, clientId, parts.credentialsDirectory);
  const inbound = inboundRequests(shared, session.redact, (message) => link.publish(message));
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
        onDisconnected: () => tokens?.end(),
        // States and descriptions may take a slow broker longer than an uplink counts as delivering.
        onAccepted: () => parts.store.outboxOf(uplink.name).accepted(),
        onMessage: (message) => {
          presence.received(message.topic, message.payload, message.retain);
          inbound.handle(message);
        },
      },
    },
    {
      ...session,
      ...reconnectDelays(parts),
      name: "mqtt",
      returnsToOwn: true,
      will: () => presence.will(),
      subscriptions: [...inbound.topics, ...profile.subscriptions].map((topic) => ({
        topic,
        qos: 1,
      })),
    },
  );
  // A platform ends the session when its token expires: a new one starts before that.
  const tokens =
    uplink.sasKey === null
      ? null
      : new TokenTimer(SAS_RENEW_MS, () => void link.leave(false, null));
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
  const board = createBoard(shared, link, turns);
  const presence = createPresence(shared, link, turns, board);
  const publisher: Publisher = new Publisher(
    {
      link,
      outbox: store.outboxOf(uplink.name),
      clock,
      logger,
      metrics,
      gatewayNow: parts.gatewayNow,
    },
    { lanes: lanesOver(uplink, profile, board), backlogRatePerS: uplink.backlogRatePerS },
  );
  const removeEntities = async () => {
    const timeout = new AbortController();
    const late = clock.sleep(REMOVE_ENTITIES_MS, timeout.signal);
    await Promise.race([
      late,
      Promise.all(presence.entitiesRemoved().map((message) => link.publish(message))),
    ]);
    timeout.abort();
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
        Promise.all([publishing, presence.run(signal)]),
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

/** What is received from the broker besides our own retained state: the topics, and the handling of their messages. */
function inboundRequests(
  { uplink, parts, own: { logger, dispatcher }, profile }: Shared,
  redact: (text: string) => string,
  publish: MqttLink["publish"],
) {
  const { clock, alarms } = parts;
  const { topics } = profile;
  // On `main`, and on uplinks that enable commands.
  const isTrusted = uplink.name === MAIN_UPLINK || uplink.commands;
  const documents = isTrusted && profile.takesCommands ? parts.documents : null;
  const session = { uplink, topics, publish };
  documents?.open(session);
  const takesCommands = dispatcher !== null && profile.takesCommands;
  const inboundParts = {
    gatewayNow: parts.gatewayNow,
    logger,
    pace: new CommandGate(clock, logger),
    redact,
    responsePrefix: parts.settings.commandResponsePrefix,
    audit: (what: string, outcome: string, detail: string) =>
      parts.audit(mqttActor(uplink.name), what, outcome, detail),
  };
  return {
    documents,
    session,
    topics: [
      ...(documents === null ? [] : [topics.siteDocument]),
      ...(takesCommands ? [topics.saveSettings] : []),
      ...(takesCommands && alarms !== null ? [topics.acknowledge] : []),
    ],
    handle(message: InboundMessage): void {
      if (documents?.handle(message, session)) return;
      if (dispatcher === null || !takesCommands) return;
      if (alarms !== null && message.topic === topics.acknowledge) {
        void acknowledge({ ...inboundParts, alarms: alarms.actions }, message, publish);
        return;
      }
      if (message.topic !== topics.saveSettings) return;
      void dispatcher.handleMessage({ ...message, uplink: uplink.name }, publish);
    },
  };
}

/** States, statistics, gaps and descriptions. */
function createPresence(shared: Shared, link: MqttLink, turns: Turns, board: AlarmBoard): Presence {
  const { uplink, parts, own, profile, others, readBack, isChosen } = shared;
  const { settings, site, store, clock } = parts;
  const { logger } = own;
  const outbox = store.outboxOf(uplink.name);
  const announced = () => store.meta.get(announcedKey(uplink.name));
  return new Presence({
    link,
    turns,
    board,
    gaps: parts.gapsOf(uplink.name),
    clock,
    logger,
    status: parts.status,
    sensors: () => parts.sensors().filter(({ code }) => isChosen(code)),
    profile,
    stateRefreshMs: stateRefreshMs(uplink),
    others,
    readBack,
    descriptions: new Descriptions(
      {
        link,
        turns,
        clock,
        logger,
        profile,
        site,
        memory: {
          load: announced,
          save: (text) => store.meta.set(announcedKey(uplink.name), text),
        },
        newestTimeMs: (sensor, kind) => store.readings.newestTimeMs(sensor, kind),
      },
      { clearReadings: settings.publishClearRemoved, isSelected: ({ code }) => isChosen(code) },
    ),
    retained: new RetainedQuery({
      link,
      clock,
      readers: [
        others,
        readBack,
        new RetainedCheck({
          link,
          turns,
          profile,
          site,
          logger,
          newest: (sensor, kind) => newestOf(shared, sensor, kind),
          liveMark: (format, sensor, kind) => outbox.liveMark(format, sensor, kind),
          // Its marks say where it began, not what its broker received.
          isNew: () => uplink.startFrom === "now" && announced() === null,
        }),
        ...(hasAlarmTopics(uplink) ? [createStaleAlarms(shared, link)] : []),
      ],
    }),
  });
}

const STATE_REFRESH_MS = 60_000;
/** Where nothing else says how often at least. */
const THINNED_STATE_REFRESH_S = 3_600;

/** Between two states of a sensor that differ in the time of its last reading alone: as rare as its readings. */
function stateRefreshMs({ everyS, onChange }: Uplink): number {
  const changeS = onChange === null ? 0 : (onChange.atLeastEveryS ?? THINNED_STATE_REFRESH_S);
  return Math.max(STATE_REFRESH_MS, 1000 * Math.max(everyS ?? 0, changeS));
}

/** Of an uplink that leaves readings out, the newest one that it has published live. */
function newestOf({ uplink, parts }: Shared, sensor: string, kind: Kind): StoredReading | null {
  const { history } = parts.store;
  if (uplink.onChange === null && uplink.everyS === null) return history.latest(sensor, kind);
  const outbox = parts.store.outboxOf(uplink.name);
  const fromMs = outbox.liveMark("json", sensor, kind) ?? outbox.liveMark("plain", sensor, kind);
  if (fromMs === null) return null;
  const [reading = null] = history.range({ sensor, kind, fromMs, toMs: fromMs + 1 });
  return reading;
}

function createStaleAlarms(
  { uplink, parts, own, profile, others, isChosen }: Shared,
  link: MqttLink,
): StaleAlarms {
  const { alarms, site, store } = parts;
  const outbox = store.outboxOf(uplink.name);
  return new StaleAlarms({
    link,
    topics: profile.topics,
    logger: own.logger,
    sensors: () => site.current.sensors.map(({ code }) => code).filter((code) => isChosen(code)),
    active: () => (alarms === null ? [] : activePayloads(alarms.engines.alarms)),
    hasOther: () => others.current !== null,
    owesEvents: (sensor) => outbox.owesEvents("json", sensor),
  });
}

/** Proprietary platforms have no topics for active alarms; they receive the events. */
function hasAlarmTopics({ retain, formats, profile }: Uplink): boolean {
  return (
    retain && formats.includes("json") && (profile === "gateside" || profile === "homeassistant")
  );
}

/** The retained messages of active alarms, if the uplink has topics for them. */
function createBoard(
  { uplink, parts, own, profile, isChosen }: Shared,
  link: MqttLink,
  turns: Turns,
): AlarmBoard {
  const { alarms, site, store } = parts;
  const hasBoard = hasAlarmTopics(uplink);
  return new AlarmBoard({
    link,
    turns,
    logger: own.logger,
    topics: profile.topics,
    alarms: {
      isOn: alarms !== null,
      active: () => {
        if (!hasBoard) return [];
        const active =
          alarms === null
            ? activeBefore(site.current, store.alarms)
            : activePayloads(alarms.engines.alarms);
        return active.filter((event) => isChosen(sensorOf(event)));
      },
      isNewest: (payload) => alarms !== null && isNewestEvent(alarms.engines.alarms, payload),
    },
  });
}
