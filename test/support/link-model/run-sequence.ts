/**
 * One sequence with a real store, publisher, link and mosquitto, over a proxy that cuts and holds. Throws AssertionError
 * where a subscriber is not told what the store held.
 */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { LinkHooks } from "../../../src/core/delivery/link.ts";
import type { Outbox } from "../../../src/core/ports.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { HOUR_MS } from "../../../src/core/time-units.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { MqttLink } from "../../../src/pipeline/link/mqtt-link.ts";
import { createJsonEncoder } from "../../../src/pipeline/publish/formats/json.ts";
import { Publisher } from "../../../src/pipeline/publish/publisher.ts";
import { RetainedQuery } from "../../../src/pipeline/publish/retained-query.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import type { RecordingSubscriber } from "../mosquitto.ts";
import { RecordingLogger } from "../recording-logger.ts";
import { SkippingClock } from "../skipping-clock.ts";
import { append, mainOf, readingOf, START_MS, storeOptions } from "../temp-database.ts";
import { waitUntil } from "../wait-until.ts";
import { type Bench, PACKET_BYTES_MAX } from "./bench.ts";
import { type CuttingProxy, startCuttingProxy } from "./cutting-proxy.ts";
import type { LinkSequence, LinkStep } from "./steps.ts";

const DRAIN_MS = 20_000;
const UPLINKS = mainOf("json");
/** Nothing ages: the readings have fixed times. */
const HISTORY_DAYS = 36_500;
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

interface Stored {
  readonly sensor: string;
  readonly timeMs: number;
  readonly isLarge: boolean;
}

let sequences = 0;

class Run {
  readonly #bench: Bench;
  readonly #sequence: LinkSequence;
  readonly #proxy: CuttingProxy;
  readonly #site = `s${++sequences}`;
  readonly #directory = mkdtempSync(join(ROOT, "gateside-link-model-"));
  readonly #store: Store;
  readonly #outbox: Outbox;
  readonly #stored = new Map<string, Stored>();
  readonly #logger = new RecordingLogger();
  /** Of what is learned about reading back: hours can pass. */
  readonly #clock = new SkippingClock();
  /** Topics that the broker was seen to retain. */
  readonly #readBack = new Set<string>();
  #link!: MqttLink;
  #publisher!: Publisher;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  /** Sessions that are over, and publishers that were stopped. */
  #breaks = 0;
  #delivered = 0;

  constructor(bench: Bench, proxy: CuttingProxy, sequence: LinkSequence) {
    this.#bench = bench;
    this.#proxy = proxy;
    this.#sequence = sequence;
    const uplinks = sequence.isNew ? [] : UPLINKS;
    this.#store = openStore(storeOptions(this.#directory, { uplinks, historyDays: HISTORY_DAYS }));
    this.#outbox = this.#store.outboxOf("main");
    this.#start();
  }

