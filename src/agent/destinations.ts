/** The two ways out of the buffer: JSON and plain topics over one session, Sparkplug B over its own. */
import { acknowledge } from "../command/acknowledge.ts";
import { CommandGate } from "../command/command-gate.ts";
import { type Dispatcher, mqttActor } from "../command/dispatcher.ts";
import type { Settings } from "../config/settings.ts";
import type { InboundMessage } from "../core/link.ts";
import type { AgentStatus, Clock, GapLog, LinkState, Logger } from "../core/ports.ts";
import type { SiteSource } from "../core/site-source.ts";
import { clientIdsOf, MAIN_UPLINK, type Uplink, type UplinkSparkplug } from "../core/uplink.ts";
import { withFields } from "../lib/logger.ts";
import { type Metrics, uplinkMetrics } from "../lib/metrics.ts";
import { VERSION } from "../lib/version.ts";
import { MqttLink } from "../link/mqtt-link.ts";
import { AlarmBoard } from "../publish/alarm-board.ts";
import { Descriptions } from "../publish/descriptions.ts";
import { SAS_RENEW_MS } from "../publish/formats/azure-sas.ts";
import { createProfile } from "../publish/formats/create-profile.ts";
import type { Profile } from "../publish/formats/profile.ts";
import type { LaneOptions } from "../publish/leased-entries.ts";
import { Presence } from "../publish/presence.ts";
import { Publisher } from "../publish/publisher.ts";
import { RetainedCheck } from "../publish/retained-check.ts";
import { SparkplugNode } from "../publish/sparkplug/node.ts";
import { nodeValues } from "../publish/sparkplug/node-metrics.ts";
import type { Store } from "../store/store.ts";
import { type Alarms, activeBefore } from "./alarms.ts";
import { brokerOptions } from "./assemble.ts";
import { chosenSensors, chosenSite, chosenValues } from "./chosen.ts";
import type { Audit } from "./configuration.ts";
import type { SiteDocuments } from "./site-documents.ts";
import { sparkplugAlarms } from "./sparkplug-alarms.ts";
import { TokenTimer } from "./token-timer.ts";

/** Where the store remembers what stands at the broker about sensors. */
const announcedKey = (uplink: string) => `announced:${uplink}`;
/** Where the store remembers the number of the last CONNECT; that of `main` as in 0.1. */
const bdSeqKey = (uplink: string) =>
  uplink === MAIN_UPLINK ? "sparkplug_bd_seq" : `sparkplug_bd_seq:${uplink}`;

export interface Destination {
  readonly state: LinkState;
  /** Messages acknowledged since the start. */
  readonly delivered: number;
  /** Publishes that did not succeed, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  run(signal: AbortSignal): Promise<void>;
  /** Says goodbye and disconnects. */
  close(reason: string): Promise<void>;
}

export interface DestinationParts {
  readonly settings: Pick<Settings, "publishClearRemoved" | "commandResponsePrefix">;
  readonly site: SiteSource;
  readonly store: Store;
  /** Those that an uplink tells. */
  readonly gapsOf: (uplink: string) => GapLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly status: () => AgentStatus;
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** Null unless CONFIG_PUBLIC_KEY_FILE is set. */
  readonly documents: SiteDocuments | null;
  /** Null unless COMMANDS_ENABLED. */
  readonly dispatcher: Dispatcher | null;
  /** Null while ALARMS_ENABLED is false. */
  readonly alarms: Alarms | null;
  readonly audit: Audit;
}

