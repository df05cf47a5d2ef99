/** Everything that changes the configuration of a running agent: set-up over HTTP, signed documents, restored backups. */
import type { Settings } from "../../config/settings.ts";
import { durableFiles } from "../../lib/durable-file.ts";
import { VERSION } from "../../lib/version.ts";
import type { Feature } from "../feature.ts";
import type { Configuring, FeatureHost } from "../host.ts";
import { Setup } from "./actions.ts";
import { backupOperations } from "./api-backup.ts";
import { setupOperations } from "./api-setup.ts";
import { ChangeTurn } from "./change-turn.ts";
import { DocumentKeys } from "./document-keys.ts";
import { filePolicy } from "./file-policy.ts";
import { FileVersions } from "./file-versions.ts";
import { takeBackInterrupted } from "./interrupted-trial.ts";
import { RemoteConfiguration, type RemoteParts } from "./remote.ts";
import { Restorer, type RestorerParts } from "./restorer.ts";
import { runningElsewhere } from "./running-elsewhere.ts";
import { SiteDocuments } from "./site-documents.ts";
import { TrialJournal } from "./trial-journal.ts";
import { type Accepted, acceptedOf } from "./trial-records.ts";

type SetupHost = Pick<FeatureHost, "addAudit" | "clock" | "configuring" | "logger" | "site"> &
  Pick<FeatureHost, "status" | "whyUnwritable"> & { readonly settings: Settings };

export interface SetupFeature extends Feature {
  /** Null while SETUP_ENABLED is false. */
  readonly actions: Setup | null;
}

export function createSetup(host: SetupHost): SetupFeature {
  const { configuring, settings, site, clock, logger } = host;
  if (configuring === null) return { actions: null };
  const { files, reloads, uplinks, reads, gateway, places } = configuring;
  const credentialsDirectory = places.credentialsDirectory ?? null;
  const ending = new AbortController();
  const changing = {
    configuration: files,
    reloader: reloads,
    policy: filePolicy(settings, places),
    turn: new ChangeTurn(),
    site: () => site.current,
    uplinks,
    clock,
    logger,
  };
  const tried = {
    ...changing,
    journal: new TrialJournal(durableFiles, settings.dataDir),
    paths: { site: settings.siteFile, uplinks: settings.uplinksFile },
    status: () => host.status.status(),
    reads,
    ending: ending.signal,
  };
  const actions = settings.setupEnabled
    ? new Setup({ ...changing, settings, gateway, credentialsDirectory })
    : null;
  const restorer = createRestorer(tried, configuring, host);
  const left = acceptedOf(configuring.recovered);
  // Whatever becomes of this start: the next one finds no trial any more.
  if (left !== null) reportRecovered(left, host);
  const documents = createDocuments(tried, left, configuring, host);
  return {
    actions,
    documents,
    serve: [
      ...backupOperations(restorer, actions?.site ?? null, site),
      ...(actions === null ? [] : setupOperations(actions, site)),
    ],
    async run() {
      const report = (late: Accepted) => {
        reportRecovered(late, host);
        if (late.isRestore !== true) documents?.recovered(late);
      };
      await takeBackInterrupted({ ...tried, report }, ending.signal);
    },
    stopping() {
      actions?.close();
      ending.abort();
    },
  };
}

/** Null unless CONFIG_PUBLIC_KEY_FILE is set. */
function createDocuments(
  tried: Omit<RemoteParts, "keys" | "whyUnwritable">,
  left: Accepted | null,
  { reloads }: Configuring,
  { settings, addAudit, whyUnwritable = () => Promise.resolve(null), logger }: SetupHost,
): SiteDocuments | null {
  const { configPublicKeyFile, configTrialS, commandResponsePrefix } = settings;
  if (configPublicKeyFile === null) return null;
  const keys = new DocumentKeys(configPublicKeyFile, logger);
  reloads.onReload((by) => keys.renew(by));
  const parts = { ...tried, keys: () => keys.current, whyUnwritable };
  return new SiteDocuments(
    new RemoteConfiguration(parts, configTrialS * 1000),
    left?.isRestore === true ? null : left,
    () => reloads.state.configuration,
    documentAudit(addAudit),
    commandResponsePrefix,
  );
}

function createRestorer(
  tried: Omit<
    RestorerParts,
    "audit" | "dataDir" | "instance" | "lookElsewhere" | "version" | "versions"
  >,
  { instance, places }: Configuring,
  { settings, addAudit, logger }: SetupHost,
): Restorer {
  const { dataDir, configTrialS } = settings;
  const credentialsDirectory = places.credentialsDirectory ?? null;
  return new Restorer(
    {
      ...tried,
      versions: {
        site: new FileVersions(durableFiles, dataDir, "site"),
        uplinks: new FileVersions(durableFiles, dataDir, "uplinks"),
      },
      dataDir,
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
      audit: (outcome, detail) => addAudit("restore", "configuration", outcome, detail),
    },
    configTrialS * 1000,
  );
}

const documentAudit =
  (addAudit: SetupHost["addAudit"]) =>
  (detail: string, outcome: string): void =>
    addAudit("signed document", "configuration", outcome, detail);

/** Logs that a trial which the last process left behind was rolled back. */
function reportRecovered(recovered: Accepted, { logger, addAudit }: SetupHost): void {
  const { isRestore, version, outcome, detail } = recovered;
  if (isRestore === true) {
    logger.warn({ outcome, detail }, "restored backup rolled back");
    addAudit("restore", "configuration", outcome, detail);
    return;
  }
  logger.warn({ ...recovered, reply: undefined }, "signed configuration rolled back");
  documentAudit(addAudit)(`version ${version}`, outcome);
}
