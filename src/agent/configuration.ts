/** What changes the configuration of a running agent: reload, signed documents, set-up. */
import type { KeyObject } from "node:crypto";
import type { Settings } from "../config/settings.ts";
import { type ConfigurationControl, withoutSecrets } from "../core/configuration.ts";
import type { AgentStatus, Clock, Logger } from "../core/ports.ts";
import type { ReplaceableSite, SiteSource } from "../core/site-source.ts";
import { durableFiles } from "../lib/durable-file.ts";
import { createMetrics, type Metrics } from "../lib/metrics.ts";
import type { ServiceStates } from "../node-state/service-states.ts";
import type { GatewayClock } from "../poll/gateway-clock.ts";
import { createReadDay } from "../poll/read-day.ts";
import { configurationDigest } from "../setup/digest.ts";
import { type ConfigurationFiles, Reloader } from "../setup/reload.ts";
import { RemoteConfiguration } from "../setup/remote.ts";
import { type Accepted, TrialJournal } from "../setup/trial-journal.ts";
import type { Store } from "../store/store.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { ReadingParts } from "./polling.ts";
import { Setup } from "./setup.ts";
import { SiteDocuments } from "./site-documents.ts";
import type { Uplinks } from "./uplinks.ts";

interface ConfigurationParts {
  readonly settings: Settings;
  readonly files: ConfigurationFiles;
  readonly site: SiteSource;
  readonly reloader: Reloader;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Writes a change that came by another way than HTTP to the audit log; HTTP keeps its own there. */
export type Audit = (who: string, what: string, outcome: string, detail?: string) => void;

interface AuditParts {
  readonly store: Pick<Store, "audit">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createAudit({ store, clock, logger }: AuditParts): Audit {
  return (who, what, outcome, detail = "") => {
    const timeMs = clock.now();
    try {
      store.audit.add({ timeMs, who, address: "", what, detail, outcome });
    } catch (err) {
      logger.error({ err, who, what, outcome }, "a change could not be written to the audit log");
    }
  };
}

interface ConfigurationWiring {
  readonly settings: Settings;
  readonly site: ReplaceableSite;
  readonly clock: Clock;
  readonly gatewayClock: GatewayClock;
  readonly logger: Logger;
  readonly audit: Audit;
  readonly status: () => AgentStatus;
  readonly reading: ReadingParts;
  /** Reads states of nodes, counted by these metrics. */
  readonly statesOf: (metrics: Metrics) => ServiceStates;
  /** `documents` is null where no signed document is taken. */
  readonly createUplinks: (documents: SiteDocuments | null) => Uplinks;
}

interface Configuration {
  readonly uplinks: Uplinks;
  readonly reloader: Reloader;
  /** Null unless signed documents are taken. */
  readonly remote: RemoteConfiguration | null;
  /** Null unless SETUP_ENABLED. */
  readonly setup: Setup | null;
  /** Null where there are no files to reload. */
  readonly control: (renewCertificate: () => void) => ConfigurationControl | null;
}

/** Joins what can change while the agent runs with those who change it. */
export function openConfiguration(
  wiring: ConfigurationWiring,
  options: AgentOptions,
): Configuration {
  const { settings, site, clock, logger, audit, status } = wiring;
  const takesDocuments = options.files !== undefined && options.documentKeys !== undefined;
  const documents = takesDocuments
    ? openSiteDocuments({
        remote: () => remote,
        recovered: options.recovered ?? null,
        configuration: () => reloader.state.configuration,
        responsePrefix: settings.commandResponsePrefix,
        audit,
        logger,
      })
    : null;
  const uplinks = wiring.createUplinks(documents);
  const files = options.files ?? NO_FILES;
  const reloader = new Reloader(
    {
      files,
      site,
      uplinks: uplinks.others,
      digest: (current, others) =>
        configurationDigest(options.settingsShown ?? {}, current, others),
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
          reading: wiring.reading,
          gatewayClock: wiring.gatewayClock,
          statesOf: wiring.statesOf,
          isTrialRunning: () => remote?.isBusy ?? false,
        });
  return {
    uplinks,
    reloader,
    remote,
    setup,
    control: (renewCertificate) =>
      options.files === undefined
        ? null
        : configurationControl(changing, uplinks, renewCertificate),
  };
}

interface DocumentParts {
  readonly remote: () => RemoteConfiguration | null;
  /** What became of a trial that the last process left behind. */
  readonly recovered: Accepted | null;
  readonly configuration: () => string;
  readonly responsePrefix: string | null;
  readonly audit: Audit;
  readonly logger: Logger;
}

/** What takes the documents, `remote`, is opened later, once there is a reload. */
function openSiteDocuments(parts: DocumentParts): SiteDocuments {
  const { remote, recovered, configuration, responsePrefix, logger } = parts;
  const audit = (detail: string, outcome: string) =>
    parts.audit("signed document", "configuration", outcome, detail);
  if (recovered !== null) {
    logger.warn({ ...recovered, reply: undefined }, "signed configuration rolled back");
    audit(`version ${recovered.version}`, recovered.outcome);
  }
  return new SiteDocuments(remote, recovered, configuration, audit, responsePrefix);
}

interface SetupPlaces {
  readonly credentialsDirectory?: string | null;
  readonly configurationDirectory?: string | null;
  readonly ownFiles?: readonly string[];
}

/** Set-up over HTTP; what it tries is read with `reading`, and stored and counted nowhere. */
function openSetup(
  { settings, files, site, reloader, clock, logger }: ConfigurationParts,
  places: SetupPlaces,
  {
    uplinks,
    reading,
    gatewayClock,
    statesOf,
    isTrialRunning,
  }: {
    readonly uplinks: Uplinks;
    readonly reading: ReadingParts;
    readonly gatewayClock: GatewayClock;
    readonly statesOf: (metrics: Metrics) => ServiceStates;
    readonly isTrialRunning: () => boolean;
  },
): Setup {
  const metrics = createMetrics();
  return new Setup({
    settings,
    configuration: files,
    reloader,
    site: () => site.current,
    uplinks: uplinks.others,
    isTrialRunning,
    gateway: {
      readDay: (log) => createReadDay({ ...reading, log, metrics }),
      gatewayNow(dateMs) {
        if (dateMs !== null) gatewayClock.observe(dateMs);
        return gatewayClock.now();
      },
    },
    states: statesOf(metrics),
    credentialsDirectory: places.credentialsDirectory ?? null,
    configurationDirectory: places.configurationDirectory ?? null,
    ownFiles: places.ownFiles ?? [],
    clock,
    logger,
  });
}

/** Takes documents signed with one of `keys`. */
function openRemote(
  { settings, files, site, reloader, clock, logger }: ConfigurationParts,
  keys: readonly KeyObject[],
  status: () => AgentStatus,
): RemoteConfiguration {
  return new RemoteConfiguration(
    {
      reloader,
      configuration: files,
      journal: new TrialJournal(durableFiles, settings.dataDir),
      paths: { site: settings.siteFile, uplinks: settings.uplinksFile },
      keys,
      site: () => site.current.site,
      status,
      clock,
      logger,
    },
    settings.configTrialS * 1000,
  );
}

function configurationControl(
  { files, site, reloader }: ConfigurationParts,
  uplinks: Uplinks,
  renewCertificate: () => void,
): ConfigurationControl {
  return {
    inEffect: () => ({ site: site.current, uplinks: uplinks.current.map(withoutSecrets) }),
    reload: (by) => {
      renewCertificate();
      return reloader.reload(by);
    },
    compare: (nonce, digests, withSecrets) => files.compare(nonce, digests, withSecrets),
  };
}

/** Of an agent that was opened without files, as tests do: nothing differs, and there is nothing to reload. */
const NO_FILES: ConfigurationFiles = {
  examine: () => ({
    site: null,
    uplinks: null,
    faults: [{ place: "reload", problem: "is not available", remedy: "restart the agent" }],
    warnings: [],
    texts: { site: null, uplinks: null },
  }),
  texts: () => ({ site: null, uplinks: null }),
  pendingRestart: () => [],
  compare: () => [],
  sensor: () => ({ faults: [] }),
  uplink: () => ({ faults: [] }),
};
