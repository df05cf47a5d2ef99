import { dirname, join } from "node:path";
import { credentialNames } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { FilePolicy, ownFileNames } from "../features/setup/file-policy.ts";
import type { AgentOptions } from "./agent-options.ts";

/** Which files an uplink from outside may name on this box; null without UPLINKS_FILE. */
export function filePolicy(
  { siteFile, uplinksFile, httpKeyFile, httpCertFile, dataDir }: Settings,
  {
    credentialsDirectory = null,
    configurationDirectory = null,
    ownFiles = [],
  }: Pick<AgentOptions, "credentialsDirectory" | "configurationDirectory" | "ownFiles">,
): FilePolicy | null {
  if (uplinksFile === null) return null;
  const base = dirname(uplinksFile);
  const directories = [credentialsDirectory, configurationDirectory, base];
  const own = [siteFile, uplinksFile, httpKeyFile, httpCertFile, ...ownFiles];
  return new FilePolicy({
    base,
    directories: [...new Set(directories.filter((path) => path !== null))],
    own: own.filter((path) => path !== null),
    ownNames: ownFileNames(credentialNames()),
    ownDirectory: join(dataDir, "configuration"),
  });
}
