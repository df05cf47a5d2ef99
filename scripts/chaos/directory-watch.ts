import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const CHECK_MS = 250;
const MB = 1_048_576;

/** Watches DATA_DIR: what the agent keeps there stays below its limit, and no store is ever found damaged. */
export class DirectoryWatch {
  readonly faults: string[] = [];
  readonly #directory: string;
  readonly #limitMb: number;
  #timer: NodeJS.Timeout | undefined;
  #peakBytes = 0;

  constructor(directory: string, limitMb: number) {
    this.#directory = directory;
    this.#limitMb = limitMb;
  }
  start(): void {
    this.#timer = setInterval(() => this.#look(), CHECK_MS);
  }
  stop(): void {
    clearInterval(this.#timer);
    this.#look();
    const limitBytes = this.#limitMb * MB;
    if (this.#peakBytes > limitBytes) {
      this.faults.push(`the files took ${this.#peakBytes} bytes of ${limitBytes}`);
    }
    for (const name of this.#files()) {
      if (name.includes(".corrupt")) this.faults.push(`${name}: a store was set aside`);
    }
  }

  #files(): string[] {
    try {
      return readdirSync(this.#directory).filter((name) => name.startsWith("gateside"));
    } catch {
      return []; // Does not exist yet.
    }
  }
  #look(): void {
    let bytes = 0;
    for (const name of this.#files()) {
      bytes += statSync(join(this.#directory, name), { throwIfNoEntry: false })?.size ?? 0;
    }
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
  }
}
