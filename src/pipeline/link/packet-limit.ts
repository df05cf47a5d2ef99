import { REMAINING_LENGTH_MAX } from "../../core/delivery/link.ts";
import type { Clock } from "../../core/ports.ts";
import { HOUR_MS } from "../../core/time-units.ts";

/** This many consecutive sessions that end after a packet of the same size: the packet is the cause. */
const LOSSES_MAX = 3;
/** Every broker accepts smaller packets; another cause ended the session. */
const SUSPECT_BYTES_MIN = 4_096;
/** A repeat differs from the first attempt in its flags and in the digits of its times. */
const SAME_WITHIN_BYTES = 64;
/** A limit learned this way is retested after this long. */
const LEARNED_MS = HOUR_MS;

/**
 * The largest packet the broker accepts, if it does not announce a limit but ends the session on a larger packet:
 * sending that again would end every future session. Learned from an MQTT 5 DISCONNECT with that reason, or from
 * sessions that end silently after the same QoS 0 packet. (With QoS 1 the session itself finds the message: see
 * `MqttSession`.)
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

  /** The broker reported that a packet was too large; `largestBytes` is the largest unanswered one. */
  refused(largestBytes: number): void {
    if (largestBytes > 0) this.#learn(largestBytes - 1);
  }

  /**
   * The broker ended a session silently, with this as its largest unproven packet (0 for none); true if a limit was
   * learned from it.
   */
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
    this.#learn(this.#suspectBytes - 1);
    this.#losses = 0;
    return true;
  }

  #learn(bytes: number): void {
    this.#learned = { bytes, untilMs: this.#clock.monotonic() + LEARNED_MS };
  }
}
