/** The two ways out of the buffer: JSON and plain topics over one session, Sparkplug B over its own. */
import type { Dispatcher } from "../command/dispatcher.ts";
import type { Settings } from "../config/settings.ts";
import type { AgentStatus, Clock, GapLog, LinkState, Logger } from "../core/ports.ts";
import type { Site } from "../core/sensor.ts";
import type { Metrics } from "../lib/metrics.ts";
import { VERSION } from "../lib/version.ts";
import { createJsonEncoder } from "../publish/json.ts";
import type { LaneOptions } from "../publish/lane-queue.ts";
import type { InboundMessage } from "../publish/link-options.ts";
import { MqttLink } from "../publish/mqtt-link.ts";
import { createPlainEncoder } from "../publish/plain.ts";
import { Presence } from "../publish/presence.ts";
import { Publisher } from "../publish/publisher.ts";
import { SparkplugNode } from "../publish/sparkplug/node.ts";
import { nodeValues } from "../publish/sparkplug/node-metrics.ts";
import { createTopics } from "../publish/topics.ts";
import { createWaveformEncoder } from "../publish/waveform.ts";
import type { Store } from "../store/store.ts";
import { brokerOptions } from "./assemble.ts";

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
  readonly settings: Settings;
  readonly site: Site;
  readonly store: Store;
  readonly gaps: GapLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly status: () => AgentStatus;
  /** The gateway's clock, ms. */
  readonly gatewayNow: () => number;
  /** Null unless COMMANDS_ENABLED. */
  readonly dispatcher: Dispatcher | null;
}

function lanesOver(parts: DestinationParts): LaneOptions[] {
  const { settings, site, store } = parts;
  const names = { prefix: settings.mqttTopicPrefix, site: site.site };
  const lanes: LaneOptions[] = [];
  if (settings.publishFormats.includes("json")) {
    const encode = createJsonEncoder({
      ...names,
      sensors: site.sensors,
      withRaw: settings.publishRaw,
    });
    lanes.push({ lane: "json", encode });
  }
  if (settings.publishFormats.includes("plain")) {
    lanes.push({ lane: "plain", encode: createPlainEncoder(names) });
  }
  if (settings.publishFormats.includes("json") && settings.publishWaveforms !== "never") {
    const encode = createWaveformEncoder(store.waveforms, {
      ...names,
      which: settings.publishWaveforms,
    });
    lanes.push({ lane: "waveform", encode, isBackground: true });
  }
  return lanes;
}

/** JSON and plain topics, states, statistics, gaps, and commands where they are enabled. */
export function mqttDestination(parts: DestinationParts): Destination {
  const { settings, site, store, clock, logger, metrics, dispatcher } = parts;
  const names = { prefix: settings.mqttTopicPrefix, site: site.site };
  const topics = createTopics(names.prefix, names.site);
  const link: MqttLink = new MqttLink(
    {
      clock,
      logger,
      metrics,
      hooks: {
        onConnected: () => presence.online(),
        onMessage: (message) => command(message),
      },
    },
    {
      ...brokerOptions(settings, settings.mqttClientId),
      name: "mqtt",
      will: () => presence.will(),
      subscriptions: dispatcher === null ? [] : [{ topic: topics.saveSettings, qos: 1 }],
    },
  );
  const presence = new Presence(
    {
      link,
      gaps: parts.gaps,
      clock,
      logger,
      status: parts.status,
      sensors: () => parts.status().sensors,
    },
    { ...names, version: VERSION },
  );
  const publisher = new Publisher(
    { link, outbox: store.outbox, clock, logger, metrics, gatewayNow: parts.gatewayNow },
    { lanes: lanesOver(parts), backlogRatePerS: settings.mqttBacklogRate },
  );
  const command = (message: InboundMessage): void => {
    if (dispatcher === null || message.topic !== topics.saveSettings) return;
    void dispatcher.handleMessage(message, (answer) => link.publish(answer));
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
      await link.close([presence.offline(reason)], waitedMs);
      connecting.abort();
      await connection;
    },
  };
}

/** The configured id, as it is where no other session needs it. */
export function sparkplugClientId({
  mqttClientId,
  publishFormats,
}: Pick<Settings, "mqttClientId" | "publishFormats">): string {
  const isAlone = publishFormats.every((format) => format === "sparkplug");
  return isAlone ? mqttClientId : `${mqttClientId}-sparkplug`;
}

/** The Sparkplug B edge node: its own session and will over the same buffer. */
export function sparkplugDestination(parts: DestinationParts): Destination {
  const { settings, site, store, clock, logger, metrics, dispatcher } = parts;
  const node = new SparkplugNode(
    {
      newest: (sensor, kind) => store.history.latest(sensor, kind),
      sensors: () => parts.status().sensors,
      outbox: store.outbox,
      waveforms: store.waveforms,
      bdSeq: {
        load: () => {
          const text = store.meta.get("sparkplug_bd_seq");
          return text === null ? null : Number(text);
        },
        save: (bdSeq) => store.meta.set("sparkplug_bd_seq", String(bdSeq)),
      },
      nodeValues: () => nodeValues(parts.status()),
      clock,
      logger,
      metrics,
      ...(dispatcher === null
        ? {}
        : {
            onDeviceCommand: async (sensor, values) => {
              const { outcome, description } = await dispatcher.execute({ sensor, ...values });
              return `${outcome}: ${description}`;
            },
          }),
    },
    {
      link: brokerOptions(settings, sparkplugClientId(settings)),
      sensors: site.sensors,
      group: settings.sparkplugGroupId,
      node: settings.sparkplugNodeId,
      hostId: settings.sparkplugHostId,
      backlogRatePerS: settings.mqttBacklogRate,
      waveforms: settings.publishWaveforms,
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
