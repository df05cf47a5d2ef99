import type { AnswerWriter, DayKey, DayProgress, ReadingLog } from "../core/ports.ts";
import type { Kind } from "../core/sensor.ts";
import { SqliteAnswerWriter } from "./answer-writer.ts";
import type { ReadingLogOptions, ReadingLogParts } from "./reading-log-parts.ts";

/** A day of any zone lies within this much of its UTC day, and its records may be dated a little outside it. */
const DAY_SLACK_MS = 26 * 3_600_000;

const NEWEST_SQL = `SELECT r.time_ms FROM readings r WHERE r.hour = ? AND r.stream = ? AND r.is_future = 0
  ORDER BY r.time_ms DESC LIMIT 1`;
const PREVIOUS_HOUR_SQL = "SELECT hour FROM readings WHERE hour < ? ORDER BY hour DESC LIMIT 1";

/** Everything the poller stores goes in here. */
export class SqliteReadingLog implements ReadingLog {
  readonly #parts: ReadingLogParts;
  readonly #options: ReadingLogOptions;
  /** Newest time by stream, looked up when first asked. */
  readonly #newest = new Map<number, number | null>();
  /** Identities of answers that wait for their commit, by stream. */
  readonly #waiting = new Map<number, Set<string>>();
  /** Readings that answers stored in part before they failed, by stream. */
  readonly #untold = new Map<number, { count: number }>();
  /** Readings in the store. */
  count = 0;

  constructor(parts: ReadingLogParts, options: ReadingLogOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  load(): void {
    this.#newest.clear();
    const [row] = this.#parts.db.read("SELECT count(*) FROM readings").all();
    this.count = Number(row?.[0] ?? 0);
  }

  progress(key: DayKey): DayProgress | null {
    const stream = this.#parts.streams.find(key.sensor, key.kind);
    if (stream === null) return null;
    const { db, queue } = this.#parts;
    const row = queue.read("look up a day's progress", () =>
      db
        .write<DayProgress>(
          "SELECT checkpoint, records FROM day_progress WHERE day = ? AND stream = ?",
        )
        .get(key.day, stream.stream),
    );
    return row ?? null;
  }

  begin(key: DayKey): AnswerWriter {
    const stream = this.#parts.streams.intern(key.sensor, key.kind);
    let waiting = this.#waiting.get(stream.stream);
    if (waiting === undefined) {
      waiting = new Set();
      this.#waiting.set(stream.stream, waiting);
    }
    const untold = this.#untold.get(stream.stream) ?? { count: 0 };
    this.#untold.set(stream.stream, untold);
    return new SqliteAnswerWriter(this.#parts, this.#options, {
      key,
      stream,
      waiting,
      untold,
      hadProgress: this.progress(key) !== null,
      stored: (count, newestMs) => {
        this.count += count;
        const known = this.#newest.get(stream.stream);
        if (known !== undefined && newestMs !== null && newestMs > (known ?? -Infinity)) {
          this.#newest.set(stream.stream, newestMs);
        }
      },
    });
  }

  newestTimeMs(sensor: string, kind: Kind): number | null {
    const stream = this.#parts.streams.find(sensor, kind)?.stream;
    if (stream === undefined) return null;
    const known = this.#newest.get(stream);
    if (known !== undefined) return known;
    const newest = this.#parts.queue.read("look up the newest reading", () =>
      this.#seekNewest(stream),
    );
    this.#newest.set(stream, newest);
    return newest;
  }

  /** Hour by hour from the newest: a sensor that is silent for weeks costs a seek or two per hour, once. */
  #seekNewest(stream: number): number | null {
    const { db } = this.#parts;
    let hour = Number.MAX_SAFE_INTEGER;
    for (;;) {
      const [previous] = db.read(PREVIOUS_HOUR_SQL).all(hour);
      if (previous === undefined) return null;
      hour = previous[0] as number;
      const [row] = db.read(NEWEST_SQL).all(hour, stream);
      if (row !== undefined) return row[0] as number;
    }
  }

  /**
   * False when the memory of that day's identities is gone: a backfill by hand would send doubles. The poller does not ask:
   * the checkpoints of its days tell what they held, and a late record is worth more than a repeated one.
   */
  canReread(key: DayKey): boolean {
    const startMs = Date.parse(`${key.day}T00:00:00Z`);
    return startMs - DAY_SLACK_MS >= this.#parts.identities.horizonMs;
  }

  /** Commits what waits: for shutdown. */
  flush(): Promise<void> {
    return this.#parts.queue.flush();
  }
}
