import { keptTopics, parsedObject } from "../../core/parsed-json.ts";
import type { Logger, Runtime } from "../../core/ports.ts";
import { trySave } from "../../lib/try-save.ts";

/** By id: the topics at which something may be retained. */
export type Recorded = Readonly<Record<string, readonly string[]>>;

/** Survives the process; may throw if the disk does not accept it. */
export interface RecordMemory {
  load(): string | null;
  readonly save: (text: string) => void;
}

/** What may be retained about machines, in memory and on disk. */
export class RecordedTopics {
  readonly #memory: RecordMemory;
  readonly #logger: Logger;
  readonly #trySave: (text: string) => boolean;
  #current: Recorded | null = null;
  #saved = "";

  constructor(memory: RecordMemory, runtime: Runtime) {
    this.#memory = memory;
    this.#logger = runtime.logger;
    this.#trySave = trySave(runtime, memory.save, "machines wait until the store is writable");
  }

  get current(): Recorded {
    return this.#current ?? this.#load();
  }

  #load(): Recorded {
    try {
      const text = this.#memory.load();
      this.#saved = text ?? "";
      const entries = Object.entries(parsedObject(text ?? "{}") ?? {});
      return Object.fromEntries(entries.map(([id, topics]) => [id, keptTopics(topics)]));
    } catch (err) {
      this.#logger.warn({ err }, "previously published machines are unknown");
      return {};
    }
  }

  /** False if the disk does not accept it: nothing is published that could not be cleared. */
  save(recorded: Recorded): boolean {
    const text = JSON.stringify(recorded);
    if (text !== this.#saved && (this.#saved !== "" || text !== "{}")) {
      if (!this.#trySave(text)) return false;
      this.#saved = text;
    }
    this.#current = recorded;
    return true;
  }
}

/** Both: what is retained already and what is about to be. */
export function merged(before: Recorded, now: Recorded): Recorded {
  const ids = new Set([...Object.keys(before), ...Object.keys(now)]);
  return Object.fromEntries(
    [...ids].map((id) => [id, [...new Set([...(before[id] ?? []), ...(now[id] ?? [])])]]),
  );
}
