import type {
  DeliveryOutcome,
  Lane,
  LaneDepth,
  Outbox,
  OutboxEntry,
  StoredReading,
} from "../../src/core/ports.ts";

interface Row {
  readonly reading: StoredReading;
  state: "pending" | "leased" | "refused" | "oversize";
  refusals: number;
}

/** Our own port by hand, in memory: one queue per lane, with what tests need to look at. */
export class MemoryOutbox implements Outbox {
  readonly #rows = new Map<Lane, Map<number, Row>>();
  readonly #marks = new Map<string, number>();
  readonly #waiting = new Map<Lane, Set<() => void>>();
  /** Every outcome in order. */
  readonly settled: { lane: Lane; entry: OutboxEntry; outcome: DeliveryOutcome }[] = [];
  /** Set to make the next settlements fail, as a full disk does. */
  failure: Error | null = null;
  leases = 0;

  add(lane: Lane, readings: readonly StoredReading[]): void {
    const rows = this.#lane(lane);
    for (const reading of readings)
      rows.set(reading.seq, { reading, state: "pending", refusals: 0 });
    this.#notify(lane);
  }

  lease(lane: Lane, which: "live" | "backlog", max: number): OutboxEntry[] {
    this.leases += 1;
    const entries: OutboxEntry[] = [];
    const newest = new Map<string, Row>();
    if (which === "live") {
      for (const row of this.#lane(lane).values()) {
        const { sensor, kind, timeMs } = row.reading;
        const key = `${lane} ${sensor} ${kind}`;
        if (row.state !== "pending" || timeMs <= (this.#marks.get(key) ?? -Infinity)) continue;
        if (timeMs > (newest.get(key)?.reading.timeMs ?? -Infinity)) newest.set(key, row);
      }
      for (const [key, row] of newest) {
        if (entries.length === max) break;
        row.state = "leased";
        this.#marks.set(key, row.reading.timeMs);
        entries.push({ reading: row.reading, live: true });
      }
      return entries;
    }
    for (const row of this.#lane(lane).values()) {
      if (entries.length === max) break;
      if (row.state !== "pending") continue;
      row.state = "leased";
      entries.push({ reading: row.reading, live: false });
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
      this.settled.push({ lane, entry, outcome });
      const row = rows.get(entry.reading.seq);
      if (!row) continue;
      if (outcome === "sent" || outcome === "skipped") rows.delete(entry.reading.seq);
      else if (outcome === "kept") row.state = "pending";
      else {
        row.state = outcome;
        row.refusals += 1;
      }
    }
    if (outcomes.some(({ outcome }) => outcome === "kept")) this.#notify(lane);
    return Promise.resolve();
  }

  release(lane: Lane): void {
    for (const row of this.#lane(lane).values()) if (row.state === "leased") row.state = "pending";
    this.#notify(lane);
  }

  unpark(lane: Lane): void {
    for (const row of this.#lane(lane).values()) {
      if (row.state === "refused" || row.state === "oversize") row.state = "pending";
    }
    this.#notify(lane);
  }

  changed(lane: Lane, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const waiting = this.#waiting.get(lane) ?? new Set();
      this.#waiting.set(lane, waiting);
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
    const times = [...this.#lane(lane).values()].map((row) => row.reading.timeMs);
    return { readings: times.length, oldestTimeMs: times.length ? Math.min(...times) : null };
  }

  #lane(lane: Lane): Map<number, Row> {
    const rows = this.#rows.get(lane) ?? new Map<number, Row>();
    this.#rows.set(lane, rows);
    return rows;
  }

  #notify(lane: Lane): void {
    for (const done of this.#waiting.get(lane) ?? []) done();
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
