/** The thin boxes of a fleet, each with its own connection, opened as an agent opens it. */
import { setTimeout as sleep } from "node:timers/promises";
import mqtt, { type MqttClient } from "mqtt";
import { ReconnectDelay } from "../../src/pipeline/link/reconnect-delay.ts";
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS } from "../../src/pipeline/link/session-history.ts";
import type { ThinBox } from "./thin-boxes.ts";

/** Messages in flight per box, as MQTT_INFLIGHT limits an agent's. */
const INFLIGHT = 20;
const TICK_MS = 20;
const CONNECT_TIMEOUT_MS = 30_000;
const RECONNECT_MS = 2000;
/** All boxes must be connected by then, ms. */
const CONNECT_ALL_MS = 180_000;

interface Connected {
  readonly box: ThinBox;
  readonly client: MqttClient;
  underWay: number;
}

export interface Arrival {
  readonly seconds: number;
  /** Refused and failed attempts by their message. */
  readonly refused: ReadonlyMap<string, number>;
}

export class Fleet {
  /** Acknowledged by the broker. */
  readonly delivered = new Set<string>();
  readonly #boxes: Connected[] = [];
  readonly #version: 4 | 5;
  #turn = 0;

  constructor(version: 4 | 5) {
    this.#version = version;
  }

  /** Connects `perSecond` boxes per second, spread over a few seconds. */
  async connect(
    boxes: readonly ThinBox[],
    urls: readonly string[],
    perSecond: number,
  ): Promise<Arrival> {
    const startedAt = performance.now();
    const refused = new Map<string, number>();
    const arrivals = boxes.map(async (box, n) => {
      await sleep(((n + Math.random()) * 1000) / perSecond);
      const client = await this.#connectOne(box, urls, n, refused);
      client.on("error", () => {});
      return { box, client, underWay: 0 };
    });
    this.#boxes.push(...(await Promise.all(arrivals)));
    return { seconds: (performance.now() - startedAt) / 1000, refused };
  }

  /** Tries the cluster's nodes in turn, with an agent's pauses. */
  async #connectOne(
    { site }: ThinBox,
    urls: readonly string[],
    first: number,
    refused: Map<string, number>,
  ): Promise<MqttClient> {
    const deadline = Date.now() + CONNECT_ALL_MS;
    const pause = new ReconnectDelay({ firstMs: BACKOFF_MIN_MS, maxMs: BACKOFF_MAX_MS });
    for (let at = first; ; at++) {
      const options = {
        protocolVersion: this.#version,
        clientId: site,
        clean: false,
        keepalive: 120,
        connectTimeout: CONNECT_TIMEOUT_MS,
        reconnectPeriod: 0,
      };
      try {
        const client = await mqtt.connectAsync(urls[at % urls.length] ?? "", options, false);
        client.options.reconnectPeriod = RECONNECT_MS;
        return client;
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        refused.set(text, (refused.get(text) ?? 0) + 1);
        if (Date.now() > deadline) throw error;
        await sleep(pause.next());
      }
    }
  }

  /** Sends one reading of the next box that has room; false if none has. */
  send(): boolean {
    for (let tried = 0; tried < this.#boxes.length; tried++) {
      const entry = this.#boxes[this.#turn++ % this.#boxes.length];
      if (entry === undefined || entry.underWay >= INFLIGHT) continue;
      const { id, message } = entry.box.next(Date.now());
      entry.underWay += 1;
      entry.client.publish(
        message.topic,
        Buffer.from(message.payload),
        { qos: 1, retain: message.retain },
        (error) => {
          entry.underWay -= 1;
          if (!error) this.delivered.add(id);
        },
      );
      return true;
    }
    return false;
  }

  /** Sends as many as there is room for; returns readings per second. */
  async burst(count: number): Promise<number> {
    const startedAt = performance.now();
    for (let n = 0; n < count; ) {
      if (this.send()) n += 1;
      else await sleep(1);
      if (n % 200 === 0) await sleep(0);
    }
    await this.settled();
    return (count * 1000) / (performance.now() - startedAt);
  }

  /** Sends readings at a steady rate; returns the rate reached, per second. */
  async pace(perSecond: number, seconds: number): Promise<number> {
    let owed = 0;
    let sent = 0;
    const startedAt = Date.now();
    for (let last = startedAt; last < startedAt + seconds * 1000; ) {
      await sleep(TICK_MS);
      const now = Date.now();
      owed += (perSecond * (now - last)) / 1000;
      last = now;
      while (owed >= 1 && this.send()) {
        owed -= 1;
        sent += 1;
      }
    }
    const rate = (sent * 1000) / (Date.now() - startedAt);
    await this.settled();
    return rate;
  }

  async settled(): Promise<void> {
    while (this.#boxes.some(({ underWay }) => underWay > 0)) await sleep(TICK_MS);
  }

  async close(): Promise<void> {
    await Promise.all(this.#boxes.map(({ client }) => client.endAsync(true)));
  }
}
