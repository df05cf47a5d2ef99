import { ownAddress } from "../core/addresses/own-address.ts";
import type { Clock, Logger } from "../core/ports.ts";
import { messageOf } from "../core/thrown.ts";
import { HOUR_MS } from "../core/time-units.ts";
import { acceptsConnections } from "../lib/accepts-connections.ts";
import { Backoff } from "../lib/backoff.ts";
import { type BrokerAddress, publicBroker } from "./broker-url.ts";
import { brokerText } from "./unreached.ts";

const RETRY_MIN_MS = 500;
/** Between two tries of the own address while another one is in use; doubled while it accepts connections but no session, ms. */
const OWN_MS = 30_000;
const OWN_MAX_MS = HOUR_MS;
const CHECK_MS = 5000;

interface ClusterTimes {
  readonly ownMs?: number;
  /** Before the own address is taken again, at most; three times that between attempts while no address answers, ms. */
  readonly spreadMs: number;
}

/**
 * One session after another with a broker cluster. A failure is logged, and the next attempt uses the next address. The
 * first one is the client's own, which its client id chooses; it is taken again once it can be reached.
 */
export class ClusterSessions {
  readonly #addresses: readonly BrokerAddress[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ownMs: number;
  readonly #spreadMs: number;
  #own: number | null = null;
  #index = 0;
  #pauseMs: number;

  constructor(
    addresses: readonly BrokerAddress[],
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
    { ownMs = OWN_MS, spreadMs }: ClusterTimes,
  ) {
    this.#addresses = addresses;
    this.#clock = clock;
    this.#logger = logger;
    this.#ownMs = ownMs;
    this.#spreadMs = spreadMs;
    this.#pauseMs = ownMs;
  }

  /** Before the first attempt; later calls change nothing. */
  beginAtOwn(clientId: string): void {
    if (this.#own !== null) return;
    this.#own = ownAddress(clientId, this.#addresses.length);
    this.#index = this.#own;
  }

  /** The address of the current session. */
  get address(): BrokerAddress {
    return this.#at(this.#index);
  }

  #at(index: number): BrokerAddress {
    const address = this.#addresses[index];
    if (address === undefined) throw new Error("no broker is given");
    return address;
  }

  /**
   * @param session runs until its connection ends or its signal aborts, and calls `onOpen` once it is open
   */
  async run(
    session: (onOpen: () => void, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const backoff = new Backoff(RETRY_MIN_MS, 3 * this.#spreadMs);
    while (!signal.aborted) {
      const leaving = new AbortController();
      const ending = AbortSignal.any([signal, leaving.signal]);
      const onOpen = () => {
        backoff.reset();
        if (this.#index === this.#own) this.#pauseMs = this.#ownMs;
        else void this.#leaveForOwn(leaving, ending);
      };
      try {
        await session(onOpen, ending);
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn(
          { broker: publicBroker(this.address), error: brokerText(messageOf(error)) },
          "no connection to the broker",
        );
        if (!leaving.signal.aborted) this.#index = (this.#index + 1) % this.#addresses.length;
      } finally {
        leaving.abort();
      }
      await this.#clock.sleep(signal.aborted ? 0 : backoff.next(), signal);
    }
  }

  /** Ends the session once the own address accepts connections. */
  async #leaveForOwn(leaving: AbortController, signal: AbortSignal): Promise<void> {
    if (this.#own === null) return;
    const own = this.#at(this.#own);
    do await this.#clock.sleep(this.#pauseMs, signal);
    while (!signal.aborted && !(await acceptsConnections(own.host, own.port, CHECK_MS)));
    await this.#clock.sleep(Math.random() * this.#spreadMs, signal);
    if (signal.aborted) return;
    this.#pauseMs = Math.min(this.#pauseMs * 2, OWN_MAX_MS);
    this.#index = this.#own;
    this.#logger.info({ broker: publicBroker(own) }, "returning to the collector's own address");
    leaving.abort();
  }
}