function lanesOver(
  { formats, waveforms }: Uplink,
  { encode }: Profile,
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

/** The slower of what the operator and what the platform wants; 0 is no limit. */
function backlogRateOf({ backlogRatePerS }: Uplink, { backlogRateMax }: Profile): number {
  const rates = [backlogRatePerS, backlogRateMax ?? 0].filter((rate) => rate > 0);
  return rates.length === 0 ? 0 : Math.min(...rates);
}

function sensorOf(eventPayload: string): string {
  const { sensor }: { readonly sensor?: unknown } = JSON.parse(eventPayload);
  return String(sensor);
}

/** What only this uplink's sessions use: log lines and counts with its name, and commands where it takes them. */
function ownParts(uplink: Uplink, parts: DestinationParts) {
  return {
    logger:
      uplink.name === MAIN_UPLINK
        ? parts.logger
        : withFields(parts.logger, { uplink: uplink.name }),
    metrics: uplinkMetrics(parts.metrics, uplink.name),
    dispatcher: uplink.commands ? parts.dispatcher : null,
  };
}

/** JSON and plain topics, states, statistics, gaps, and commands where they are enabled. */
export function mqttDestination(uplink: Uplink, parts: DestinationParts): Destination {
  const { settings, store, clock, alarms } = parts;
  const { logger, metrics, dispatcher } = ownParts(uplink, parts);
  const isChosen = chosenSensors(uplink, parts.site);
  const sensors = () => parts.status().sensors.filter(({ code }) => isChosen(code));
  const profile = createProfile(
    uplink,
    { waveforms: store.waveforms },
    { site: parts.site, version: VERSION, clearRemoved: settings.publishClearRemoved },
  );
  const { topics } = profile;
  // Platforms of their own have no topics for what is active; they get the events.
  const hasBoard =
    uplink.retain &&
    uplink.formats.includes("json") &&
    (uplink.profile === "gateside" || uplink.profile === "homeassistant");
  const outbox = store.outboxOf(uplink.name);
  // On `main`, and where an uplink says that it takes commands.
  const isTrusted = uplink.name === MAIN_UPLINK || uplink.commands;
  const documents = isTrusted && profile.takesCommands ? parts.documents : null;
  const takesCommands = dispatcher !== null && profile.takesCommands;
  const session = brokerOptions(uplink, clientIdsOf(uplink).mqtt ?? uplink.clientId);
  const link: MqttLink = new MqttLink(
    {
      clock,
      logger,
      metrics,
      hooks: {
        onConnected: async () => {
          tokens?.begin();
          documents?.connected(topics, (message) => link.publish(message));
          await presence.online();
          await board.online();
        },
        onDisconnected: () => tokens?.end(),
        onMessage: (message) => {
          presence.received(message.topic, message.payload, message.retain);
          command(message);
        },
      },
    },
    {
      ...session,
      name: "mqtt",
      will: () => presence.will(),
      subscriptions: [
        ...(documents === null ? [] : [topics.siteDocument]),
        ...(takesCommands ? [topics.saveSettings] : []),
        ...(takesCommands && alarms !== null ? [topics.acknowledge] : []),
        ...profile.subscriptions,
      ].map((topic) => ({ topic, qos: 1 })),
    },
  );
  // A platform ends the session when its token does: a new one begins before.
  const tokens =
    uplink.sasKey === null
      ? null
      : new TokenTimer(SAS_RENEW_MS, () => void link.leave(false, null));
  const presence = new Presence({
    link,
    gaps: parts.gapsOf(uplink.name),
    clock,
    logger,
    status: parts.status,
    sensors,
    profile,
    descriptions: new Descriptions(
      {
        link,
        logger,
        profile,
        site: parts.site,
        memory: {
          load: () => store.meta.get(announcedKey(uplink.name)),
          save: (text) => store.meta.set(announcedKey(uplink.name), text),
        },
        newestTimeMs: (sensor, kind) => store.readings.newestTimeMs(sensor, kind),
      },
      { clearReadings: settings.publishClearRemoved, isSelected: ({ code }) => isChosen(code) },
    ),
    retainedCheck: new RetainedCheck({
      link,
      profile,
      site: parts.site,
      clock,
      logger,
      newest: (sensor, kind) => store.history.latest(sensor, kind),
      liveMark: (format, sensor, kind) => outbox.liveMark(format, sensor, kind),
      // Its marks say where it began, not what its broker was given.
      isNew: () => uplink.startFrom === "now" && store.meta.get(announcedKey(uplink.name)) === null,
    }),
  });
  const board = new AlarmBoard({
    link,
    logger,
    topics,
    alarms: {
      isOn: alarms !== null,
      active: () => {
        if (!hasBoard) return [];
        const active = alarms?.activePayloads() ?? activeBefore(parts.site.current, store.alarms);
        return active.filter((event) => isChosen(sensorOf(event)));
      },
      isNewest: (payload) => alarms?.isNewest(payload) ?? false,
    },
  });
  const publisher = new Publisher(
    {
      link,
      outbox,
      clock,
      logger,
      metrics,
      gatewayNow: parts.gatewayNow,
    },
    { lanes: lanesOver(uplink, profile, board), backlogRatePerS: backlogRateOf(uplink, profile) },
  );
  const asking = {
    clock,
    logger,
    pace: new CommandGate(clock, logger),
    redact: session.redact,
    responsePrefix: settings.commandResponsePrefix,
    audit: (what: string, outcome: string, detail: string) =>
      parts.audit(mqttActor(uplink.name), what, outcome, detail),
  };
  const command = (message: InboundMessage): void => {
    if (documents?.handle(message, topics, (answer) => link.publish(answer))) return;
    if (dispatcher === null || !takesCommands) return;
    if (alarms !== null && message.topic === topics.acknowledge) {
      void acknowledge({ ...asking, alarms }, message, (answer) => link.publish(answer));
      return;
    }
    if (message.topic !== topics.saveSettings) return;
    void dispatcher.handleMessage({ ...message, uplink: uplink.name }, (answer) =>
      link.publish(answer),
    );
  };
  let connection: Promise<void> = Promise.resolve();
  let stoppedAt: number | null = null;
  const connecting = new AbortController();
  return {
    get state() {
      return link.state;
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
          resolve();
        };
        if (signal.aborted) note();
        else signal.addEventListener("abort", note, { once: true });
      });
      // States and statistics that a broker leaves unanswered are not waited for at the end: closing the link ends them.
      await Promise.race([
        Promise.all([publishing, presence.run(signal)]),
        stopped.then(() => publishing),
      ]);
    },
    async close(reason) {
      // The publisher may have waited for the same acknowledgements already.
      const waitedMs = stoppedAt === null ? 0 : clock.monotonic() - stoppedAt;
      await link.close(presence.offline(reason), waitedMs);
      connecting.abort();
      tokens?.end();
      await connection;
    },
  };
}

