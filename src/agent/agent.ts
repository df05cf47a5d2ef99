/** The composition root: builds the rooms, joins them, runs them, and closes them in reverse. */
import { existsSync } from "node:fs";
import { Dispatcher } from "../command/dispatcher.ts";
import { createSettingsGateway } from "../command/settings-gateway.ts";
import type { Settings } from "../config/settings.ts";
import { DayReader } from "../core/decode/day-reader.ts";
import type { ByteHashing } from "../core/decode/hashing.ts";
import type { AgentStatus, Clock, Logger } from "../core/ports.ts";
import { createSeriesMaker } from "../core/query/series.ts";
import type { Site } from "../core/sensor.ts";
import { DftPlans } from "../core/signal/fft.ts";
import { createWireNames } from "../core/wire/wire-names.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { createHttpServer, type HttpServer } from "../http/server.ts";
import { systemClock } from "../lib/clock.ts";
import { createMetrics, type Metrics } from "../lib/metrics.ts";
import { agentSocketPath, dashboardDirectory } from "../lib/paths.ts";
import type { SystemdNotifier } from "../lib/sd-notify.ts";
import { VERSION } from "../lib/version.ts";
import { loadByteHashing } from "../lib/xxhash.ts";
import { Poller } from "../poll/poller.ts";
import { createReadDay } from "../poll/read-day.ts";
import type { Store } from "../store/store.ts";
import { openAgentStore, openGatewayClient } from "./assemble.ts";
import { createBackfillJobs } from "./backfill.ts";
import { type Destination, mqttDestination, sparkplugDestination } from "./destinations.ts";
import { GapWatch } from "./gap-watch.ts";
import { historyPages } from "./history-pages.ts";
import { listenFailure } from "./listen-failure.ts";
import { LiveHub } from "./live-hub.ts";
import { ReadingWatch } from "./reading-watch.ts";
import { Watchdog } from "./watchdog.ts";

/** Clocks before this are a box without a clock chip that has not heard the time yet. */
const PLAUSIBLE_SINCE_MS = Date.UTC(2024, 0, 1);
const SHUTDOWN_MS = 9_000;
/** Reads under way are given this long to store what they have. */
const POLL_END_MS = 2_000;

export interface AgentOptions {
  readonly settings: Settings;
  readonly site: Site;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly notifier?: SystemdNotifier;
}

export interface Agent {
  /** Where the HTTP side listens; null when it has no port. */
  readonly address: string | null;
  status(): AgentStatus;
  readonly metrics: Metrics;
  /** Works until aborted, then closes everything within ten seconds. */
  run(signal: AbortSignal): Promise<void>;
}

/** Opens the store (StoreFailure `in_use` where another agent holds it) and the HTTP side; nothing is polled before `run`. */
export async function openAgent(options: AgentOptions): Promise<Agent> {
  const hashing = await loadByteHashing();
  const agent = new RunningAgent(options, hashing);
  await agent.listen();
  return agent;
}

class RunningAgent implements Agent {
  readonly metrics = createMetrics();
  readonly #settings: Settings;
  readonly #site: Site;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #notifier: SystemdNotifier | null;
  readonly #startedAtMs: number;
  readonly #store: Store;
  readonly #gateway: GatewayClient;
  readonly #poller: Poller;
  readonly #watch: ReadingWatch;
  readonly #gaps: GapWatch;
  readonly #dispatcher: Dispatcher;
  readonly #destinations: Destination[] = [];
  readonly #http: HttpServer;
  readonly #watchdog: Watchdog;

