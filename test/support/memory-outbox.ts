import type {
  DeliveryOutcome,
  Lane,
  LaneDepth,
  OutboxEntry,
} from "../../src/core/delivery/delivery.ts";
import { isEvent } from "../../src/core/delivery/event-kind.ts";
import type { Clock, Outbox } from "../../src/core/ports.ts";
import type { StoredReading } from "../../src/core/stored-reading.ts";
import { Backoff } from "../../src/lib/backoff.ts";
import { ManualClock } from "./manual-clock.ts";

interface LaneRows {
  /** By seq; kept in order of seq. */
  pending: Map<number, StoredReading>;
  readonly leased: Map<number, StoredReading>;
  readonly parked: Map<number, StoredReading>;
  /** Of those that are leased, the ones that are to go live. */
  readonly live: Map<number, StoredReading>;
  /** Newest pending reading of each sensor and kind that may go live. */
  readonly candidates: Map<string, StoredReading>;
  readonly marks: Map<string, number>;
  /** Back-off of what the broker refuses, by direction, sensor and kind. */
  readonly refused: Map<string, Refused>;
  readonly waiting: Set<() => void>;
}

interface Refused {
  readonly backoff: Backoff;
  untilMs: number;
}

/** As long as the store waits. */
const REFUSED_MIN_MS = 5_000;
const REFUSED_MAX_MS = 300_000;

/** Our own port by hand, in memory: one queue per lane, with what tests need to look at. It passes the suite of the store's. */
export class MemoryOutbox implements Outbox {
  readonly #lanes = new Map<Lane, LaneRows>();
  /** Every outcome in order. */
  readonly settled: { lane: Lane; entry: OutboxEntry; outcome: DeliveryOutcome }[] = [];
  /** Set to make the next settlement fail, as a full disk does. */
  failure: Error | null = null;
  readonly #clock: Clock;

  /** @param clock measures the back-off of refused entries */
  constructor(clock: Clock = new ManualClock()) {
    this.#clock = clock;
  }

  add(lane: Lane, readings: readonly StoredReading[]): void {
    const rows = this.#lane(lane);
    for (const reading of readings) this.#pend(rows, reading);
    this.#notify(rows);
  }

  lease(lane: Lane, which: "live" | "backlog", max: number): OutboxEntry[] {
    const rows = this.#lane(lane);
    const entries: OutboxEntry[] = [];
    const pending = [...rows.pending.values()].sort((a, b) => a.timeMs - b.timeMs || a.seq - b.seq);
    const from = which === "live" ? rows.candidates.values() : pending;
    for (const reading of from) {
      if (entries.length === max) break;
      const stream = streamOf(reading);
      if ((rows.refused.get(`${which} ${stream}`)?.untilMs ?? 0) > this.#clock.monotonic())
        continue;
      // The newest goes live, or as history once something newer has come.
      if (which === "backlog" && rows.candidates.get(stream) === reading) continue;
      rows.pending.delete(reading.seq);
      rows.leased.set(reading.seq, reading);
      if (which === "live") rows.candidates.delete(stream);
      if (which === "live") rows.live.set(reading.seq, reading);
      entries.push({ reading, live: which === "live" });
    }
    return entries;
  }

  unproven() {
    return [];
  }
  readBack(): void {}
  accepted(): void {}
  flush(): Promise<void> {
    return Promise.resolve();
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
      const isLate = !rows.leased.delete(reading.seq);
      // An acknowledgement counts after the release, too; every other outcome has been answered by it.
      if (isLate && !(outcome === "sent" && rows.pending.delete(reading.seq))) continue;
      if (rows.candidates.get(streamOf(reading)) === reading)
        rows.candidates.delete(streamOf(reading));
      rows.live.delete(reading.seq);
      const stream = streamOf(reading);
      const direction = `${entry.live ? "live" : "backlog"} ${stream}`;
      if (outcome === "sent") rows.refused.delete(direction);
      if (outcome === "sent" && entry.live)
        rows.marks.set(stream, Math.max(rows.marks.get(stream) ?? -Infinity, reading.timeMs));
      if (outcome === "refused") this.#backOff(rows, direction);
      if (outcome === "kept" || outcome === "refused") this.#pend(rows, reading);
      else if (outcome === "oversize") rows.parked.set(reading.seq, reading);
    }
    this.#notify(rows);
    return Promise.resolve();
  }

  /** Several refused in one window count once. */
  #backOff(rows: LaneRows, direction: string): void {
    const known = rows.refused.get(direction);
    const now = this.#clock.monotonic();
    if (known !== undefined && known.untilMs > now) return;
    const backoff = known?.backoff ?? new Backoff(REFUSED_MIN_MS, REFUSED_MAX_MS);
    const waitMs = backoff.next();
    rows.refused.set(direction, { backoff, untilMs: now + waitMs });
    void this.#clock.sleep(waitMs).then(() => this.#notify(rows));
  }

  release(lane: Lane): void {
    this.#unhold(lane, "leased");
  }

  unpark(lane: Lane): void {
    this.#lane(lane).refused.clear();
    this.#unhold(lane, "parked");
  }

  #unhold(lane: Lane, which: "leased" | "parked"): void {
    const rows = this.#lane(lane);
    for (const { seq } of rows[which].values()) rows.live.delete(seq);
    for (const reading of rows[which].values()) this.#pend(rows, reading);
    rows[which].clear();
    rows.pending = new Map([...rows.pending].sort(([a], [b]) => a - b));
    this.#notify(rows);
  }

  #pend(rows: LaneRows, reading: StoredReading): void {
    rows.pending.set(reading.seq, reading);
    const key = streamOf(reading);
    const same = [...rows.live.values()].filter((other) => streamOf(other) === key);
    const newest = Math.max(
      rows.candidates.get(key)?.timeMs ?? -Infinity,
      rows.marks.get(key) ?? -Infinity,
      ...same.map(({ timeMs }) => timeMs),
    );
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

  liveMark(lane: Lane, sensor: string, kind: string): number | null {
    return this.#lane(lane).marks.get(`${sensor} ${kind}`) ?? null;
  }

  owesEvents(lane: Lane, sensor: string): boolean {
    const { pending, leased, parked } = this.#lane(lane);
    return [...pending.values(), ...leased.values(), ...parked.values()].some(
      (reading) => reading.sensor === sensor && isEvent(reading),
    );
  }

  depth(lane: Lane): LaneDepth {
    const { pending, leased, parked } = this.#lane(lane);
    const owed = [...pending.values(), ...leased.values(), ...parked.values()];
    return {
      readings: owed.length,
      oldestTimeMs:
        owed.length === 0
          ? null
          : owed.reduce((min, { timeMs }) => Math.min(min, timeMs), Infinity),
    };
  }

  #lane(lane: Lane): LaneRows {
    let rows = this.#lanes.get(lane);
    if (!rows) {
      rows = {
        pending: new Map(),
        leased: new Map(),
        parked: new Map(),
        live: new Map(),
        candidates: new Map(),
        marks: new Map(),
        refused: new Map(),
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

const streamOf = ({ sensor, kind }: StoredReading) => `${sensor} ${kind}`;

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
