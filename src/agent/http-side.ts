import { existsSync } from "node:fs";
import { hostname } from "node:os";
import type { AgentStatus, PublishTrial } from "../core/agent-status.ts";
import type { ConfigurationControl } from "../core/configuration/configuration.ts";
import { createSeriesMaker } from "../core/query/series.ts";
import type { LogView } from "../core/status/log-view.ts";
import type { HttpParts, HttpSources } from "../http/parts.ts";
import { createHttpServer, type HttpServer } from "../http/server.ts";
import { agentSocketPath, dashboardDirectory } from "../lib/paths.ts";
import { VERSION } from "../lib/version.ts";
import type { Watchdog } from "../lib/watchdog.ts";
import { createBackfillJobs } from "../pipeline/poll/backfill-jobs.ts";
import { historyPages } from "../pipeline/store/readings/history-pages.ts";
import type { LiveHub } from "../pipeline/store/readings/live-hub.ts";
import { keepSensorNames } from "../pipeline/store/site-memory/sensor-names.ts";
import type { Store } from "../pipeline/store/store.ts";
import type { AgentBase } from "./base.ts";
import type { ReadingSide } from "./reading-side.ts";

interface HttpSideParts extends AgentBase, Pick<ReadingSide, "gaps" | "poller"> {
  readonly status: () => AgentStatus;
  readonly watchdog: Watchdog;
  readonly store: Store;
  readonly live: LiveHub;
  readonly scaleChanges: NonNullable<HttpParts["scaleChanges"]>;
  /** Null if there is nothing to reload. */
  readonly configuration: ConfigurationControl | null;
  readonly tryPublish: () => Promise<readonly PublishTrial[]>;
  readonly log: LogView | null;
  /** A backfill has read these days. @param sensor null: all */
  readonly readAgain: (days: readonly string[], sensor: string | null) => void;
}

/** The rooms as HTTP shows them. */
export function httpSources(parts: HttpSideParts): HttpSources {
  const { settings, site, status, watchdog, store, plans, gaps, live } = parts;
  const { poller, gatewayClock, metrics, loopDelay } = parts;
  const { clock, logger } = parts;
  return {
    site,
    status: { status },
    health: { parts: () => watchdog.health() },
    history: historyPages(store.history),
    hours: store.hours,
    waveforms: store.waveforms,
    measurements: store.measurements,
    series: createSeriesMaker(plans),
    gaps,
    live,
    backfill: createBackfillJobs({
      site,
      clock,
      gatewayNow: gatewayClock.now,
      zone: settings.gatewayTimezone,
      read: (days, sensor) => {
        const job = poller.backfill(days, sensor);
        void job.finished.then(() => parts.readAgain(days, sensor));
        return job;
      },
      canReread: (key) => store.readings.canReread(key),
    }),
    lastQueuedAtMs: (sensor) => store.commands.lastQueued(sensor)?.finishedAtMs ?? null,
    configuration: parts.configuration,
    tryPublish: parts.tryPublish,
    dayMedians: store.dayMedians,
    log: parts.log,
    formerName: keepSensorNames({ site, memory: store.meta, logger }),
    scaleChanges: parts.scaleChanges,
    whyUnwritable: () => store.watch.whyUnwritable(),
    audit: store.audit,
    sessions: store.sessions,
    metrics,
    loopDelay,
    clock,
    gatewayNow: gatewayClock.now,
    logger,
  };
}

/** The HTTP server over these rooms. It does not listen yet. */
export function createHttpSide(
  shown: HttpParts,
  { settings, names }: Pick<HttpSideParts, "settings" | "names">,
): HttpServer {
  return createHttpServer(shown, {
    host: settings.httpHost,
    port: settings.httpPort,
    socketPath: agentSocketPath(settings.dataDir),
    token: settings.httpToken,
    viewToken: settings.httpViewToken,
    sessionDays: settings.httpSessionDays,
    // Of boxes on one host or behind one address, two have different sites, directories or ports.
    instance: [shown.site.current.site, settings.dataDir, settings.httpPort].join(" "),
    ownName: hostname,
    publicUrls: settings.httpPublicUrls,
    trustedProxies: settings.httpTrustedProxies,
    userHeader: settings.httpUserHeader,
    tls:
      settings.httpCertFile === null || settings.httpKeyFile === null
        ? null
        : { certFile: settings.httpCertFile, keyFile: settings.httpKeyFile },
    version: VERSION,
    timezone: settings.gatewayTimezone,
    names,
    // A checkout that was never built has no dashboard, and needs none for its tests.
    dashboardDir:
      settings.httpPort !== null && existsSync(dashboardDirectory()) ? dashboardDirectory() : null,
  });
}
