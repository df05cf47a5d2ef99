/** Everything that changes the configuration of a running agent: reload, signed documents, set-up. */

import type { Settings } from "../config/settings.ts";
import type { AgentStatus } from "../core/agent-status.ts";
import { type ConfigurationControl, withoutSecrets } from "../core/configuration.ts";
import { configurationDigest, uplinkDigests } from "../core/configuration-digest.ts";
import type { ConfigurationFiles } from "../core/configuration-files.ts";
import type { Logger, Runtime } from "../core/ports.ts";
import type { SiteSource } from "../core/site-source.ts";
import { Setup } from "../features/setup/actions.ts";
import { ChangeTurn } from "../features/setup/change-turn.ts";
import { type FilePolicy, filePolicy } from "../features/setup/file-policy.ts";
import { FileVersions } from "../features/setup/file-versions.ts";
import { takeBackInterrupted } from "../features/setup/interrupted-trial.ts";
import { RemoteConfiguration } from "../features/setup/remote.ts";
import { Restorer } from "../features/setup/restorer.ts";
import { runningElsewhere } from "../features/setup/running-elsewhere.ts";
import { SiteDocuments } from "../features/setup/site-documents.ts";
import type { TrialParts, TriedChangeParts } from "../features/setup/trial.ts";
import { TrialJournal } from "../features/setup/trial-journal.ts";
import type { Accepted } from "../features/setup/trial-records.ts";
import { durableFiles } from "../lib/durable-file.ts";
import { createMetrics } from "../lib/metrics.ts";
import { VERSION } from "../lib/version.ts";
import { createReadDay } from "../pipeline/poll/read-day.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Audit } from "./audit.ts";
import type { AgentBase } from "./base.ts";
import type { Certificates } from "./certificates.ts";
import type { ReadingParts } from "./polling.ts";
import { Reloader } from "./reload.ts";
import type { Uplinks } from "./uplinks.ts";

interface ConfigurationParts extends Runtime {
  readonly settings: Settings;
  readonly files: ConfigurationFiles;
  readonly policy: FilePolicy | null;
  readonly site: SiteSource;
  readonly reloader: Reloader;
}

interface ConfigurationWiring extends AgentBase {
  readonly audit: Audit;
  readonly status: () => AgentStatus;
  readonly reading: ReadingParts;
  readonly uplinks: Uplinks;
  readonly certificates: Certificates;
  /** Why no change can be stored; null if it can. */
  readonly whyUnwritable: () => Promise<string | null>;
  /** Of the data directory; null while it has none. */
  readonly instance: () => string | null;
  /** The poller's. */
  readonly reads: TrialParts["reads"];
}

export interface Configuration {
  readonly reloader: Reloader;
  /** Null unless signed documents are accepted. */
  readonly remote: RemoteConfiguration | null;
  /** Null if there are no files. */
  readonly restorer: Restorer | null;
  /** What brings them in over a session, and publishes their results. */
  readonly documents: SiteDocuments | null;
  /** Null unless SETUP_ENABLED. */
  readonly setup: Setup | null;
  /** Null if there are no files to reload. */
  readonly control: ConfigurationControl;
  /** Takes back the trial that the start found and could not take back. */
  readonly takeBack: (signal: AbortSignal) => Promise<void>;
}

/** Connects what can change while the agent runs with the parts that change it. */
export function createConfiguration(
  wiring: ConfigurationWiring,
  options: AgentOptions,
): Configuration {
  const { settings, site, uplinks, clock, logger } = wiring;
  const files = options.files ?? NO_FILES;
  const texts = new WeakMap<object, string>();
  const reloader = new Reloader(
    {
      files,
      site,
      uplinks: uplinks.others,
      digest: (current, others) =>
        configurationDigest(options.settingsShown ?? {}, current, others, texts),
      whyUnwritable: wiring.whyUnwritable,
      restartFiles: () => wiring.certificates.restartFiles(uplinks.current),
      logger,
    },
    files.texts(),
    options.documentKeys,
  );
  const policy = filePolicy(settings, options);
  const changing = { settings, files, policy, site, reloader, clock, logger };
  const credentialsDirectory = options.credentialsDirectory ?? null;
  const control = configurationControl(changing, uplinks);
  if (options.files === undefined)
    return {
      reloader,
      remote: null,
      restorer: null,
      documents: null,
      setup: null,
      control,
      takeBack: () => Promise.resolve(),
    };
  const turn = new ChangeTurn();
  const restorer = createRestorer(changing, wiring, credentialsDirectory, turn);
  const remote: RemoteConfiguration | null =
    options.documentKeys === undefined ? null : createRemote(changing, wiring, turn);
  const setup = settings.setupEnabled
    ? createSetup(changing, credentialsDirectory, wiring, turn)
    : null;
  const recovered = options.recovered ?? null;
  const documents =
    remote === null
      ? null
      : new SiteDocuments(
          remote,
          recovered?.isRestore === true ? null : recovered,
          () => reloader.state.configuration,
          documentAudit(wiring.audit),
          settings.commandResponsePrefix,
        );
  const report = (late: Accepted) => {
    reportRecovered(late, wiring);
    if (late.isRestore !== true) documents?.recovered(late);
  };
  return {
    reloader,
    remote,
    restorer,
    documents,
    setup,
    control,
    takeBack: (signal) =>
      takeBackInterrupted({ ...triedChange(changing, wiring), turn, report }, signal),
  };
}

