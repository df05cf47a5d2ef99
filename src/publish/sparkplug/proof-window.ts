import type { OutboxEntry } from "../../core/delivery.ts";

export type SparkplugLane = "sparkplug" | "sparkplugWaveform";

/** One message that was handed to the link and the entries that were whole with it. */
interface Sent {
  readonly lane: SparkplugLane;
  readonly entries: readonly OutboxEntry[];
  readonly atMs: number;
}

/**
 * QoS 0 has no receipt. What was written is unproven until the broker answered something that was asked after it. With a
 * primary host, what is proven is held a while longer: a host that died takes what the broker handed it last with it, and
 * its STATE says so only later. What was unproven or held when that happened goes out again, as historical.
 */
export class ProofWindow {
  readonly #holdMs: number;
  readonly #holdMax: number;
  #open: Sent[] = [];
  #held: Sent[] = [];
  #heldEntries = 0;
  readonly #again = new Set<string>();
  /** When an entry was first proven: a link that flaps must not start its time anew for ever. */
  readonly #provenAtMs = new Map<string, number>();

  /** `holdMs` 0: proven is delivered. `holdMax` bounds what is held, in entries. */
  constructor(holdMs: number, holdMax: number) {
    this.#holdMs = holdMs;
    this.#holdMax = holdMax;
  }
  /** Messages not proven yet. */
  get messages(): number {
    return this.#open.length;
  }
  /** Monotonic ms at which the oldest unproven was written; null when there is none. */
  get oldestAtMs(): number | null {
    return this.#open[0]?.atMs ?? null;
  }
  add(lane: SparkplugLane, entries: readonly OutboxEntry[], atMs: number): void {
    this.#open.push({ lane, entries, atMs });
  }
  /** The first `count` messages are known to have arrived at the broker. */
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
      const provenAtMs = sent.entries.map(
        (entry) => this.#provenAtMs.get(key(sent.lane, entry)) ?? nowMs,
      );
      const isDue = isLeaving || nowMs - Math.max(0, ...provenAtMs) >= this.#holdMs;
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
  /** The link broke, or the host went: everything left here may or may not have arrived. */
  lose(hasHostLeft: boolean): void {
    // Proof to a host that died is none.
    if (hasHostLeft) this.#provenAtMs.clear();
    for (const { lane, entries } of [...this.#held, ...this.#open]) {
      for (const entry of entries) this.#again.add(key(lane, entry));
    }
    this.#open = [];
    this.#held = [];
    this.#heldEntries = 0;
  }
  /** A host missed something: all that is left here goes out again, as historical. */
  doubt(): Map<SparkplugLane, OutboxEntry[]> {
    const byLane = new Map<SparkplugLane, OutboxEntry[]>();
    for (const { lane, entries } of [...this.#held, ...this.#open]) {
      byLane.set(lane, [...(byLane.get(lane) ?? []), ...entries]);
    }
    this.lose(true);
    return byLane;
  }
  /** True for an entry that may have arrived before: it goes out as historical whatever the outbox says. */
  isRepeat(lane: SparkplugLane, entry: OutboxEntry): boolean {
    return this.#again.has(key(lane, entry));
  }
}

const key = (lane: SparkplugLane, entry: OutboxEntry) => `${lane} ${entry.reading.seq}`;
