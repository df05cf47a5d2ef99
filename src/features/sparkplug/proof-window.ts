import type { OutboxEntry } from "../../core/delivery/delivery.ts";

export type SparkplugLane = "sparkplug" | "sparkplugWaveform";

/** One message that was passed to the link, and the entries that it completed. */
interface Sent {
  readonly lane: SparkplugLane;
  readonly entries: readonly OutboxEntry[];
  readonly atMs: number;
}

/**
 * QoS 0 has no receipt. A written message is unproven until the broker has answered something requested after it. With
 * a primary host, proven messages are held for a while: a host that died may have lost what the broker sent it last,
 * and its STATE says so only later. Messages that were unproven or held when that happened are sent again, as
 * historical.
 */
export class ProofWindow {
  readonly #holdMs: number;
  readonly #holdMax: number;
  #open: Sent[] = [];
  #held: Sent[] = [];
  #heldEntries = 0;
  readonly #again = new Set<string>();
  /** When an entry was first proven: a link that flaps must not restart its holding time forever. */
  readonly #provenAtMs = new Map<string, number>();

  /** `holdMs` 0: proven is delivered. `holdMax` limits the held entries. */
  constructor(holdMs: number, holdMax: number) {
    this.#holdMs = holdMs;
    this.#holdMax = holdMax;
  }
  /** Messages not proven yet. */
  get messages(): number {
    return this.#open.length;
  }
  /** Monotonic ms at which the oldest unproven was written; null if there is none. */
  get oldestAtMs(): number | null {
    return this.#open[0]?.atMs ?? null;
  }
  add(lane: SparkplugLane, entries: readonly OutboxEntry[], atMs: number): void {
    this.#open.push({ lane, entries, atMs });
  }
  /** The first `count` messages are proven to have reached the broker. */
  prove(count: number, nowMs: number): void {
    for (const sent of this.#open.splice(0, count)) {
      for (const entry of sent.entries) {
        const name = key(sent.lane, entry);
        if (!this.#provenAtMs.has(name)) this.#provenAtMs.set(name, nowMs);
      }
      this.#held.push(sent);
      this.#heldEntries += sent.entries.length;
    }
  }
  /** What counts as delivered by now, by lane; `isLeaving`: nothing is held back any more. */
  delivered(nowMs: number, isLeaving = false): Map<SparkplugLane, OutboxEntry[]> {
    const byLane = new Map<SparkplugLane, OutboxEntry[]>();
    for (;;) {
      const sent = this.#held[0];
      if (!sent) break;
      // One that was leased again while a former message of it was held is known no more: that one has been delivered.
      const provenAtMs = sent.entries.map(
        (entry) => this.#provenAtMs.get(key(sent.lane, entry)) ?? Number.NEGATIVE_INFINITY,
      );
      const isDue = isLeaving || nowMs - Math.max(...provenAtMs) >= this.#holdMs;
      if (!isDue && this.#heldEntries <= this.#holdMax) break;
      this.#held.shift();
      this.#heldEntries -= sent.entries.length;
      const entries = byLane.get(sent.lane) ?? [];
      for (const entry of sent.entries) {
        entries.push(entry);
        this.#again.delete(key(sent.lane, entry));
        this.#provenAtMs.delete(key(sent.lane, entry));
      }
      byLane.set(sent.lane, entries);
    }
    return byLane;
  }
  /** The connection broke, or the host went offline: everything left here may or may not have arrived. */
  lose(hasHostLeft: boolean): void {
    // Proof for a host that died is worthless.
    if (hasHostLeft) this.#provenAtMs.clear();
    for (const { lane, entries } of [...this.#held, ...this.#open]) {
      for (const entry of entries) this.#again.add(key(lane, entry));
    }
    this.#open = [];
    this.#held = [];
    this.#heldEntries = 0;
  }
  /** A host missed something: everything left here is sent again, as historical. */
  doubt(): Map<SparkplugLane, OutboxEntry[]> {
    const byLane = new Map<SparkplugLane, OutboxEntry[]>();
    for (const { lane, entries } of [...this.#held, ...this.#open]) {
      byLane.set(lane, [...(byLane.get(lane) ?? []), ...entries]);
    }
    this.lose(true);
    return byLane;
  }
  /** True for an entry that may have arrived before: it is sent as historical even if the outbox calls it live. */
  isRepeat(lane: SparkplugLane, entry: OutboxEntry): boolean {
    return this.#again.has(key(lane, entry));
  }
}

const key = (lane: SparkplugLane, entry: OutboxEntry) => `${lane} ${entry.reading.seq}`;
