import type { DayKey, DayProgress } from "../../../core/day.ts";
import type { ReadingLog, ResponseWriter } from "../../../core/ports.ts";
import type { Kind, StreamKey } from "../../../core/sensor.ts";
import { NO_TIMES, type RecentTimes } from "../../../core/time/recent-times.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import type { ReadingLogOptions, ReadingLogParts } from "./reading-log-parts.ts";
import { SqliteResponseWriter } from "./response-writer.ts";

/** A day in any zone is within this much of its UTC day, and its records may be dated slightly outside it. */
const DAY_SLACK_MS = 26 * HOUR_MS;

/** Everything the poller stores is written through this. */
export class SqliteReadingLog implements ReadingLog {
  readonly #parts: ReadingLogParts;
  readonly #options: ReadingLogOptions;
  /** Identities of responses that wait for their commit, by stream. */
  readonly #waiting = new Map<number, Set<string>>();
  /** Readings that responses stored in part before they failed, by stream. */
  readonly #unreported = new Map<number, { count: number }>();

  constructor(parts: ReadingLogParts, options: ReadingLogOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  load(): void {
    this.#parts.newest.clear();
    this.#parts.progress.clear();
    const sql = "SELECT count(*) AS count FROM readings";
    this.#parts.stored.count = this.#parts.db.read<{ count: number }>(sql).get()?.count ?? 0;
  }

  progress(key: DayKey): DayProgress | null {
    const stream = this.#parts.streams.find(key.sensor, key.kind);
    if (stream === null) return null;
    const { progress, queue } = this.#parts;
    return queue.read("look up a day's progress", () => progress.of(stream.stream, key.day));
  }

  /** Tells whether that day of a sensor and kind was read. */
  readOn(day: string): (stream: StreamKey) => boolean {
    const { progress, queue, streams } = this.#parts;
    const read = queue.read("look up a day's progress", () => progress.streamsOf(day));
    return ({ sensor, kind }) => read.has(streams.find(sensor, kind)?.stream ?? -1);
  }

  begin(key: DayKey, readAtMs: number | null = null): ResponseWriter {
    const stream = this.#parts.streams.intern(key.sensor, key.kind);
    let waiting = this.#waiting.get(stream.stream);
    if (waiting === undefined) {
      waiting = new Set();
      this.#waiting.set(stream.stream, waiting);
    }
    const unreported = this.#unreported.get(stream.stream) ?? { count: 0 };
    this.#unreported.set(stream.stream, unreported);
    return new SqliteResponseWriter(this.#parts, this.#options, {
      key,
      stream,
      readAtMs,
      waiting,
      unreported,
      hadProgress: this.progress(key) !== null,
      stored: (count, newestHour, newestMs) => {
        this.#parts.stored.count += count;
        if (newestHour !== null) this.#parts.newest.stored(stream.stream, newestHour, newestMs);
      },
    });
  }

  newestTimeMs(sensor: string, kind: Kind): number | null {
    const stream = this.#parts.streams.find(sensor, kind)?.stream;
    if (stream === undefined) return null;
    const { newest, queue } = this.#parts;
    return queue.read("look up the newest reading", () => newest.timeMs(stream));
  }

  /** The newest stored readings of each of these, at most `count`. */
  recentTimes(wanted: readonly StreamKey[], count: number): readonly RecentTimes[] {
    const { newest, queue, streams } = this.#parts;
    const numbers = wanted.map(({ sensor, kind }) => streams.find(sensor, kind)?.stream ?? null);
    const known = numbers.filter((stream) => stream !== null);
    const found = queue.read("look up the newest readings", () => newest.recent(known, count));
    return numbers.map((stream) => found.get(stream ?? -1) ?? NO_TIMES);
  }

  /**
   * False if the memory of that day's identities is gone: a manual backfill would send duplicates. The poller does not
   * check: the checkpoints of its days record their content, and a late record matters more than a repeated one.
   */
  canReread(key: DayKey): boolean {
    const startMs = Date.parse(`${key.day}T00:00:00Z`);
    return startMs - DAY_SLACK_MS >= this.#parts.identities.horizonMs;
  }

  isWaitingForDelivery(): boolean {
    return this.#parts.full.isWaitingForDelivery;
  }

  /** Commits waiting responses: for shutdown. */
  flush(): Promise<void> {
    return this.#parts.queue.flush();
  }
}
