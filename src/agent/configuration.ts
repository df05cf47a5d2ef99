/** The configuration in effect, the reload that applies changes of its files, and what features need to change them. */

import type { Certificates } from "../config/certificates.ts";
import { type ConfigurationControl, withoutSecrets } from "../core/configuration/configuration.ts";
import { configurationDigest, uplinkDigests } from "../core/configuration/configuration-digest.ts";
import type { ConfigurationFiles } from "../core/configuration/configuration-files.ts";
import type { Configuring } from "../features/host.ts";
import { createMetrics } from "../lib/metrics.ts";
import type { ReadingGateway } from "../pipeline/poll/one-read.ts";
import { createReadDay } from "../pipeline/poll/read-day.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { AgentBase } from "./base.ts";
import type { ReadingParts } from "./polling.ts";
import { Reloader } from "./reload.ts";
import type { Uplinks } from "./uplinks.ts";

interface ConfigurationWiring extends AgentBase, Pick<Configuring, "instance" | "reads"> {
  readonly reading: ReadingParts;
  readonly uplinks: Uplinks;
  readonly certificates: Certificates;
  /** Why no change can be stored; null if it can. */
  readonly whyUnwritable: () => Promise<string | null>;
}

export interface Configuration {
  readonly reloader: Reloader;
  /** Null if there are no files to reload. */
  readonly control: ConfigurationControl;
  /** Null if there are no files. */
  readonly configuring: Configuring | null;
}

export function createConfiguration(
  wiring: ConfigurationWiring,
  options: AgentOptions,
): Configuration {
  const { site, uplinks, instance, reads, logger } = wiring;
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
  );
  const configuring: Configuring = {
    files,
    reloads: reloader,
    uplinks: () => uplinks.current,
    reads,
    gateway: uncountedReads(wiring),
    instance,
    places: options,
    recovered: options.recovered ?? null,
  };
  return {
    reloader,
    control: configurationControl(files, reloader, wiring),
    configuring: options.files === undefined ? null : configuring,
  };
}

function uncountedReads({ reading, gatewayClock }: ConfigurationWiring): ReadingGateway {
  const metrics = createMetrics();
  return {
    readDay: (log) => createReadDay({ ...reading, log, metrics }),
    gatewayNow(dateMs) {
      if (dateMs !== null) gatewayClock.observe(dateMs);
      return gatewayClock.now();
    },
  };
}

function configurationControl(
  files: ConfigurationFiles,
  reloader: Reloader,
  { site, uplinks }: Pick<ConfigurationWiring, "site" | "uplinks">,
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
  }),
  settings: () => ({}),
  secretSettings: () => [],
  texts: () => ({ site: null, uplinks: null }),
  pendingRestart: () => [],
  compare: () => [],
  sensor: () => ({ faults: [] }),
  uplink: () => ({ faults: [] }),
};
