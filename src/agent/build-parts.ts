/** Builds the rooms and joins them. The store is open then; nothing listens, polls or publishes before the agent runs. */
import { Dispatcher } from "../command/dispatcher.ts";
import { createSettingsGateway } from "../command/settings-gateway.ts";
import { secretsOf } from "../config/secrets-of.ts";
import { mainUplink } from "../config/uplinks.ts";
import type { ByteHashing } from "../core/decode/hashing.ts";
import type { AgentStatus } from "../core/ports.ts";
import type { Reading } from "../core/reading.ts";
import { readingKinds, type Site } from "../core/sensor.ts";
import { DftPlans } from "../core/signal/fft.ts";
import { ReplaceableSite } from "../core/site-source.ts";
import { createWireNames } from "../core/wire/wire-names.ts";
import { systemClock } from "../lib/clock.ts";
import { createMetrics } from "../lib/metrics.ts";
import { SecretGate } from "../lib/secrets.ts";
import { VERSION } from "../lib/version.ts";
import { GatewayClock } from "../poll/gateway-clock.ts";
import { openReadingMarks } from "../store/recovery/reading-marks.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createAlarms } from "./alarms/alarms.ts";
import { createDeliveries } from "./alarms/delivery.ts";
import { AlarmEngines } from "./alarms/engines.ts";
import { openAgentStore, openGatewayClient, outboxUplink } from "./assemble.ts";
import { createAudit, openConfiguration } from "./configuration.ts";
import { GapWatch } from "./gap-watch.ts";
import { createHttpSide } from "./http-side.ts";
import { Listening } from "./listening.ts";
import { LiveHub } from "./live-hub.ts";
import type { Modbus } from "./modbus.ts";
import { NewestReadings } from "./newest-readings.ts";
import { createNodeStates, createServiceStates } from "./node-states.ts";
import { createPoller, createReadingParts } from "./polling.ts";
import { ReadingWatch } from "./reading-watch.ts";
import { agentStatus } from "./status.ts";
import { Uplinks } from "./uplinks.ts";
import { Watchdog } from "./watchdog.ts";

/** What the agent runs and closes. */
export type AgentParts = ReturnType<typeof buildParts>;

/** Throws StoreFailure `in_use` where another agent holds the directory. */
export function buildParts(options: AgentOptions, hashing: ByteHashing) {
  const { settings, logger } = options;
  const site = new ReplaceableSite(options.site);
  const clock = options.clock ?? systemClock;
  const gatewayClock = new GatewayClock(clock);
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
      gatewayClock,
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
    gatewayNow: () => (gatewayClock.isKnown ? gatewayClock.now() : null),
    onRecovered: () => {
      poller.readAgain();
      void alarms?.upkeep.rewrite();
    },
    // One step after the other is proof enough that the process does not hang.
    onProgress: () => notifier?.working(),
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
  const engines = settings.alarmsEnabled
    ? new AlarmEngines({ site, store: store.alarms, history: store.history, logger, metrics })
    : null;
  engines?.open();
  const poller = createPoller({
    settings,
    site,
    gateway,
    store,
    marks,
    reading,
    clock,
    gatewayClock,
    logger,
    metrics,
    wantsTones: (sensor) => engines?.findings.wantsTones(sensor) ?? false,
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
    gatewayClock,
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

  const alarms = engines
    ? createAlarms(engines, {
        site,
        store: store.alarms,
        clock,
        logger,
        gatewayNow: () => gatewayClock.now(),
        sensors: () => poller.sensorStates(),
        isGatewayUp: () => gateway.state.isUp,
      })
    : null;
  const deliveries = createDeliveries(settings, () => site.current.site, { clock, logger });
  engines?.onEvents((events) => {
    for (const delivery of deliveries) delivery.add(events);
  });

  const configuration = openConfiguration(
    {
      settings,
      site,
      clock,
      gatewayClock,
      logger,
      audit,
      status,
      reading,
      statesOf: (counted) =>
        createServiceStates({ settings, source: gateway, names, gate, metrics: counted }),
      createUplinks: (documents) =>
        new Uplinks(
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
            gatewayNow: () => gatewayClock.now(),
            documents,
            dispatcher: settings.commandsEnabled ? dispatcher : null,
            audit,
          },
          configured,
        ),
    },
    options,
  );
  const { uplinks, reloader, remote, setup } = configuration;
  const http = createHttpSide({
    settings,
    site,
    status,
    watchdog,
    store,
    plans,
    names,
    gaps,
    live: hub,
    poller,
    gatewayClock,
    dispatcher,
    configuration: configuration.control,
    setup,
    alarms,
    metrics,
    clock,
    logger,
  });
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
    gatewayClock,
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
