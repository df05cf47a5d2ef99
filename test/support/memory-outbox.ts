import type {
  DeliveryOutcome,
  Lane,
  LaneDepth,
  Outbox,
  OutboxEntry,
  StoredReading,
} from "../../src/core/ports.ts";

interface LaneRows {
  /** By seq; kept in order of seq. */
  pending: Map<number, StoredReading>;
  readonly leased: Map<number, StoredReading>;
  readonly parked: Map<number, StoredReading>;
  /** Newest pending reading of each sensor and kind that may go live. */
  readonly candidates: Map<string, StoredReading>;
  readonly marks: Map<string, number>;
  readonly waiting: Set<() => void>;
}

/** Our own port by hand, in memory: one queue per lane, with what tests need to look at. */
export class MemoryOutbox implements Outbox {
  readonly #lanes = new Map<Lane, LaneRows>();
  /** Every outcome in order. */
  readonly settled: { lane: Lane; entry: OutboxEntry; outcome: DeliveryOutcome }[] = [];
  /** Set to make the next settlement fail, as a full disk does. */
  failure: Error | null = null;

  add(lane: Lane, readings: readonly StoredReading[]): void {
    const rows = this.#lane(lane);
    for (const reading of readings) this.#pend(rows, reading);
    this.#notify(rows);
  }

  lease(lane: Lane, which: "live" | "backlog", max: number): OutboxEntry[] {
    const rows = this.#lane(lane);
    const entries: OutboxEntry[] = [];
    const from = which === "live" ? rows.candidates.values() : rows.pending.values();
    for (const reading of from) {
      if (entries.length === max) break;
      rows.pending.delete(reading.seq);
      rows.leased.set(reading.seq, reading);
      const key = `${reading.sensor} ${reading.kind}`;
      if (rows.candidates.get(key) === reading) rows.candidates.delete(key);
      if (which === "live") rows.marks.set(key, reading.timeMs);
      entries.push({ reading, live: which === "live" });
    }
    return entries;
  }

  settle(
    lane: Lane,
    outcomes: readonly { readonly entry: OutboxEntry; readonly outcome: DeliveryOutcome }[],
  ): Promise<void> {
    if (this.failure) {
      const failure = this.failure;
      this.failure = null;
      return Promise.reject(failure);
    }
    const rows = this.#lane(lane);
    for (const { entry, outcome } of outcomes) {
      const { reading } = entry;
      this.settled.push({ lane, entry, outcome });
      if (!rows.leased.delete(reading.seq)) continue;
      if (outcome === "kept") this.#pend(rows, reading);
      else if (outcome === "refused" || outcome === "oversize") {
        rows.parked.set(reading.seq, reading);
      }
    }
    this.#notify(rows);
    return Promise.resolve();
  }

  release(lane: Lane): void {
    this.#unhold(lane, "leased");
  }

  unpark(lane: Lane): void {
    this.#unhold(lane, "parked");
  }

  #unhold(lane: Lane, which: "leased" | "parked"): void {
    const rows = this.#lane(lane);
    for (const reading of rows[which].values()) this.#pend(rows, reading);
    rows[which].clear();
    rows.pending = new Map([...rows.pending].sort(([a], [b]) => a - b));
    this.#notify(rows);
  }

  #pend(rows: LaneRows, reading: StoredReading): void {
    rows.pending.set(reading.seq, reading);
    const key = `${reading.sensor} ${reading.kind}`;
    const newest = rows.candidates.get(key)?.timeMs ?? rows.marks.get(key) ?? -Infinity;
    if (reading.timeMs > newest) rows.candidates.set(key, reading);
  }

  changed(lane: Lane, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const { waiting } = this.#lane(lane);
      const done = () => {
        waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  depth(lane: Lane): LaneDepth {
    const { pending, leased, parked } = this.#lane(lane);
    const [first] = pending.values();
    return {
      readings: pending.size + leased.size + parked.size,
      oldestTimeMs: first?.timeMs ?? null,
    };
  }

  #lane(lane: Lane): LaneRows {
    let rows = this.#lanes.get(lane);
    if (!rows) {
      rows = {
        pending: new Map(),
        leased: new Map(),
        parked: new Map(),
        candidates: new Map(),
        marks: new Map(),
        waiting: new Set(),
      };
      this.#lanes.set(lane, rows);
    }
    return rows;
  }

  #notify(rows: LaneRows): void {
    for (const done of rows.waiting) done();
  }
}

/** A stored reading with plain members; each call may override what matters. */
export function storedReading(seq: number, overrides: Partial<StoredReading> = {}): StoredReading {
  return {
    seq,
    id: seq.toString(16).padStart(32, "0"),
    sensor: "30007",
    kind: "loop",
    timeMs: Date.parse("2026-11-20T12:00:00Z") + seq * 1000,
    offsetMinutes: null,
    storedAtMs: 0,
    values: `{"channel1":${seq}}`,
    units: '{"channel1":"bar"}',
    quality: "{}",
    attributes: "{}",
    raw: "{}",
    waveforms: [],
    ...overrides,
  };
}
