/** One edge node with its surroundings, for tests over a real broker. */

import mqtt, { type MqttClient } from "mqtt";
import type { SensorState } from "../../../src/core/agent-status.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import type { StoredReading, StoredWaveform } from "../../../src/core/stored-reading.ts";
import { SparkplugNode } from "../../../src/features/sparkplug/node.ts";
import type { NodeValue } from "../../../src/features/sparkplug/node-metrics.ts";
import {
  type SparkplugNodeOptions,
  type SparkplugNodeParts,
} from "../../../src/features/sparkplug/node-parts.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import type { MqttLinkOptions } from "../../../src/pipeline/link/link-options.ts";
import { MqttLink } from "../../../src/pipeline/link/mqtt-link.ts";
import { MemoryOutbox, storedReading } from "../../support/memory-outbox.ts";
import {
  type Mosquitto,
  type MosquittoOptions,
  type RecordingSubscriber,
  recordMessages,
  startMosquitto,
} from "../../support/mosquitto.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { decode, type SeenMetric, type SeenPayload } from "./peer.ts";

export const PUMP: Sensor = {
  code: "30007",
  type: 12,
  kinds: ["loop", "rpm"],
  channels: { channel1: { unit: "bar", low: 0, high: 10 } },
};
export const MOTOR: Sensor = { code: "20871", type: 3, kinds: ["accel"], channels: {} };
/** Of channel 1 of the motor, a second ago. */
export const WAVE: StoredWaveform = {
  fileId: 1,
  sensor: MOTOR.code,
  timeMs: Date.now() - 1000,
  readingId: "0",
  channel: 1,
  axis: "H",
  sampleRateHz: 6400,
  calibration: 0.5,
  recordingReason: 3,
  samples: Int16Array.of(1, 2, 3, 6),
};

export interface SeenMessage {
  readonly verb: string;
  readonly device: string | undefined;
  readonly topic: string;
  readonly qos: number;
  readonly retain: boolean;
  readonly at: number;
  readonly payload: SeenPayload;
}

/** Who closes what was started: a test, or a run of many sequences. */
interface Ends {
  after(end: () => Promise<void>): void;
}

export class TestSite {
  readonly broker: Mosquitto;
  readonly host: RecordingSubscriber;
  readonly outbox = new MemoryOutbox();
  readonly newest = new Map<string, StoredReading>();
  readonly states = new Map<string, Pick<SensorState, "state" | "lastReadingMs">>();
  readonly waveforms = new Map<number, StoredWaveform>();
  readonly logs: { level: string; fields: object; message: string }[] = [];
  nodeValues: NodeValue[] = [{ name: "gateway/up", type: "Boolean", value: true }];
  savedBdSeq: number | null = null;
  /** To connect, so far. */
  attempts = 0;
  #seq = 0;
  readonly #running: { stop: AbortController; done: Promise<void> }[] = [];

  private constructor(broker: Mosquitto, host: RecordingSubscriber) {
    this.broker = broker;
    this.host = host;
    for (const { code } of [PUMP, MOTOR]) {
      this.states.set(code, { state: "online", lastReadingMs: null });
    }
  }
  static async open(t: Ends, options: MosquittoOptions = {}): Promise<TestSite> {
    const broker = await startMosquitto(options);
    const host = await recordMessages(broker.url, { topics: ["spBv1.0/#"], reconnect: true });
    const site = new TestSite(broker, host);
    t.after(async () => {
      await site.stopAll();
      await host.close();
      await broker.close();
    });
    return site;
  }

  /** Opens it and runs a node, whose births of itself and both devices are out. */
  static async born(t: Ends, ...setup: Parameters<TestSite["node"]>): Promise<TestSite> {
    const site = await TestSite.open(t);
    site.run(site.node(...setup));
    await site.until((m) => m.length === 3);
    return site;
  }

