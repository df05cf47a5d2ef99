/**
 * PINGREQ and PINGRESP matched in order, mqtt.js's own keep-alive pings among them, and the size of what was written
 * with QoS 0 since the last ping that was answered.
 */
export class PingQueue {
  /** One entry for each PINGREQ on the wire. */
  #awaited: {
    readonly onEnd: ((isAnswered: boolean) => void) | null;
    readonly bytesBefore: number;
  }[] = [];
  /** Set until the PINGREQ that was asked for is sent. */
  #next: ((isAnswered: boolean) => void) | null = null;
  /** Largest packet written since the last PINGREQ. */
  #bytesSince = 0;

  /** The next PINGREQ is asked by someone: `onEnd` is told when it is answered, or that it never will be. */
  ask(onEnd: (isAnswered: boolean) => void): void {
    this.#next = onEnd;
  }
  sent(): void {
    this.#awaited.push({ onEnd: this.#next, bytesBefore: this.#bytesSince });
    this.#next = null;
    this.#bytesSince = 0;
  }
  /** A PUBLISH of QoS 0 was written. */
  wrote(bytes: number): void {
    this.#bytesSince = Math.max(this.#bytesSince, bytes);
  }
  answered(): void {
    this.#awaited.shift()?.onEnd?.(true);
  }
  /** The session is over: nobody answers any more. */
  lose(): void {
    const awaited = this.#awaited.splice(0);
    const next = this.#next;
    this.#next = null;
    next?.(false);
    for (const { onEnd } of awaited) onEnd?.(false);
  }
  /** Largest packet that no answered PINGREQ followed: the first suspect where a broker hangs up; 0 for none. */
  get unprovenBytesMax(): number {
    return this.#awaited.reduce(
      (max, { bytesBefore }) => Math.max(max, bytesBefore),
      this.#bytesSince,
    );
  }
}
