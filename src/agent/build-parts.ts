/** Builds the rooms and joins them. The store is open then; nothing listens, polls or publishes before the agent runs. */
import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { Dispatcher } from "../command/dispatcher.ts";
import { createSettingsGateway } from "../command/settings-gateway.ts";
import { secretsOf } from "../config/secrets-of.ts";
import type { Settings } from "../config/settings.ts";
import { mainUplink } from "../config/uplinks.ts";
import type { ByteHashing } from "../core/decode/hashing.ts";
import type { AgentStatus, Clock, Logger } from "../core/ports.ts";
import { createSeriesMaker } from "../core/query/series.ts";
import type { Reading } from "../core/reading.ts";
import { readingKinds, type Site } from "../core/sensor.ts";
import { DftPlans } from "../core/signal/fft.ts";
import { ReplaceableSite } from "../core/site-source.ts";
import type { Uplink } from "../core/uplink.ts";
import { createWireNames } from "../core/wire/wire-names.ts";
import { createHttpServer } from "../http/server.ts";
import { systemClock } from "../lib/clock.ts";
import { createMetrics } from "../lib/metrics.ts";
import { agentSocketPath, dashboardDirectory } from "../lib/paths.ts";
import type { SystemdNotifier } from "../lib/sd-notify.ts";
import { SecretGate } from "../lib/secrets.ts";
import { VERSION } from "../lib/version.ts";
import { configurationDigest } from "../setup/digest.ts";
import { type ConfigurationFiles, Reloader } from "../setup/reload.ts";
import type { Accepted } from "../setup/trial-journal.ts";
import { openReadingMarks } from "../store/recovery/reading-marks.ts";
import { createDeliveries } from "./alarm-delivery.ts";
import { Alarms } from "./alarms.ts";
import { openAgentStore, openGatewayClient, outboxUplink } from "./assemble.ts";
import { createBackfillJobs } from "./backfill.ts";
import {
  configurationControl,
  createAudit,
  NO_FILES,
  openRemote,
  openSetup,
  openSiteDocuments,
} from "./configuration.ts";
import { GapWatch } from "./gap-watch.ts";
import { historyPages } from "./history-pages.ts";
import { Listening } from "./listening.ts";
import { LiveHub } from "./live-hub.ts";
import type { Modbus } from "./modbus.ts";
import { NewestReadings } from "./newest-readings.ts";
import { createNodeStates } from "./node-states.ts";
import { createPoller, createReadingParts } from "./polling.ts";
import { ReadingWatch } from "./reading-watch.ts";
import { agentStatus } from "./status.ts";
import { Uplinks } from "./uplinks.ts";
import { Watchdog } from "./watchdog.ts";

/**
 * Distance that commits of a few readings keep, ms; 0 = none. At 4,000 less than half is written (docs/benchmarks.md, row 5c), yet one
 * record of a healthy sensor came late in two of four runs of test/agent/faults.test.ts, and in none at 0: off until that is understood.
 */
const COMMIT_PACE_MS = 0;

export interface AgentOptions {
  readonly settings: Settings;
  readonly site: Site;
  /** Unless given, `main` as the settings describe it. */
  readonly uplinks?: readonly Uplink[];
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly notifier?: SystemdNotifier;
  /** Where settings and files are read again; without it there is no reload. */
  readonly files?: ConfigurationFiles;
  /** Settings as `check` shows them, without secrets: part of the configuration's name. */
  readonly settingsShown?: Readonly<Record<string, string>>;
  /** Keys of CONFIG_PUBLIC_KEY_FILE; without them no signed document is taken. */
  readonly documentKeys?: readonly KeyObject[];
  /** What became of a trial that the last process left behind. */
  readonly recovered?: Accepted | null;
  /** Of the unit: set-up may name files below the two directories, and never the file of NAME=value lines. */
  readonly credentialsDirectory?: string | null;
  readonly configurationDirectory?: string | null;
  readonly ownFiles?: readonly string[];
  /** True: a port that cannot be had rejects `openAgent`. Else the agent runs without its HTTP side and tries again. */
  readonly isPortRequired?: boolean;
  /** Distance of commits under light load, ms; for tests. */
  readonly commitPaceMs?: number;
}

