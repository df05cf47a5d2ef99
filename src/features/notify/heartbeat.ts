/** A sign of life for a watch elsewhere: when it stops coming, the box is dead, off, or cut off. */
import { request } from "undici";
import type { NotificationState } from "../../core/agent-status.ts";
import type { Runtime } from "../../core/ports.ts";
import { withinMs } from "../../lib/time-limit.ts";
import { splitLogin } from "./address.ts";
import { failureKind } from "./delivery.ts";

const CALL_TIMEOUT_MS = 20_000;

export interface HeartbeatParts extends Runtime {
  /** May hold `user:password@`, sent as Basic. */
  readonly url: string;
  readonly everyMs: number;
  /** Whether loop and database work; without that there is no sign of life. */
  readonly isAlive: () => boolean;
}

export class Heartbeat {
  readonly #parts: HeartbeatParts;
  #failure: string | null = null;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  get state(): NotificationState {
    return { name: "heartbeat", lastError: this.#failure };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs, isAlive, logger } = this.#parts;
    while (!signal.aborted) {
      if (isAlive()) {
        const before = this.#failure;
        this.#failure = await this.test(signal);
        if (signal.aborted) return;
        if (before === null && this.#failure !== null)
          logger.warn({ detail: this.#failure }, "heartbeat failed; trying again");
        if (before !== null && this.#failure === null) logger.info({}, "heartbeat works again");
      }
      await clock.sleep(everyMs, signal);
    }
  }

  /** One request; null if it was answered with 2xx. */
  async test(signal: AbortSignal): Promise<string | null> {
    try {
      const { target, headers } = splitLogin(this.#parts.url);
      const status = await withinMs(signal, CALL_TIMEOUT_MS, async (limited) => {
        const { statusCode, body } = await request(target, { headers, signal: limited });
        await body.dump();
        return statusCode;
      });
      return status >= 200 && status < 300 ? null : `the server returned HTTP ${status}`;
    } catch (error) {
      return failureKind(error);
    }
  }
}
