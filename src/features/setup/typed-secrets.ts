/**
 * Passwords of uplinks that are typed into a form. The uplinks file contains none: each is written to its own file
 * below DATA_DIR, which the uplink names from then on, and nobody can read it over HTTP.
 */
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import type { PendingSecrets } from "../../core/configuration/configuration-files.ts";
import type { DurableFiles } from "../../lib/durable-file.ts";
import { makeDirectory } from "../../lib/make-directory.ts";
import { isSameWay, mapUplinks, uplinksOf } from "./hidden-secrets.ts";

/** Members that may be typed, and the member that names the file of each. */
const TYPED = { password: "passwordFile", sasKey: "sasKeyFile" } as const;
const KEYS = ["password", "sasKey"] as const;
/** Includes files that an interrupted write left. */
const NAME = /^[0-9a-f]{32}(\.new)?$/;
/** A line or two; the same limit as for a secret file. */
const LENGTH_MAX = 16_384;

/** Members that forms have in addition to the published schema. */
export const TYPED_SCHEMA = {
  password: {
    title: "Password",
    description:
      "It is stored in a file of the agent's own and never shown again. Leave it empty to keep the stored one.",
    type: "string",
    format: "password",
    maxLength: LENGTH_MAX,
  },
  sasKey: {
    title: "Shared access key",
    description: "Stored like a password. For the profile azure-iot.",
    type: "string",
    format: "password",
    maxLength: LENGTH_MAX,
  },
} as const;

interface Taken {
  readonly value: unknown;
  readonly secrets: PendingSecrets;
  /** Members that name one of its files, as `index.member`: it has checked them. */
  readonly own: ReadonlySet<string>;
  readonly faults: readonly ConfigurationFault[];
}

export class TypedSecrets {
  readonly #files: DurableFiles;
  readonly #directory: string;

  constructor(files: DurableFiles, dataDir: string) {
    this.#files = files;
    this.#directory = join(dataDir, "configuration", "secrets");
  }

  /** A browser's content with files in place of typed values; nothing is written yet. */
  take(content: unknown, current: unknown): Taken {
    const secrets = new Map<string, string>();
    const own = new Set<string>();
    const faults: ConfigurationFault[] = [];
    const known = new Map(uplinksOf(current).map((uplink) => [uplink["name"], uplink]));
    let index = -1;
    const value = mapUplinks(content, (uplink) => {
      index += 1;
      const made: Record<string, unknown> = { ...uplink };
      for (const key of KEYS) {
        const typed = uplink[key];
        const file = TYPED[key];
        if (typeof typed === "string" && typed.trim() !== "" && typed.length <= LENGTH_MAX) {
          const path = join(this.#directory, randomBytes(16).toString("hex"));
          secrets.set(path, typed.trim());
          own.add(`${index}.${file}`);
          delete made[key];
          made[file] = path;
          continue;
        }
        const path = made[file];
        if (typeof path !== "string" || dirname(path) !== this.#directory) continue;
        own.add(`${index}.${file}`);
        const before = known.get(uplink["name"]);
        // It is not sent to an address that it was not typed for.
        if (before?.[file] === path && isSameWay(before, uplink)) continue;
        faults.push({
          place: `uplinks[${index}].${key}`,
          problem: "was entered for another name or address",
          remedy: "enter it again",
        });
      }
      return made;
    });
    return { value, secrets, own, faults };
  }

  /** Before the file that names them. */
  write(secrets: PendingSecrets): void {
    if (secrets.size > 0) makeDirectory(this.#directory, 0o700);
    for (const [path, secret] of secrets) this.#files.write(path, `${secret}\n`);
  }

  /** Files that none of the texts names are deleted. */
  prune(texts: readonly (string | null)[]): void {
    for (const name of this.#names())
      if (!texts.some((text) => text?.includes(name)))
        this.#files.remove(join(this.#directory, name));
  }

  #names(): string[] {
    try {
      return readdirSync(this.#directory).filter((name) => NAME.test(name));
    } catch {
      return [];
    }
  }
}
