import type { Clock, Logger } from "../core/ports.ts";

/** Who waits for the process is told this often that it gets on, ms: systemd's watchdog, above all. */
const TELL_MS = 1_000;
const LOG_MS = 10_000;

/** Copying a damaged store holds the event loop for as long as the disk takes: what proves that it is no hang. */
export class SalvageProgress {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onProgress: () => void;
  readonly #path: string;
  #rows = 0;
  #toldAt: number;
  #loggedAt: number;

  constructor(
    path: string,
    parts: { readonly clock: Clock; readonly logger: Logger; readonly onProgress: () => void },
  ) {
    this.#path = path;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#onProgress = parts.onProgress;
    this.#toldAt = parts.clock.monotonic();
    this.#loggedAt = this.#toldAt;
    this.#onProgress();
  }

  /** So many rows more are through, or a step that has no rows. */
  step(table: string, rows: number): void {
    this.#rows += rows;
    const now = this.#clock.monotonic();
    if (now - this.#toldAt < TELL_MS) return;
    this.#toldAt = now;
    this.#onProgress();
    if (now - this.#loggedAt < LOG_MS) return;
    this.#loggedAt = now;
    const where = { path: this.#path, table, rows: this.#rows };
    this.#logger.info(where, "saving what reads of the damaged database");
  }
}
