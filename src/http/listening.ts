import type { Clock, Logger } from "../core/ports.ts";
import type { HttpServer } from "./server.ts";

/** Interval of retries for a port in use. */
const RETRY_MS = 15_000;

/** The agent's HTTP port. Collecting readings does not depend on it: a port in use is logged, and retried while the agent runs. */
export class Listening {
  readonly #http: HttpServer;
  readonly #explain: (error: unknown) => Error;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #failure: Error | null = null;

  constructor(parts: {
    readonly http: HttpServer;
    /** Names the setting to correct. */
    readonly explain: (error: unknown) => Error;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#http = parts.http;
    this.#explain = parts.explain;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** Why it does not listen; null while it does. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Opens the socket in DATA_DIR, and tries the port: `failure` then says whether it was free. */
  async open(): Promise<void> {
    await this.#http.listenLocally();
    await this.#try();
  }

  /** Until it listens, or aborted. */
  async run(signal: AbortSignal): Promise<void> {
    let told: string | null = null;
    while (!signal.aborted && this.#failure !== null) {
      // Only here: a port that is required is not tried again, and whoever asked for it says so.
      if (this.#failure.message !== told)
        this.#logger.error(
          { detail: this.#failure.message },
          "the HTTP server cannot listen; trying again",
        );
      told = this.#failure.message;
      await this.#clock.sleep(RETRY_MS, signal);
      if (!signal.aborted) await this.#try();
    }
  }

  async #try(): Promise<void> {
    try {
      const address = await this.#http.listen();
      if (this.#http.address !== null) this.#logger.info({ address }, "http listening");
      this.#failure = null;
    } catch (error) {
      this.#failure = this.#explain(error);
    }
  }
}
