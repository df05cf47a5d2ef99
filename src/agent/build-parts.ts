/**
 * Builds the parts of the agent over its open resources, and connects them. Building does no I/O, except that a first start stores the instance's name, and each part uses
 * only those built before it. `openAgent` opens what must read or write something; nothing polls or publishes before
 * the agent runs.
 */

import { Certificates } from "../config/certificates.ts";
import { listenFailure } from "../config/listen-failure.ts";
import type { SensorState } from "../core/agent-status.ts";
import type { DayKey } from "../core/day.ts";
import type { Reading } from "../core/reading.ts";
import { createFeatures, type Features } from "../features/all.ts";
import { Listening } from "../http/listening.ts";
import { LoadWatch } from "../lib/load-watch.ts";
import { Watchdog } from "../lib/watchdog.ts";
import { createAudit } from "../pipeline/store/audit.ts";
import { noteSiteName } from "../pipeline/store/site-memory/renamed-site.ts";
import { keepScaleChanges } from "../pipeline/store/site-memory/scale-changes.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { AgentBase } from "./base.ts";
import { createConfiguration } from "./configuration.ts";
import { faultsOf, statusOf, tonesFor, withFeatures } from "./features.ts";
import { createHttpSide, httpSources } from "./http-side.ts";
import { INSTANCE, instanceOf, newRun } from "./instance.ts";
import { buildReadingSide } from "./reading-side.ts";
import type { AgentResources } from "./resources.ts";
import { StatusReport } from "./status.ts";
import { Uplinks } from "./uplinks.ts";

/** What the agent runs and closes. */
export type AgentParts = Awaited<ReturnType<typeof buildParts>>;

export async function buildParts(
  options: AgentOptions,
  base: AgentBase,
  resources: AgentResources,
) {
  const { settings, site, configured, clock, gatewayClock, logger, gate } = base;
  const { store, gateway } = resources;
  // Others ask them when they run.
  let features: Features | null = null;
  const note = {
    reading(reading: Reading) {
      for (const feature of features?.running ?? []) feature.reading?.(reading);
    },
    read(key: DayKey, atMs: number) {
      for (const feature of features?.running ?? []) feature.dayRead?.(key, atMs);
    },
    recovered() {
      for (const feature of features?.running ?? []) feature.recovered?.();
    },
    wantedTones: (sensor: string) => tonesFor(features?.running ?? [], sensor),
    sensorState: (polled: SensorState) =>
      (features?.running ?? []).reduce((state, one) => one.sensorState?.(state) ?? state, polled),
    response(key: DayKey, fromMs: number, toMs: number) {
      for (const feature of features?.running ?? []) feature.durable?.(key, fromMs, toMs);
    },
  };
  const side = buildReadingSide(base, resources, note);
  const report = new StatusReport({ ...base, ...resources, ...side, ...note });
  const scaleChanges = keepScaleChanges({
    ...base,
    memory: store.meta,
    gatewayNow: gatewayClock.now,
  });
  const watchdog = new Watchdog({ ...base, store });
  const loadWatch = new LoadWatch({ ...base, sensors: () => site.current.sensors.length });
  const audit = createAudit({ store, clock, logger });
  const uplinks = new Uplinks(
    {
      ...base,
      store,
      instance: instanceOf(store.meta),
      run: newRun(),
      gapsOf: (uplink) => side.gaps.of(store.gapsOf(uplink)),
      status: report.current,
      sensors: report.recentSensors,
      gatewayNow: gatewayClock.now,
      features: () => features?.running ?? [],
      audit,
    },
    configured,
  );
  noteSiteName(store.meta, site.current.site, configured, logger);
  const certificates = new Certificates({ ...base, now: () => clock.now() });
  report.include({ certificates: (links) => certificates.of(uplinks.current, links) });
  const configuration = createConfiguration(
    {
      ...base,
      certificates,
      reading: side.reading,
      uplinks,
      reads: side.poller,
      whyUnwritable: () => store.watch.whyUnwritable(),
      instance: () => store.meta.get(INSTANCE),
    },
    options,
  );
  const sources = httpSources({
    ...base,
    ...side,
    store,
    scaleChanges,
    status: report.current,
    watchdog,
    live: side.hub,
    configuration: configuration.control,
    tryPublish: () => uplinks.tryPublish(),
    log: options.log ?? null,
    readAgain(days, sensor) {
      for (const feature of features?.running ?? []) feature.readAgain?.(days, sensor);
    },
  });
  features = await createFeatures({
    ...sources,
    settings,
    newest: side.newest,
    gateway,
    names: base.names,
    hasReadAll: () => side.poller.hasReadAll,
    gate,
    commandLog: store.commands,
    addAudit: audit,
    pendingDays: (sensor, kind) => side.poller.pendingDays(sensor, kind),
    failures: base.failures,
    readings: {
      log: store.readings,
      history: store.history,
      readWanted: (key, wanted) => side.poller.readWanted(key, wanted),
      stored: side.onStored,
    },
    configuring: configuration.configuring,
    tables: store.tables,
    keeping: store.keeping,
    counting: store.counting,
    isClockConfirmed: () => gatewayClock.isConfirmed,
    memory: store.meta,
    boxFaults: () => faultsOf(report.current()),
    sensors: report.recentSensors,
    settledSensors: side.settledSensors,
    isGatewayTimeKnown: () => gatewayClock.isKnown,
  });
  store.steps.list = features.running;
  const shown = withFeatures(sources, features);
  const http = createHttpSide(shown, base);
  const listening = new Listening({
    ...base,
    http,
    explain: (error) => listenFailure(error, settings),
  });
  const { running } = features;
  report.include({
    features: () => statusOf(running),
    uplinks,
    configuration: () => configuration.reloader.state,
    http: () => ({ address: http.address, lastError: listening.failure?.message ?? null }),
  });
  return {
    ...base,
    ...resources,
    ...side,
    reloader: configuration.reloader,
    report,
    watchdog,
    loadWatch,
    audit,
    uplinks,
    shown,
    features: running,
    http,
    listening,
  };
}
