import type { Logger } from "../../../core/ports.ts";
import type { Meta } from "../database/meta.ts";

export interface KeptTextParts {
  readonly memory: Pick<Meta, "get" | "set">;
  readonly logger: Logger;
}

/** A text among the small values of the store that follows the site file. */
export class KeptText {
  readonly #parts: KeptTextParts;
  readonly #name: string;
  readonly #what: string;
  #kept: string;

  /** @param empty while nothing is kept @param what it holds, for the log */
  constructor(parts: KeptTextParts, name: string, empty: string, what: string) {
    this.#parts = parts;
    this.#name = name;
    this.#what = what;
    this.#kept = parts.memory.get(name) ?? empty;
  }

  /** As the store has it; damaged text is the reader's affair. */
  get text(): string {
    return this.#kept;
  }

  /** Never throws: on a full disk the next change, or the next start, keeps it. */
  keep(text: string): void {
    if (text === this.#kept) return;
    try {
      this.#parts.memory.set(this.#name, text);
      this.#kept = text;
    } catch (err) {
      this.#parts.logger.warn({ err }, `${this.#what} could not be kept`);
    }
  }
}
