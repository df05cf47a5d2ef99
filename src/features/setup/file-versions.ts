/** Files that were replaced over HTTP, each in its own file below DATA_DIR. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject } from "../../core/record.ts";
import type { DurableFiles } from "../../lib/durable-file.ts";
import { makeDirectory } from "../../lib/make-directory.ts";
import { fileMark } from "./file-mark.ts";
import type { FileVersion } from "./shown.ts";

/** plant.md section 12: the last ten. */
const VERSIONS_MAX = 10;

interface KeptVersion {
  readonly replacedAtMs: number;
  readonly replacedBy: string;
  readonly text: string;
}

export class FileVersions {
  readonly #files: DurableFiles;
  readonly #directory: string;
  readonly #part: "site" | "uplinks";
  readonly #name: RegExp;

  constructor(files: DurableFiles, dataDir: string, part: "site" | "uplinks") {
    this.#files = files;
    this.#directory = join(dataDir, "configuration", "versions");
    this.#part = part;
    this.#name = new RegExp(`^${part}-(\\d{1,9})\\.json$`);
  }

  /** Newest first. */
  list(): FileVersion[] {
    return this.#numbers().flatMap((version) => {
      const kept = this.#read(version);
      if (kept === null) return [];
      const { replacedAtMs, replacedBy, text } = kept;
      return [{ version, replacedAtMs, replacedBy, hash: fileMark(text) }];
    });
  }

  text(version: number): string | null {
    return this.#numbers().includes(version) ? (this.#read(version)?.text ?? null) : null;
  }

  keep(kept: KeptVersion): void {
    makeDirectory(this.#directory, 0o700);
    const numbers = this.#numbers();
    this.#files.write(this.#path((numbers[0] ?? 0) + 1), JSON.stringify(kept));
    for (const old of numbers.slice(VERSIONS_MAX - 1)) this.#files.remove(this.#path(old));
  }

  #path(version: number): string {
    return join(this.#directory, `${this.#part}-${version}.json`);
  }

  #numbers(): number[] {
    let names: string[];
    try {
      names = readdirSync(this.#directory);
    } catch {
      return [];
    }
    return names
      .flatMap((name) => {
        const number = this.#name.exec(name)?.[1];
        return number === undefined ? [] : [Number(number)];
      })
      .sort((a, b) => b - a);
  }

  /** Null for one damaged on disk. */
  #read(version: number): KeptVersion | null {
    try {
      const value: unknown = JSON.parse(this.#files.read(this.#path(version)) ?? "null");
      if (!isJsonObject(value)) return null;
      const { replacedAtMs, replacedBy, text } = value;
      if (typeof text !== "string") return null;
      return { replacedAtMs: Number(replacedAtMs), replacedBy: String(replacedBy), text };
    } catch {
      return null;
    }
  }
}