const documentAudit =
  (audit: Audit) =>
  (detail: string, outcome: string): void =>
    audit("signed document", "configuration", outcome, detail);

/** Logs that the trial of a signed document, which the last process left behind, was rolled back. */
export function reportRecovered(
  recovered: Accepted,
  { logger, audit }: { readonly logger: Logger; readonly audit: Audit },
): void {
  const { isRestore, version, outcome, detail } = recovered;
  if (isRestore === true) {
    logger.warn({ outcome, detail }, "restored backup rolled back");
    audit("restore", "configuration", outcome, detail);
    return;
  }
  logger.warn({ ...recovered, reply: undefined }, "signed configuration rolled back");
  documentAudit(audit)(`version ${version}`, outcome);
}

/** Set-up over HTTP; its test reads use `reading`, and are neither stored nor counted. */
function createSetup(
  { settings, files, policy, site, reloader, clock, logger }: ConfigurationParts,
  credentialsDirectory: string | null,
  { uplinks, reading, gatewayClock }: ConfigurationWiring,
  turn: ChangeTurn,
): Setup {
  const metrics = createMetrics();
  return new Setup({
    settings,
    configuration: files,
    reloader,
    site: () => site.current,
    uplinks: uplinks.others,
    turn,
    gateway: {
      readDay: (log) => createReadDay({ ...reading, log, metrics }),
      gatewayNow(dateMs) {
        if (dateMs !== null) gatewayClock.observe(dateMs);
        return gatewayClock.now();
      },
    },
    credentialsDirectory,
    policy,
    clock,
    logger,
  });
}

function triedChange(
  { settings, files, policy, site, reloader, clock, logger }: ConfigurationParts,
  { status, reads }: ConfigurationWiring,
): TriedChangeParts {
  return {
    reloader,
    configuration: files,
    journal: new TrialJournal(durableFiles, settings.dataDir),
    paths: { site: settings.siteFile, uplinks: settings.uplinksFile },
    policy,
    site: () => site.current,
    status,
    reads,
    clock,
    logger,
  };
}

function createRemote(
  parts: ConfigurationParts,
  wiring: ConfigurationWiring,
  turn: ChangeTurn,
): RemoteConfiguration {
  const { reloader, settings } = parts;
  return new RemoteConfiguration(
    {
      ...triedChange(parts, wiring),
      keys: () => reloader.documentKeys,
      turn,
      whyUnwritable: wiring.whyUnwritable,
    },
    settings.configTrialS * 1000,
  );
}

function createRestorer(
  parts: ConfigurationParts,
  wiring: ConfigurationWiring,
  credentialsDirectory: string | null,
  turn: ChangeTurn,
): Restorer {
  const { settings, logger } = parts;
  const { uplinks, audit, instance } = wiring;
  const { dataDir } = settings;
  return new Restorer(
    {
      ...triedChange(parts, wiring),
      versions: {
        site: new FileVersions(durableFiles, dataDir, "site"),
        uplinks: new FileVersions(durableFiles, dataDir, "uplinks"),
      },
      dataDir,
      uplinks: () => uplinks.current,
      turn,
      version: VERSION,
      instance,
      lookElsewhere: async (backedUp, brokers) => {
        const look = runningElsewhere(brokers, backedUp, instance(), credentialsDirectory);
        const { running, unasked } = await look;
        if (unasked.length > 0)
          logger.warn(
            { unasked },
            "brokers that could not be asked whether the box of the backup is running",
          );
        return running;
      },
      audit: (outcome, detail) => audit("restore", "configuration", outcome, detail),
    },
    settings.configTrialS * 1000,
  );
}

function configurationControl(
  { files, site, reloader }: ConfigurationParts,
  uplinks: Uplinks,
): ConfigurationControl {
  return {
    inEffect: () => ({ site: site.current, uplinks: uplinks.current.map(withoutSecrets) }),
    reload: (by) => reloader.reload(by),
    compare(nonce, digests, withSecrets) {
      const own = withSecrets ? uplinkDigests(nonce, uplinks.current) : {};
      const differing = Object.keys(own).filter(
        (name) => digests[name] !== undefined && digests[name] !== own[name],
      );
      return [...files.compare(nonce, digests, withSecrets), ...differing];
    },
  };
}

/** For an agent that was opened without files, as in tests: nothing differs, and there is nothing to reload. */
const NO_FILES: ConfigurationFiles = {
  examine: () => ({
    site: null,
    uplinks: null,
    faults: [{ place: "reload", problem: "is not available", remedy: "restart the agent" }],
    warnings: [],
    texts: { site: null, uplinks: null },
    documentKeys: null,
  }),
  settings: () => ({}),
  secretSettings: () => [],
  texts: () => ({ site: null, uplinks: null }),
  pendingRestart: () => [],
  compare: () => [],
  sensor: () => ({ faults: [] }),
  uplink: () => ({ faults: [] }),
};