  constructor(options: AgentOptions, hashing: ByteHashing) {
    const { settings, site, logger } = options;
    const clock = options.clock ?? systemClock;
    this.#settings = settings;
    this.#site = site;
    this.#logger = logger;
    this.#clock = clock;
    this.#notifier = options.notifier ?? null;
    this.#startedAtMs = clock.now();
    const { metrics } = this;
    metrics.buildInfo.set({ version: VERSION, node: process.version }, 1);
    // From 0 on, so that a rule on a kind that never gave a reading has a series to look at.
    for (const kind of site.sensors.flatMap(({ kinds }) => kinds))
      metrics.readings.inc({ kind }, 0);

    this.#store = openAgentStore(settings, {
      clock,
      logger,
      metrics,
      onRecovered: () => this.#poller.readAgain(),
      // One step after the other is proof enough that the process does not hang.
      onProgress: () => this.#notifier?.working(),
    });
    this.#watchdog = new Watchdog({ clock, store: this.#store, notifier: this.#notifier });
    const plans = new DftPlans();
    const names = createWireNames({ word: settings.wireWord, service: settings.gatewayService });
    this.#gateway = openGatewayClient(settings, names, { clock, metrics });

    const hub = new LiveHub();
    this.#watch = new ReadingWatch(site, this.#store.history, hub);
    this.#gaps = new GapWatch(this.#store.gaps, hub);
    this.#poller = new Poller(
      {
        clock,
        logger,
        newestTimeMs: (sensor, kind) => this.#store.readings.newestTimeMs(sensor, kind),
        newestOffsetMinutes: (sensor, kind) =>
          this.#store.history.latest(sensor, kind)?.offsetMinutes ?? null,
        wasRead: (key) => this.#store.readings.progress(key) !== null,
        readDay: createReadDay({
          source: this.#gateway,
          log: this.#store.readings,
          clock,
          logger,
          metrics,
          emptyStatuses: new Set(settings.gatewayEmptyStatuses),
          plans,
          createReader: (kind, checkpoint, isKnownBytes) =>
            new DayReader({ kind, names, hashing, checkpoint, isKnownBytes }),
          onUnusable: (failureClass, message) => this.#gateway.note(failureClass, message),
          onStored: (reading) => this.#watch.stored(reading),
        }),
      },
      {
        zone: settings.gatewayTimezone,
        lateGraceMs: settings.lateGraceS * 1000,
        backfillDays: settings.backfillDays,
        intervalMs: settings.pollIntervalS * 1000,
        concurrency: settings.gatewayConcurrency,
      },
      site.sensors,
    );
    this.#dispatcher = new Dispatcher(
      {
        gateway: createSettingsGateway(this.#gateway),
        log: this.#store.commands,
        clock,
        logger,
        counter: metrics.commands,
      },
      {
        sensors: site.sensors,
        generation: settings.gatewayGeneration,
        wireWord: settings.wireWord,
      },
    );

    const common = {
      settings,
      site,
      store: this.#store,
      gaps: this.#gaps,
      clock,
      logger,
      metrics,
      status: () => this.status(),
      gatewayNow: () => this.#poller.gatewayClock.now(),
      dispatcher: settings.commandsEnabled ? this.#dispatcher : null,
    };
    if (settings.publishFormats.some((format) => format !== "sparkplug")) {
      this.#destinations.push(mqttDestination(common));
    }
    if (settings.publishFormats.includes("sparkplug")) {
      this.#destinations.push(sparkplugDestination(common));
    }

    this.#http = createHttpServer(
      {
        site,
        status: this,
        health: { parts: () => this.#watchdog.health() },
        history: historyPages(this.#store.history),
        waveforms: this.#store.waveforms,
        series: createSeriesMaker(plans),
        gaps: this.#gaps,
        live: hub,
        backfill: createBackfillJobs({
          site,
          clock,
          gatewayNow: () => this.#poller.gatewayClock.now(),
          zone: settings.gatewayTimezone,
          read: (days, sensor) => this.#poller.backfill(days, sensor),
          canReread: (key) => this.#store.readings.canReread(key),
        }),
        settings: this.#dispatcher,
        metrics,
        clock,
        logger,
      },
      {
        host: settings.httpHost,
        port: settings.httpPort,
        socketPath: agentSocketPath(settings.dataDir),
        token: settings.httpToken,
        version: VERSION,
        timezone: settings.gatewayTimezone,
        names,
        // A checkout that was never built has no dashboard, and needs none for its tests.
        dashboardDir:
          settings.httpPort !== null && existsSync(dashboardDirectory())
            ? dashboardDirectory()
            : null,
      },
    );
  }

  get address(): string | null {
    return this.#http.address;
  }

  async listen(): Promise<void> {
    try {
      const address = await this.#http.listen();
      if (this.#settings.httpPort !== null) this.#logger.info({ address }, "http listening");
    } catch (error) {
      await this.#store.close();
      throw listenFailure(error, this.#settings);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { site, sensors } = this.#site;
    this.#logger.info(
      { version: VERSION, site, sensors: sensors.length, timezone: this.#settings.gatewayTimezone },
      "agent started",
    );
    const polling = new AbortController();
    const publishing = new AbortController();
    const polls = this.#poller.run(polling.signal);
    const retention = this.#store.runRetention(publishing.signal);
    const publishers = this.#destinations.map((destination) => destination.run(publishing.signal));
    this.#notifier?.ready(`polling ${sensors.length} sensors`);
    const watchdog = this.#watchdog.run(publishing.signal);

    const failed = await Promise.race([
      new Promise<null>((done) => {
        if (signal.aborted) done(null);
        signal.addEventListener("abort", () => done(null), { once: true });
      }),
      // A loop that ends by itself is a fault of ours: the process ends and systemd starts it afresh on the same store.
      ...[polls, retention, ...publishers].map((loop) =>
        loop.then(
          () =>
            signal.aborted ? new Promise<never>(() => {}) : new Error("a loop ended by itself"),
          (error: unknown) => error,
        ),
      ),
    ]);
    this.#notifier?.stopping();
    if (failed === null) this.#logger.info({ reason: String(signal.reason) }, "agent stopping");
    else this.#logger.error({ err: failed }, "agent stopping after a fault");
    const tooLate = setTimeout(() => {
      this.#logger.error({}, "shutdown took too long; what is not stored is read again");
      process.exit(1);
    }, SHUTDOWN_MS);
    tooLate.unref();
    polling.abort();
    const waiting = new AbortController();
    await Promise.race([polls.catch(() => {}), this.#clock.sleep(POLL_END_MS, waiting.signal)]);
    waiting.abort();
    await this.#store.readings.flush().catch((err: unknown) => {
      this.#logger.error({ err }, "the last readings could not be stored; they are read again");
    });
    await this.#dispatcher.close();
    publishing.abort();
    await Promise.allSettled(publishers);
    await Promise.allSettled(
      this.#destinations.map((d) => d.close(signal.aborted ? "stopped" : "fault")),
    );
    await Promise.allSettled([retention, watchdog]);
    await this.#http.close();
    await this.#gateway.close();
    await this.#store.close();
    clearTimeout(tooLate);
    this.#logger.info({}, "agent stopped");
    if (failed !== null) throw failed;
  }

  status(): AgentStatus {
    const nowMs = this.#clock.now();
    const skew = this.#poller.gatewayClock.skewMs;
    const skewMs = skew === null ? null : Math.round(skew);
    return {
      site: this.#site.site,
      version: VERSION,
      startedAtMs: this.#startedAtMs,
      nowMs,
      timezone: this.#settings.gatewayTimezone,
      gateway: { ...this.#gateway.state, skewMs },
      links: this.#destinations.map(({ state, delivered, failures }) => ({
        ...state,
        delivered,
        failures: { ...failures },
      })),
      buffer: this.#store.state(),
      sensors: this.#poller
        .sensorStates()
        .map((state) => ({ ...state, batteryV: this.#watch.batteryV(state.code) })),
      delivered: this.#destinations.reduce((sum, { delivered }) => sum + delivered, 0),
      clock: { skewMs, isPlausible: nowMs >= PLAUSIBLE_SINCE_MS },
    };
  }
}
