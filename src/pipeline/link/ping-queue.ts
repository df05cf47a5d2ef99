/**
 * PINGREQ and PINGRESP matched in order, including mqtt.js's own keep-alive pings, and what was written with QoS 0
 * since the last answered ping.
 */
export class PingQueue {
  /** One entry for each PINGREQ on the wire. */
  #awaited: {
    readonly onEnd: ((isAnswered: boolean) => void) | null;
    readonly bytesBefore: number;
    readonly topicBefore: string | null;
  }[] = [];
  /** Set until the requested PINGREQ is sent. */
  #next: ((isAnswered: boolean) => void) | null = null;
  /** Largest packet written since the last PINGREQ. */
  #bytesSince = 0;
  /** Topic of the first of them. */
  #topicSince: string | null = null;

  /** The next PINGREQ has a requester: `onEnd` is called when it is answered, or when it never will be. */
  ask(onEnd: (isAnswered: boolean) => void): void {
    this.#next = onEnd;
  }
  sent(): void {
    this.#awaited.push({
      onEnd: this.#next,
      bytesBefore: this.#bytesSince,
      topicBefore: this.#topicSince,
    });
    this.#next = null;
    this.#bytesSince = 0;
    this.#topicSince = null;
  }
  /** A PUBLISH of QoS 0 was written. */
  wrote(topic: string, bytes: number): void {
    this.#topicSince ??= topic;
    this.#bytesSince = Math.max(this.#bytesSince, bytes);
  }
  answered(): void {
    this.#awaited.shift()?.onEnd?.(true);
  }
  /** The session is over: there will be no more responses. */
  lose(): void {
    const awaited = this.#awaited.splice(0);
    const next = this.#next;
    this.#next = null;
    next?.(false);
    for (const { onEnd } of awaited) onEnd?.(false);
  }
  /** Topic of the first packet that no answered PINGREQ followed; null for none. */
  get unprovenTopic(): string | null {
    const before = this.#awaited.find(({ topicBefore }) => topicBefore !== null);
    return before?.topicBefore ?? this.#topicSince;
  }
  /** Largest packet that no answered PINGREQ followed: the first suspect if a broker disconnects; 0 for none. */
  get unprovenBytesMax(): number {
    return this.#awaited.reduce(
      (max, { bytesBefore }) => Math.max(max, bytesBefore),
      this.#bytesSince,
    );
  }
}
