/** The keys of CONFIG_PUBLIC_KEY_FILE, with which documents may be signed. */
import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import type { Logger } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import { fileTrouble, readRemedy } from "../../lib/file-trouble.ts";
import { readPublicKeys } from "./signed-document.ts";

const keysIn = (path: string) => readPublicKeys(readFileSync(path, "utf8"));

/** The file, if given, must contain a key that can verify signatures. */
export function keyFaults(path: string | null): readonly ConfigurationFault[] {
  try {
    if (path !== null) keysIn(path);
    return [];
  } catch (error) {
    const isFile = error instanceof Error && "code" in error && "syscall" in error;
    const problem = `${path} ${isFile ? fileTrouble(error) : messageOf(error)}`;
    const remedy = readRemedy(
      error,
      String(path),
      "use the public key file that `gateside sign --new-key` created",
    );
    return [{ place: "CONFIG_PUBLIC_KEY_FILE", problem, remedy }];
  }
}

export class DocumentKeys {
  readonly #path: string;
  readonly #logger: Logger;
  #keys: readonly KeyObject[];

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.#keys = keysIn(path);
  }

  /** As of the last reload, whatever other files have faults: whoever withdraws a key must not depend on them. */
  get current(): readonly KeyObject[] {
    return this.#keys;
  }

  /** A file that cannot be read withdraws no key. */
  renew(by: string): void {
    let keys: readonly KeyObject[];
    try {
      keys = keysIn(this.#path);
    } catch {
      // The reload names what is wrong with it.
      return;
    }
    const known = this.#keys;
    if (keys.length === known.length && keys.every((key, i) => known[i]?.equals(key))) return;
    this.#keys = keys;
    this.#logger.info({ by, keys: keys.length }, "the keys of signed documents have changed");
  }
}
