/**
 * Which files an uplink may name that comes over HTTP or in a signed document: those in the credentials directory and the configuration directory, except the
 * agent's own secrets. A browser must not make the agent read, or send to a broker, other files on the same disk.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { credentialNames } from "../../config/environment.ts";
import type { Settings } from "../../config/settings.ts";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import type { UnitPlaces } from "../host.ts";
import { contentOf, isSameWay, uplinksOf } from "./hidden-secrets.ts";

const FILE_KEYS = [
  "usernameFile",
  "passwordFile",
  "sasKeyFile",
  "proxyAuthFile",
  "caFile",
  "certFile",
  "keyFile",
] as const;

/**
 * The agent's own files, by their names in both directories: settings, its store, and every credential that the unit
 * passes on (`mqtt.password`, `alarm.email.url`, …), under its own name or its name in /etc/credstore
 * (`gateside.mqtt.password`). CA certificates are not secret.
 * @param credentials of all settings
 */
function ownFileNames(credentials: readonly string[]): RegExp {
  const secret = credentials.filter((name) => !name.endsWith(".ca"));
  const words = [...new Set([...secret.map((name) => name.split(".", 1)[0]), ...OTHER_PROGRAMS])];
  const cas = credentials.filter((name) => name.endsWith(".ca"));
  // An uplink may well have a file `second.mqtt.password`.
  const ends = secret.filter((name) => !name.startsWith("mqtt."));
  const any = (names: readonly (string | undefined)[]) =>
    names.map((name) => name?.replaceAll(".", "\\.")).join("|");
  return new RegExp(
    `^(.*\\.env|.*(${any(ends)})(\\.pem)?|(?!(${any(cas)})$)(${any(words)})\\..*|gateside\\.(?!([^.]+\\.)?(${any(cas)})$).*|(site|uplinks)([.-].*)?\\.json)$`,
  );
}
/** First words of secrets that other commands of this program read. */
const OTHER_PROGRAMS = ["analytics", "collect", "modbus", "query", "sparkplug"];

interface PolicyOptions {
  /** Relative paths start here. */
  readonly base: string;
  /** Absolute: files below these may be named. */
  readonly directories: readonly string[];
  /** Absolute: files that may not be named, wherever they are. */
  readonly own: readonly string[];
  /** Names of files that may not be named in any directory; see `ownFileNames`. */
  readonly ownNames: RegExp;
  /** Absolute: the agent's own copies of configurations. */
  readonly ownDirectory: string;
}

export class FilePolicy {
  readonly #options: PolicyOptions;

  constructor(options: PolicyOptions) {
    this.#options = options;
  }

  /**
   * Checks names only, and opens nothing. @param current the current file: its author chose its paths
   * @param given members that are checked elsewhere, as `index.member`
   */
  faults(content: unknown, current: unknown, given: ReadonlySet<string>): ConfigurationFault[] {
    const known = new Map(uplinksOf(current).map((uplink) => [uplink["name"], uplink]));
    return uplinksOf(content).flatMap((uplink, index) =>
      FILE_KEYS.flatMap((key) => {
        const path = uplink[key];
        if (typeof path !== "string" || path === "" || given.has(`${index}.${key}`)) return [];
        const before = known.get(uplink["name"]);
        if (before?.[key] === path && isSameWay(before, uplink)) return [];
        const problem = this.#problem(path);
        return problem === null ? [] : [{ place: `uplinks[${index}].${key}`, ...problem }];
      }),
    );
  }

  /** Of a whole file that somebody brought, before anything that it names is opened. */
  faultsOf(text: string | null, current: string | null): ConfigurationFault[] {
    return this.faults(contentOf(text), contentOf(current), new Set());
  }

  #problem(path: string): Pick<ConfigurationFault, "problem" | "remedy"> | null {
    const { base, directories, own, ownNames, ownDirectory } = this.#options;
    const wanted = resolve(base, path);
    // The target of a link counts; for a file that does not exist, its directory.
    const real = realPath(wanted);
    const isAllowed = directories.some(
      (directory) => isBelow(wanted, directory) && isBelow(real, realPath(directory)),
    );
    if (path.includes("\0") || !isAllowed)
      return {
        problem: `${JSON.stringify(path)} is outside the allowed directories`,
        remedy: `use a file below ${directories.join(" or ")}; other files can be set only in UPLINKS_FILE itself`,
      };
    const isOwn = [wanted, real].some(
      (one) => own.includes(one) || ownNames.test(basename(one)) || isBelow(one, ownDirectory),
    );
    return isOwn
      ? {
          problem: `${JSON.stringify(path)} is one of the agent's own files, which are never sent to a broker`,
          remedy: "use a file that was created for this uplink",
        }
      : null;
  }
}

/** Which files an uplink from outside may name on this box; null without UPLINKS_FILE. */
export function filePolicy(
  { siteFile, uplinksFile, httpKeyFile, httpCertFile, dataDir }: Settings,
  { credentialsDirectory = null, configurationDirectory = null, ownFiles = [] }: UnitPlaces,
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

function isBelow(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A file that does not exist yet: its future location.
    try {
      return join(realpathSync(dirname(path)), basename(path));
    } catch {
      return path;
    }
  }
}