  #start(): void {
    const site = this.#site;
    const runtime = { clock: systemClock, logger: this.#logger };
    const hooks: LinkHooks = {
      onConnected: () => query.begin(),
      onDisconnected: () => query.ended(),
      onMessage: ({ topic, payload, retain }) => query.received(topic, payload, retain),
    };
    this.#link = new MqttLink(
      { ...runtime, hooks },
      {
        name: "mqtt",
        urls: [this.#proxy.url],
        version: 5,
        clientId: `gateside-model-${site}`,
        inflight: this.#sequence.inflight,
        backoffMinMs: 2,
        backoffMaxMs: 10,
        ackTimeoutMs: 2_000,
      },
    );
    const query = new RetainedQuery({
      link: this.#link,
      clock: this.#clock,
      logger: this.#logger,
      readers: [
        {
          begin: () => `g/${site}/+/rpm`,
          received: (topic) => this.#readBack.add(topic),
          look: () => Promise.resolve(),
        },
      ],
    });
    const source = fixedSite({ site, sensors: [] });
    this.#publisher = new Publisher(
      {
        ...runtime,
        link: this.#link,
        outbox: this.#outbox,
        metrics: createMetrics(),
        gatewayNow: Date.now,
      },
      {
        lanes: [
          {
            lane: "json",
            encode: createJsonEncoder({ source, prefix: "g", site, withRaw: true }),
          },
        ],
        backlogRatePerS: this.#sequence.backlogRatePerS,
      },
    );
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#running = Promise.all([this.#link.run(signal), this.#publisher.run(signal)]);
  }

  async #end(isGentle: boolean): Promise<void> {
    if (isGentle) await this.#link.close([], 4_900);
    this.#stop.abort();
    await this.#running;
    this.#breaks += this.#link.session + 1;
    this.#delivered += this.#publisher.delivered;
  }

  async take(step: LinkStep): Promise<void> {
    switch (step.do) {
      case "store":
        return this.#append(step);
      case "cut":
        return this.#proxy.cut(step.cut);
      case "hold":
        return this.#proxy.hold(step.direction);
      case "free":
        return this.#proxy.free();
      case "renew":
        return this.#link.renew("renewed by the test");
      case "restart":
        await this.#end(step.isGentle);
        return this.#start();
      case "join":
        this.#store.setUplinks(UPLINKS);
        return;
      case "fill":
        return this.#store.retain();
      case "pause":
        for (let n = 0; n < step.turns; n += 1) await turn();
        return;
      case "connected":
        return waitUntil("a session", () => this.#link.isConnected);
    }
  }

  async #append({ sensor, times, isLarge }: Extract<LinkStep, { do: "store" }>): Promise<void> {
    const readings = times.map((second) =>
      readingOf(
        sensor,
        START_MS + second * 1000,
        isLarge ? { padding: PACKET_BYTES_MAX, salt: "large" } : {},
      ),
    );
    await append(this.#store, readings);
    for (const { id, timeMs } of readings) this.#stored.set(id, { sensor, timeMs, isLarge });
  }

  /** Everything goes that the broker accepts; then nothing may be missing. */
  async conclude(): Promise<void> {
    this.#store.setUplinks(UPLINKS);
    await this.#store.retain();
    this.#proxy.free();
    const large = [...this.#stored.values()].filter(({ isLarge }) => isLarge).length;
    const depth = () => this.#outbox.depth("json").readings;
    await waitUntil(
      () => `${depth()} are pending, ${large} of them too large`,
      () => depth() === large,
      DRAIN_MS,
    );
    const owed = new Set([...this.#stored].flatMap(([id, { isLarge }]) => (isLarge ? [] : [id])));
    const isOurs = ({ topic }: { topic: string }) => topic.startsWith(`g/${this.#site}/`);
    const idOf = ({ userProperties }: { userProperties: Record<string, unknown> }) =>
      String(userProperties["id"]);
    const { subscriber } = this.#bench;
    const missing = () => {
      const seen = new Set(subscriber.messages.filter(isOurs).map(idOf));
      return [...owed].filter((id) => !seen.has(id));
    };
    await waitUntil(
      () => `${missing().length} of ${owed.size} have not arrived`,
      () => missing().length === 0,
      5_000,
    );
    await this.#isReadBack(subscriber.messages.filter(isOurs));
    await this.#end(true);
    this.#check(subscriber.messages.filter(isOurs), idOf, owed);
  }

  /** Whatever the sessions before taught, an hour later one sees again what the broker retains. */
  async #isReadBack(seen: RecordingSubscriber["messages"]): Promise<void> {
    const retained = new Set(seen.filter(({ retain }) => retain).map(({ topic }) => topic));
    const missing = () => [...retained].filter((topic) => !this.#readBack.has(topic));
    this.#clock.skip(HOUR_MS);
    this.#readBack.clear();
    this.#link.renew("an hour later");
    await waitUntil(
      () => `${missing()} not read back`,
      () => missing().length === 0,
      5_000,
    );
  }

  #check(
    seen: RecordingSubscriber["messages"],
    idOf: (message: RecordingSubscriber["messages"][number]) => string,
    owed: ReadonlySet<string>,
  ): void {
    for (const message of seen) {
      assert.ok(owed.has(idOf(message)), "nothing arrives that was not stored, or is too large");
      const { historical } = JSON.parse(message.text);
      assert.equal(historical, message.topic.endsWith("/history"));
      assert.equal(message.retain, !historical);
    }
    for (const sensor of new Set([...this.#stored.values()].map((one) => one.sensor))) {
      const own = [...this.#stored.values()].filter((one) => one.sensor === sensor);
      const times = seen
        .filter(({ topic }) => topic === `g/${this.#site}/${sensor}/rpm`)
        .map(({ text }) => Date.parse(JSON.parse(text).time));
      for (const [n, time] of times.entries())
        assert.ok(time >= (times[n - 1] ?? 0), `the live topic of ${sensor} goes back`);
      // One that is too large was first in line for the topic.
      if (own.every(({ isLarge }) => !isLarge))
        assert.equal(
          times.at(-1),
          Math.max(...own.map(({ timeMs }) => timeMs)),
          `the newest of ${sensor} went live`,
        );
    }
    // What was in flight when a session ended is sent again, and nothing else.
    const repeated = seen.length - owed.size;
    const { inflight } = this.#sequence;
    assert.ok(
      repeated <= this.#breaks * inflight,
      `${repeated} repeated, with ${this.#breaks} ends and ${inflight} in flight at most`,
    );
    assert.ok(
      this.#delivered >= owed.size && this.#delivered <= seen.length,
      `${this.#delivered} delivered, ${seen.length} seen`,
    );
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#store.close();
    await this.#proxy.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export async function runLinkSequence(bench: Bench, sequence: LinkSequence): Promise<void> {
  const run = new Run(bench, await startCuttingProxy(bench.broker.port), sequence);
  try {
    for (const step of sequence.steps) await run.take(step);
    await run.conclude();
  } finally {
    await run.close();
    bench.subscriber.clear();
  }
}
