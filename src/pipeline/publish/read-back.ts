/**
 * Whether the broker passes our own `agent/state` on. MQTT 3.1.1 acknowledges without a reason, and brokers acknowledge
 * what they refuse (mosquitto does). A client that may not read learns nothing by it; but where the broker sends us the
 * state that it has retained, and then not the one that we publish, we may read there and not write.
 */
import type { Message } from "../../core/message.ts";
import type { Clock } from "../../core/ports.ts";
import type { RetainedReader } from "./retained-query.ts";

/** Longest way of a message to the broker and back, ms. */
const BACK_MS = 15_000;
/** While it is lost our state is repeated at this interval, ms: rights may be corrected meanwhile. */
const REPEAT_MS = 60_000;

export class ReadBack implements RetainedReader {
  readonly #marker: string | null;
  readonly #clock: Pick<Clock, "monotonic">;
  /** In this session. */
  #mayRead = false;
  #awaited: {
    readonly payload: string;
    readonly since: number;
    readonly sentAt: number;
  } | null = null;

  /** @param marker the topic of the agent's state; null if nothing is read back */
  constructor(marker: string | null, clock: Pick<Clock, "monotonic">) {
    this.#marker = marker;
    this.#clock = clock;
  }

  begin(): string | null {
    this.#mayRead = false;
    this.#awaited = null;
    return this.#marker;
  }
  received(): void {}
  async look(): Promise<void> {}

  /** Our own state, before it is published. */
  sending(messages: readonly Message[]): void {
    const own = messages.find(({ topic }) => topic === this.#marker);
    if (own === undefined) return;
    const sentAt = this.#clock.monotonic();
    const { since } = this.#awaited ?? { since: sentAt };
    this.#awaited = { payload: String(own.payload), since, sentAt };
  }

  /** Every inbound message. */
  heard(topic: string, payload: Uint8Array): void {
    if (topic !== this.#marker || payload.length === 0) return;
    this.#mayRead = true;
    if (Buffer.from(payload).toString() === this.#awaited?.payload) this.#awaited = null;
  }

  /** The topic to which our publishes are acknowledged, and lost; null if there is none. */
  get lostAt(): string | null {
    if (!this.#mayRead || this.#awaited === null) return null;
    return this.#clock.monotonic() - this.#awaited.since > BACK_MS ? this.#marker : null;
  }

  /** True if our own state is to be published again now. */
  get isRepeatDue(): boolean {
    const sentAt = this.#awaited?.sentAt ?? Number.POSITIVE_INFINITY;
    return this.lostAt !== null && this.#clock.monotonic() - sentAt >= REPEAT_MS;
  }
}
