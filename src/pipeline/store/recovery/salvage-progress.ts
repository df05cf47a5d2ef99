import type { Clock, Logger } from "../../../core/ports.ts";

/** Progress is reported this often, ms, so that systemd's watchdog does not end a salvage that advances. */
const EXTEND_EVERY_MS = 1_000;
const LOG_MS = 10_000;

/** Copying a damaged store blocks the event loop for as long as the disk takes: this shows that it does not hang. */
export class SalvageProgress {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onProgress: () => void;
  readonly #path: string;
  #rows = 0;
  #extendedAt: number;
  #loggedAt: number;

  constructor(
    path: string,
    parts: { readonly clock: Clock; readonly logger: Logger; readonly onProgress: () => void },
  ) {
    this.#path = path;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#onProgress = parts.onProgress;
    this.#extendedAt = parts.clock.monotonic();
    this.#loggedAt = this.#extendedAt;
    this.#onProgress();
  }

  /** This many more rows are copied, or a step without rows is done. */
  step(table: string, rows: number): void {
    this.#rows += rows;
    const now = this.#clock.monotonic();
    if (now - this.#extendedAt < EXTEND_EVERY_MS) return;
    this.#extendedAt = now;
    this.#onProgress();
    if (now - this.#loggedAt < LOG_MS) return;
    this.#loggedAt = now;
    const where = { path: this.#path, table, rows: this.#rows };
    this.#logger.info(where, "copying what can be read from the damaged database");
  }
}