/** What the agent runs and closes. */
export type AgentParts = ReturnType<typeof buildParts>;

/** Throws StoreFailure `in_use` where another agent holds the directory. */
export function buildParts(options: AgentOptions, hashing: ByteHashing) {
  const { settings, logger } = options;
  const site = new ReplaceableSite(options.site);
  const clock = options.clock ?? systemClock;
  const notifier = options.notifier ?? null;
  const startedAtMs = clock.now();
  const metrics = createMetrics();
  // Opened after the rest, where it is switched on.
  const modbus: { current: Modbus | null } = { current: null };
  const status = (): AgentStatus =>
    agentStatus({
      settings,
      site,
      clock,
      startedAtMs,
      store,
      gateway,
      poller,
      nodeStates,
      watch,
      uplinks,
      marks,
      reloader,
      modbus: () => modbus.current,
      http: () => ({ address: http.address, lastError: listening.failure?.message ?? null }),
    });

  metrics.buildInfo.set({ version: VERSION, node: process.version }, 1);
  // From 0 on, so that a rule on a kind that never gave a reading has a series to look at.
  const countFromZero = ({ sensors }: Site) => {
    for (const kind of sensors.flatMap(readingKinds)) metrics.readings.inc({ kind }, 0);
  };
  countFromZero(site.current);
  site.onChange(countFromZero);

  const configured = options.uplinks ?? [mainUplink(settings)].filter((one) => one !== null);
  const owed = configured.map((uplink) => outboxUplink(uplink, site.current));
  const store = openAgentStore(settings, owed, {
    clock,
    logger,
    metrics,
    site: () => site.current.site,
    gatewayNow: () => (poller.gatewayClock.isKnown ? poller.gatewayClock.now() : null),
    onRecovered: () => {
      poller.readAgain();
      void alarms?.rewrite();
    },
    // One step after the other is proof enough that the process does not hang.
    onProgress: () => notifier?.working(),
    commitPaceMs: options.commitPaceMs ?? COMMIT_PACE_MS,
  });
  const marks = openReadingMarks(settings.dataDir, { clock, logger });
  const watchdog = new Watchdog({ clock, store, notifier });
  const gate = new SecretGate(secretsOf(settings, configured));
  const plans = new DftPlans();
  const names = createWireNames({ word: settings.wireWord, service: settings.gatewayService });
  const gateway = openGatewayClient(settings, names, { clock, metrics, gate });

  const hub = new LiveHub();
  const newest = new NewestReadings((sensor, kind) => store.history.latest(sensor, kind));
  const watch = new ReadingWatch(site, store.history, hub);
  const gaps = new GapWatch(store.gaps, hub);
  const onStored = (reading: Reading) => {
    newest.stored(reading);
    watch.stored(reading);
  };
  const reading = createReadingParts({
    settings,
    gateway,
    hashing,
    names,
    plans,
    gate,
    clock,
    logger,
  });
  const poller = createPoller({
    settings,
    site,
    gateway,
    store,
    marks,
    reading,
    clock,
    logger,
    metrics,
    wantsTones: (sensor) => alarms?.findings.wantsTones(sensor) ?? false,
    onStored,
  });
  const nodeStates = createNodeStates({
    settings,
    site,
    source: gateway,
    names,
    gate,
    store,
    poller,
    clock,
    logger,
    metrics,
    onStored,
  });
  const audit = createAudit({ store, clock, logger });
  const dispatcher = new Dispatcher(
    {
      gateway: createSettingsGateway(gateway),
      log: store.commands,
      clock,
      logger,
      counter: metrics.commands,
      redact: (text) => gate.redact(text),
      audit,
    },
    {
      site,
      operation: settings.gatewaySettingsOperation,
      wireWord: settings.wireWord,
      responsePrefix: settings.commandResponsePrefix,
    },
  );

  const alarms = settings.alarmsEnabled
    ? new Alarms({
        site,
        store: store.alarms,
        history: store.history,
        clock,
        logger,
        metrics,
        gatewayNow: () => poller.gatewayClock.now(),
        sensors: () => poller.sensorStates(),
        isGatewayUp: () => gateway.state.isUp,
      })
    : null;
  alarms?.open();
  const deliveries = createDeliveries(settings, () => site.current.site, { clock, logger });
  alarms?.onEvents((events) => {
    for (const delivery of deliveries) delivery.add(events);
  });

  const documents =
    options.files === undefined || options.documentKeys === undefined
      ? null
      : openSiteDocuments({
          remote: () => remote,
          recovered: options.recovered ?? null,
          configuration: () => reloader.state.configuration,
          audit,
          logger,
        });
  const uplinks = new Uplinks(
    {
      settings,
      alarms,
      site,
      store,
      gapsOf: (uplink) => gaps.of(store.gapsOf(uplink)),
      clock,
      logger,
      metrics,
      status,
      gatewayNow: () => poller.gatewayClock.now(),
      documents,
      dispatcher: settings.commandsEnabled ? dispatcher : null,
      audit,
    },
    configured,
  );

  const files = options.files ?? NO_FILES;
  const reloader = new Reloader(
    {
      files,
      site,
      uplinks: uplinks.others,
      digest: (current, uplinks) =>
        configurationDigest(options.settingsShown ?? {}, current, uplinks),
      logger,
    },
    files.texts(),
  );
  const changing = { settings, files, site, reloader, clock, logger };
  const remote =
    options.files === undefined || options.documentKeys === undefined
      ? null
      : openRemote(changing, options.documentKeys, status);
  const setup =
    options.files === undefined || !settings.setupEnabled
      ? null
      : openSetup(changing, options, {
          uplinks,
          reading,
          poller,
          isTrialRunning: () => remote?.isBusy ?? false,
        });
  const http = createHttpServer(
    {
      site,
      status: { status },
      health: { parts: () => watchdog.health() },
      history: historyPages(store.history),
      waveforms: store.waveforms,
      series: createSeriesMaker(plans),
      gaps,
      live: hub,
      backfill: createBackfillJobs({
        site,
        clock,
        gatewayNow: () => poller.gatewayClock.now(),
        zone: settings.gatewayTimezone,
        read: (days, sensor) => poller.backfill(days, sensor),
        canReread: (key) => store.readings.canReread(key),
      }),
      settings: dispatcher,
      configuration:
        options.files === undefined
          ? null
          : configurationControl(changing, uplinks, () => http.renewCertificate()),
      findings: alarms,
      setup,
      alarms,
      audit: store.audit,
      metrics,
      clock,
      logger,
    },
    {
      host: settings.httpHost,
      port: settings.httpPort,
      socketPath: agentSocketPath(settings.dataDir),
      token: settings.httpToken,
      viewToken: settings.httpViewToken,
      tls:
        settings.httpCertFile === null || settings.httpKeyFile === null
          ? null
          : { certFile: settings.httpCertFile, keyFile: settings.httpKeyFile },
      commandsEnabled: settings.commandsEnabled,
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

  const listening = new Listening({ http, settings, clock, logger });
  return {
    settings,
    site,
    clock,
    logger,
    notifier,
    metrics,
    store,
    gateway,
    poller,
    nodeStates,
    dispatcher,
    watchdog,
    newest,
    alarms,
    deliveries,
    uplinks,
    reloader,
    remote,
    setup,
    audit,
    http,
    listening,
    modbus,
    status,
  };
}
