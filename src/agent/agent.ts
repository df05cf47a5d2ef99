/** One agent from start to end: what runs, what is monitored meanwhile, and in which order everything is closed. */

import type { AgentStatus } from "../core/agent-status.ts";
import { faultText } from "../core/configuration/configuration-fault.ts";
import { aborted } from "../lib/aborted.ts";
import type { Metrics } from "../lib/metrics.ts";
import { VERSION } from "../lib/version.ts";
import { loadByteHashing } from "../lib/xxhash.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createBase } from "./base.ts";
import { type AgentParts, buildParts } from "./build-parts.ts";
import { beginFeatures } from "./features.ts";
import { openResources } from "./resources.ts";

/** Contract: a deleted DATA_DIR is detected within a minute. */
const PLACE_CHECK_MS = 15_000;
/** Interval at which files and environment are compared with the running configuration. */
const CHECK_MS = 60_000;
const SHUTDOWN_MS = 9_000;
/** Reads in progress get this long to store what they have. */
const POLL_END_MS = 2_000;

export interface Agent {
  /** Where HTTP listens; null if it has no port. */
  readonly address: string | null;
  status(): AgentStatus;
  readonly metrics: Metrics;
  /** Reloads the site and uplinks files and applies the differences. */
  reload(by: string): Promise<void>;
  /** Works until aborted, then closes everything within ten seconds. */
  run(signal: AbortSignal): Promise<void>;
}

/** Opens the store (StoreFailure `in_use` if another agent holds it) and HTTP; nothing is polled before `run`. */
export async function openAgent(options: AgentOptions): Promise<Agent> {
  const base = createBase(options, await loadByteHashing());
  const resources = await openResources(base);
  try {
    const parts = await buildParts(options, base, resources);
    await openParts(options, parts);
    return new RunningAgent(parts);
  } catch (error) {
    await resources.store.close();
    throw error;
  }
}

/** Reads what the parts need from the store and from files, and listens. Rejects if a required port is not free. */
async function openParts(options: AgentOptions, parts: AgentParts): Promise<void> {
  const { http, listening, uplinks } = parts;
  await beginFeatures(parts);
  await uplinks.open();
  await listening.open();
  if (options.isPortRequired && listening.failure !== null) {
    await http.close();
    throw listening.failure;
  }
}

class RunningAgent implements Agent {
  readonly metrics: Metrics;
  readonly #parts: AgentParts;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.metrics = parts.metrics;
  }

  get address(): string | null {
    return this.#parts.http.address;
  }

  status(): AgentStatus {
    return this.#parts.report.current();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, notifier, poller, store, uplinks } = this.#parts;
    const { site, sensors } = this.#parts.site.current;
    logger.info(
      {
        version: VERSION,
        site,
        sensors: sensors.length,
        timezone: this.#parts.settings.gatewayTimezone,
      },
      "agent started",
    );
    if (sensors.length === 0)
      logger.warn(
        { address: this.#parts.http.address },
        "no sensors yet: open the set-up page of the dashboard",
      );
    const polling = new AbortController();
    const publishing = new AbortController();
    const polls = Promise.all([
      poller.run(polling.signal),
      ...this.#parts.features.map(async (feature) => feature.reads?.(polling.signal)),
    ]).then(() => {});
    const retention = store.runRetention(publishing.signal);
    const publishers = uplinks.run(publishing.signal);
    store.started();
    notifier?.ready(this.#statusLine());
    const chores = [
      this.#parts.listening.run(publishing.signal),
      this.#parts.loadWatch.run(publishing.signal),
      this.#watchConfiguration(publishing.signal),
      ...this.#parts.features.map(async (feature) => feature.run?.(publishing.signal)),
    ];
    const place = this.#watchPlace(publishing.signal);
    const watchdog = this.#parts.watchdog.run(publishing.signal);
    const failed = await firstFault(
      [polls, retention, publishers, place],
      // These may end early, as on a box that need not listen any more.
      [...chores, watchdog],
      signal,
    );
    notifier?.stopping();
    if (failed === null) logger.info({ reason: String(signal.reason) }, "agent stopping");
    else logger.error({ err: failed }, "agent stopping after a fault");
    const tooLate = setTimeout(() => {
      logger.error({}, "shutdown timed out; readings that are not stored will be read again");
      process.exit(1);
    }, SHUTDOWN_MS);
    tooLate.unref();
    for (const feature of this.#parts.features) feature.stopping?.();
    store.commitAtOnce();
    polling.abort();
    const waiting = new AbortController();
    await Promise.race([polls.catch(() => {}), clock.sleep(POLL_END_MS, waiting.signal)]);
    waiting.abort();
    await store.readings.flush().catch((err: unknown) => {
      logger.error({ err }, "the last readings could not be stored; they will be read again");
    });
    await Promise.all(this.#parts.features.map(async (feature) => feature.finish?.()));
    publishing.abort();
    await publishers.catch(() => {});
    await uplinks.close(signal.aborted ? "stopped" : "fault");
    await Promise.allSettled([place, retention, watchdog, ...chores]);
    await Promise.all(this.#parts.features.map(async (feature) => feature.close?.()));
    await this.#parts.http.close();
    await this.#parts.gateway.close();
    await store.close();
    clearTimeout(tooLate);
    logger.info({}, "agent stopped");
    if (failed !== null) throw failed;
  }

  /** Data written to deleted files is lost: the next start creates a new store and reads what the gateway still has. */
  async #watchPlace(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.clock.sleep(PLACE_CHECK_MS, signal);
      if (signal.aborted || this.#parts.store.isInPlace()) continue;
      const { dataDir } = this.#parts.settings;
      const message = `DATA_DIR: ${dataDir} or its gateside.db was deleted or replaced while the agent was running; the agent exits, and the next start uses what is there now`;
      throw Object.assign(new Error(message), { code: "data_dir_gone" });
    }
  }

  async #watchConfiguration(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#parts.reloader.look();
      this.#parts.http.renewCertificate();
      await this.#parts.clock.sleep(CHECK_MS, signal);
    }
  }

  async reload(by: string): Promise<void> {
    this.#parts.notifier?.reloading();
    this.#parts.http.renewCertificate();
    let status = "reload failed";
    try {
      const { outcome, faults } = await this.#parts.reloader.reload(by);
      this.#parts.audit(by, "reload", outcome);
      status =
        outcome === "refused"
          ? `reload refused: ${faults.map(faultText).join("; ")}`
          : this.#statusLine();
    } finally {
      // systemd waits for the end of a reload, also of a failed one.
      this.#parts.notifier?.ready(status);
    }
  }

  #statusLine(): string {
    return `polling ${this.#parts.site.current.sensors.length} sensors`;
  }
}

/**
 * Null once the signal aborts; before that, why one of the loops ended. A loop that ends unexpectedly is our fault: the
 * process exits, and systemd restarts it on the same store.
 */
function firstFault(
  loops: readonly Promise<unknown>[],
  others: readonly Promise<unknown>[],
  signal: AbortSignal,
): Promise<unknown> {
  const never = new Promise<never>(() => {});
  return Promise.race([
    ...others.map((loop) =>
      loop.then(
        () => never,
        (error: unknown) => error,
      ),
    ),
    aborted(signal).then(() => null),
    ...loops.map((loop) =>
      loop.then(
        () => (signal.aborted ? never : new Error("a loop ended unexpectedly")),
        (error: unknown) => error,
      ),
    ),
  ]);
}
