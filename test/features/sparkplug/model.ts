/**
 * One sequence with a real store, node, link and mosquitto, over a proxy that cuts and holds, and a host that comes and
 * goes. Throws AssertionError where the host could not understand a message, or never got a reading.
 */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import { type CuttingProxy, startCuttingProxy } from "../../support/link-model/cutting-proxy.ts";
import { append, mainOf, readingOf, storeOptions } from "../../support/temp-database.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { type NodeStep, SENSORS } from "./model-steps.ts";
import { rebirth } from "./peer.ts";
import { TestSite } from "./site.ts";
import { StrictHost } from "./strict-host.ts";

/** Longer than a host stalls, and than the broker takes to tell that it is gone, ms. */
const HOST_HOLD_MS = 1_000;
/** How long a host gets nothing before its connection breaks, ms. */
const STALL_MS = 40;
const DRAIN_MS = 20_000;
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const SITE = fixedSite({
  site: "s",
  sensors: SENSORS.map((code): Sensor => ({ code, type: 1, kinds: ["rpm"], channels: {} })),
});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

class Run {
  readonly #site: TestSite;
  readonly #proxy: CuttingProxy;
  readonly #hostProxy: CuttingProxy;
  readonly #host: StrictHost;
  readonly #directory = mkdtempSync(join(ROOT, "gateside-node-model-"));
  readonly #store: Store;
  readonly #startMs = Date.now() - 3_600_000;
  readonly #expected = new Set<string>();
  #isAway = false;
  #stopNode: () => Promise<void>;

  constructor(site: TestSite, proxy: CuttingProxy, hostProxy: CuttingProxy) {
    this.#site = site;
    this.#proxy = proxy;
    this.#hostProxy = hostProxy;
    this.#host = new StrictHost(hostProxy.url, "scada");
    this.#store = openStore(storeOptions(this.#directory, { uplinks: mainOf("sparkplug") }));
    this.#stopNode = this.#start();
  }

  #start(): () => Promise<void> {
    const { outbox, waveforms, history, readings } = this.#store;
    const node = this.#site.node(
      {
        site: SITE,
        hostId: "scada",
        hostHoldMs: HOST_HOLD_MS,
        link: { url: this.#proxy.url, backoffMinMs: 2, backoffMaxMs: 10, ackTimeoutMs: 2_000 },
      },
      {
        outbox,
        waveforms,
        newest: (sensor, kind) => history.latest(sensor, kind),
        sensors: () =>
          SENSORS.map((code) => ({
            code,
            state: "online",
            lastReadingMs: readings.newestTimeMs(code, "rpm"),
          })),
      },
    );
    return this.#site.run(node);
  }

  async take(step: NodeStep): Promise<void> {
    switch (step.do) {
      case "store":
        return this.#append(step.sensor, step.times);
      case "cut":
        return this.#proxy.cut(step.cut);
      case "hold":
        return this.#proxy.hold(step.direction);
      case "free":
        return this.#proxy.free();
      case "host":
        return this.#change(step.what);
      case "restart":
        await this.#stopNode();
        this.#stopNode = this.#start();
        return;
      case "pause":
        await pause(step.ms);
    }
  }

  async #append(sensor: string, times: readonly number[]): Promise<void> {
    const readings = times.map((second) => readingOf(sensor, this.#startMs + second * 1000));
    await append(this.#store, readings);
    for (const { timeMs } of readings) this.#expected.add(`${sensor} rpm/rpm ${timeMs}`);
  }

  async #change(what: Extract<NodeStep, { do: "host" }>["what"]): Promise<void> {
    if (what === "asks") return this.#askForBirths();
    if (what === "stalls") return this.#stall();
    if (what === "drops") return void (this.#isAway || this.#host.drop());
    const isLeaving = what === "leaves" || what === "dies";
    if (isLeaving === this.#isAway) return;
    this.#isAway = isLeaving;
    if (isLeaving) this.#host.leave(what === "dies");
    else this.#host.comeBack();
  }

  /** What the broker has passed on meanwhile never arrives. */
  async #stall(): Promise<void> {
    this.#hostProxy.hold("down");
    await pause(STALL_MS);
    if (!this.#isAway) this.#host.drop();
    this.#hostProxy.free();
  }

  async #askForBirths(): Promise<void> {
    const { client, close } = await this.#site.command();
    await client.publishAsync("spBv1.0/plant/NCMD/edge", rebirth(), { qos: 0 });
    await close();
  }

  /** With the host there and nothing held, everything goes. */
  async conclude(): Promise<void> {
    this.#proxy.free();
    if (this.#isAway) this.#host.comeBack();
    this.#isAway = false;
    const depth = () => this.#store.outbox.depth("sparkplug").readings;
    await waitUntil(
      () => `${depth()} readings are pending`,
      () => depth() === 0,
      DRAIN_MS,
    );
    const missing = [...this.#expected].filter((key) => !this.#host.values.has(key));
    assert.deepEqual(missing, [], "every reading reaches the host");
    assert.deepEqual(this.#host.faults, []);
  }

  async close(): Promise<void> {
    this.#proxy.free();
    await this.#site.stopAll();
    await this.#host.close();
    await this.#store.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export async function runNodeSequence(steps: readonly NodeStep[]): Promise<void> {
  const ends: (() => Promise<void>)[] = [];
  const site = await TestSite.open({ after: (end) => ends.push(end) });
  const proxy = await startCuttingProxy(site.broker.port);
  const hostProxy = await startCuttingProxy(site.broker.port);
  const run = new Run(site, proxy, hostProxy);
  try {
    for (const step of steps) await run.take(step);
    await run.conclude();
  } finally {
    await run.close();
    await proxy.close();
    await hostProxy.close();
    for (const end of ends) await end();
  }
}
