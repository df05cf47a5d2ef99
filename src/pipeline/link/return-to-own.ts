/** The client's own address of a cluster: a session at another one is left once that is reachable. */
import { acceptsConnections } from "../../lib/accepts-connections.ts";
import type { Addresses } from "./addresses.ts";
import {
  CLOSE_DISCONNECT_MS,
  CLOSE_INFLIGHT_MS,
  type MqttLinkOptions,
  type MqttLinkParts,
  now,
} from "./link-options.ts";
import type { MqttSession } from "./mqtt-session.ts";
import { BACKOFF_MIN_MS } from "./session-history.ts";
import { BROKER_PORTS, openTunnel } from "./tunnel.ts";

/** Between two tries of the own address while another one is in use; more if it accepts connections but no session. */
const OWN_CHECK_MS = 30_000;
const OWN_CHECK_MAX_MS = 600_000;
const REACH_MS = 5_000;

export class ReturnToOwn {
  readonly #parts: Pick<MqttLinkParts, "clock" | "logger">;
  readonly #options: MqttLinkOptions;
  readonly #addresses: Addresses;
  #checkMs: number;
  #isReturning = false;

  constructor(
    parts: Pick<MqttLinkParts, "clock" | "logger">,
    options: MqttLinkOptions,
    addresses: Addresses,
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#addresses = addresses;
    this.#checkMs = options.ownCheckMs ?? OWN_CHECK_MS;
  }

  /** A session has begun there. */
  reached(): void {
    this.#checkMs = this.#options.ownCheckMs ?? OWN_CHECK_MS;
  }

  /** Whether the session that has ended was left for it; it is the current address then. */
  isNext(): boolean {
    if (!this.#isReturning) return false;
    this.#isReturning = false;
    this.#addresses.returnToOwn();
    // Until a session there has lasted, the next try is later.
    this.#checkMs = Math.min(OWN_CHECK_MAX_MS, 2 * this.#checkMs);
    return true;
  }

  /**
   * Leaves the session once it is reachable, after a random wait: all boxes that lost that broker see it return in the
   * same half minute.
   */
  async watch(session: MqttSession, ended: AbortSignal, isClosing: () => boolean): Promise<void> {
    const { clock, logger } = this.#parts;
    while (!ended.aborted) {
      await clock.sleep(this.#checkMs, ended);
      const { own } = this.#addresses;
      if (ended.aborted || own === null) return;
      if (!(await isReachable(own.url, this.#options.proxy))) continue;
      await clock.sleep(Math.random() * (this.#options.backoffMinMs ?? BACKOFF_MIN_MS), ended);
      // Nothing in flight, so that nothing is sent twice; a backlog does not hold it up for long.
      const until = clock.monotonic() + CLOSE_INFLIGHT_MS;
      while (session.inflight > 0 && clock.monotonic() < until) await clock.sleep(10, ended);
      if (ended.aborted || isClosing()) return;
      logger.info({ link: this.#options.name, url: own.shown }, "returning to the own address");
      this.#isReturning = true;
      await session.disconnect(CLOSE_DISCONNECT_MS, false, null);
    }
  }
}

/** Whether something accepts connections there, or the proxy reaches it. */
export async function isReachable(url: string, proxy?: string | (() => string)): Promise<boolean> {
  if (proxy !== undefined) {
    try {
      (await openTunnel(now(proxy), url, REACH_MS)).destroy();
      return true;
    } catch {
      return false;
    }
  }
  const { protocol, hostname, port } = new URL(url);
  return acceptsConnections(
    hostname.replace(/^\[(.*)\]$/, "$1"),
    port === "" ? (BROKER_PORTS[protocol] ?? 0) : Number(port),
    REACH_MS,
  );
}
