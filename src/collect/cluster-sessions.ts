import type { Clock, Logger } from "../core/ports.ts";
import { Backoff } from "../lib/backoff.ts";
import { type BrokerAddress, publicBroker } from "./broker-url.ts";
import { messageOf } from "./database/failure.ts";

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;

/** One session after another with a broker cluster. A failure is logged, and the next attempt uses the next address. */
export class ClusterSessions {
  readonly #addresses: readonly BrokerAddress[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  #index = 0;

  constructor(
    addresses: readonly BrokerAddress[],
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#addresses = addresses;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The address of the current session. */
  get address(): BrokerAddress {
    const address = this.#addresses[this.#index % this.#addresses.length];
    if (address === undefined) throw new Error("no broker is given");
    return address;
  }

  /** @param session runs until its connection ends, and calls `onOpen` once it is open */
  async run(session: (onOpen: () => void) => Promise<void>, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    while (!signal.aborted) {
      try {
        await session(() => backoff.reset());
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn(
          { broker: publicBroker(this.address), error: messageOf(error) },
          "no connection to the broker",
        );
        this.#index += 1;
      }
      await this.#clock.sleep(signal.aborted ? 0 : backoff.next(), signal);
    }
  }
}
