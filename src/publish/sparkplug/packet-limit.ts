import type { Clock } from "../../core/ports.ts";
import { REMAINING_LENGTH_MAX } from "../packet-size.ts";

/** So many sessions in a row that end behind a packet of one and the same size: it is the packet. */
const LOSSES_MAX = 3;
/** Smaller packets are taken by every broker; what ended the session was something else. */
const SUSPECT_BYTES_MIN = 4_096;
/** A repeat differs from the first try in its flags and in the digits of its times. */
const SAME_WITHIN_BYTES = 64;
/** A limit learned this way is tried again after this long. */
const LEARNED_MS = 3_600_000;

/**
 * The largest packet the broker takes, where it does not say: MQTT 3.1.1 brokers hang up on a larger one, and sending it
 * again would end every session to come.
 */
export class PacketLimit {
  readonly #clock: Pick<Clock, "monotonic">;
  #suspectBytes = 0;
  #losses = 0;
  #learned: { readonly bytes: number; readonly untilMs: number } | null = null;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }
  get bytesMax(): number {
    if (this.#learned === null || this.#clock.monotonic() >= this.#learned.untilMs) {
      this.#learned = null;
      return REMAINING_LENGTH_MAX;
    }
    return this.#learned.bytes;
  }
  /** A session was lost with this as its largest unproven packet; true when a limit was learned from it. */
  lost(unprovenBytesMax: number): boolean {
    if (unprovenBytesMax < SUSPECT_BYTES_MIN) {
      this.#losses = 0;
      return false;
    }
    const isSame =
      this.#losses > 0 && Math.abs(unprovenBytesMax - this.#suspectBytes) <= SAME_WITHIN_BYTES;
    this.#losses = isSame ? this.#losses + 1 : 1;
    this.#suspectBytes = isSame ? Math.min(this.#suspectBytes, unprovenBytesMax) : unprovenBytesMax;
    if (this.#losses < LOSSES_MAX) return false;
    this.#learned = {
      bytes: this.#suspectBytes - 1,
      untilMs: this.#clock.monotonic() + LEARNED_MS,
    };
    this.#losses = 0;
    return true;
  }
}