/** The Sparkplug B edge node: its own session and will over the same buffer. */
export function sparkplugDestination(
  uplink: Uplink,
  sparkplug: UplinkSparkplug,
  parts: DestinationParts,
): Destination {
  const { store, clock } = parts;
  const { logger, metrics, dispatcher } = ownParts(uplink, parts);
  const isChosen = chosenSensors(uplink, parts.site);
  const key = bdSeqKey(uplink.name);
  const node = new SparkplugNode(
    {
      createLink: ({ hooks, will, subscriptions }) =>
        new MqttLink(
          { clock, logger, metrics, hooks },
          {
            ...brokerOptions(uplink, clientIdsOf(uplink).sparkplug ?? uplink.clientId),
            name: "sparkplug",
            will,
            subscriptions,
            needsSubscriptions: true,
          },
        ),
      newest: (sensor, kind) => chosenValues(uplink, store.history.latest(sensor, kind)),
      sensors: () => parts.status().sensors.filter(({ code }) => isChosen(code)),
      ...(parts.alarms === null ? {} : { alarms: sparkplugAlarms(parts.alarms, isChosen) }),
      outbox: store.outboxOf(uplink.name),
      waveforms: store.waveforms,
      bdSeq: {
        load: () => {
          const text = store.meta.get(key);
          return text === null ? null : Number(text);
        },
        save: (bdSeq) => store.meta.set(key, String(bdSeq)),
      },
      nodeValues: () => nodeValues(parts.status()),
      clock,
      logger,
      metrics,
      ...(dispatcher === null
        ? {}
        : {
            onDeviceCommand: async (sensor, values) => {
              const asked = { who: mqttActor(uplink.name), what: "DCMD" };
              const request = { sensor, ...values };
              const { outcome, description } = await dispatcher.execute(request, "http", asked);
              return `${outcome}: ${description}`;
            },
          }),
    },
    {
      inflight: uplink.inflight,
      site: chosenSite(uplink, parts.site),
      group: sparkplug.group,
      node: sparkplug.node,
      hostId: sparkplug.host,
      backlogRatePerS: uplink.backlogRatePerS,
      select: uplink.select,
      waveforms: uplink.waveforms,
      historyBatch: sparkplug.historyBatch,
    },
  );
  return {
    get state() {
      return node.state;
    },
    get delivered() {
      return node.delivered;
    },
    get failures() {
      return node.failures;
    },
    run: (signal) => node.run(signal),
    close: async () => {},
  };
}