  node(
    {
      link = {},
      ...options
    }: Partial<SparkplugNodeOptions> & {
      link?: Partial<MqttLinkOptions> & { readonly url?: string };
    } = {},
    parts: Partial<SparkplugNodeParts> = {},
  ): SparkplugNode {
    const log = (level: string) => (fields: object, message: string) => {
      this.logs.push({ level, fields, message });
    };
    const logger = {
      debug: log("debug"),
      info: log("info"),
      warn: log("warn"),
      error: log("error"),
    };
    const { url = this.broker.url, ...linkOptions } = link;
    const metrics = createMetrics();
    return new SparkplugNode(
      {
        createLink: ({ hooks, ...needs }) =>
          new MqttLink(
            { clock: systemClock, logger, metrics, hooks },
            {
              ...needs,
              will: (isUnused) => {
                this.attempts += 1;
                return needs.will(isUnused);
              },
              name: "sparkplug",
              urls: [url],
              version: 5,
              clientId: "gateside-sparkplug",
              inflight: 20,
              needsSubscriptions: true,
              backoffMinMs: 20,
              backoffMaxMs: 100,
              ...linkOptions,
            },
          ),
        outbox: this.outbox,
        waveforms: { read: (fileId) => this.waveforms.get(fileId) ?? null },
        newest: (sensor, kind) => this.newest.get(`${sensor} ${kind}`) ?? null,
        sensors: () => [...this.states].map(([code, state]) => ({ code, ...state })),
        nodeValues: () => this.nodeValues,
        bdSeq: {
          load: () => this.savedBdSeq,
          save: (bdSeq) => {
            this.savedBdSeq = bdSeq;
          },
        },
        clock: systemClock,
        logger,
        metrics,
        ...parts,
      },
      {
        site: fixedSite({ site: "s", sensors: [PUMP, MOTOR] }),
        group: "plant",
        node: "edge",
        hostId: null,
        backlogRatePerS: 0,
        waveforms: "always",
        reconnectGraceMs: 0,
        rebirthMs: 0,
        inflight: 20,
        ...options,
      },
    );
  }
  /** Runs it until the test ends, or until the returned function is called. */
  run(node: SparkplugNode): () => Promise<void> {
    const stop = new AbortController();
    const done = node.run(stop.signal);
    this.#running.push({ stop, done });
    return async () => {
      stop.abort();
      await done;
    };
  }
  async stopAll(): Promise<void> {
    for (const { stop } of this.#running) stop.abort();
    await Promise.all(this.#running.map(({ done }) => done));
  }

  reading(values: Record<string, unknown>, overrides: Partial<StoredReading> = {}): StoredReading {
    this.#seq += 1;
    return storedReading(this.#seq, {
      kind: "loop",
      sensor: PUMP.code,
      timeMs: Date.now() - 60_000 + this.#seq,
      values: JSON.stringify(values),
      ...overrides,
    });
  }
  /** As the store does: newest, state and outbox. */
  append(...readings: StoredReading[]): void {
    for (const reading of readings) {
      const { sensor, kind, timeMs } = reading;
      const key = `${sensor} ${kind}`;
      if (timeMs >= (this.newest.get(key)?.timeMs ?? -Infinity)) this.newest.set(key, reading);
      this.states.set(sensor, { state: "online", lastReadingMs: timeMs });
    }
    this.outbox.add("sparkplug", readings);
    const measured = readings.filter((reading) => reading.waveforms.length > 0);
    this.outbox.add("sparkplugWaveform", measured);
  }

  /** A client of the broker, or of another one, that sends commands and states. */
  async command(
    url = this.broker.url,
  ): Promise<{ client: MqttClient; close: () => Promise<void> }> {
    const client = await mqtt.connectAsync(url, { reconnectPeriod: 0 });
    return { client, close: () => client.endAsync() };
  }

  /** Sparkplug messages of the node so far, decoded by the peer. */
  get seen(): SeenMessage[] {
    return this.host.messages
      .filter(({ topic }) => /^spBv1\.0\/plant\/[ND](BIRTH|DATA|DEATH)\//.test(topic))
      .map(({ topic, payload, qos, retain, at }) => {
        const [, , verb = "", , device] = topic.split("/");
        return { verb, device, topic, qos, retain, at, payload: decode(payload) };
      });
  }
  verbs(): string[] {
    return this.seen.map(({ verb, device }) => (device === undefined ? verb : `${verb} ${device}`));
  }
  of(verb: string, device?: string): SeenMessage[] {
    return this.seen.filter((m) => m.verb === verb && (!device || m.device === device));
  }
  async until(test: (messages: SeenMessage[]) => boolean, timeoutMs = 8000): Promise<void> {
    await this.host.waitUntil(() => test(this.seen), timeoutMs);
  }
  /** Resolves when so many entries were settled with this outcome. */
  async settled(count: number, outcome = "sent"): Promise<void> {
    const settled = () => this.outbox.settled.filter((s) => s.outcome === outcome).length;
    await waitUntil(`${count} entries settled as ${outcome}`, () => settled() >= count, 8000);
  }
}

export function metric(message: SeenMessage | undefined, name: string): SeenMetric | undefined {
  return message?.payload.metrics.find((m) => m.name === name);
}
