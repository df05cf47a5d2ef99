import { type AlarmEvent, eventPayload, eventText } from "../../../core/alarm/event.ts";
import { EVENT_KIND } from "../../../core/delivery/event-kind.ts";
import type { Clock } from "../../../core/ports.ts";
import type { GatewayTime } from "../../../core/time/gateway-time.ts";
import type { Tx } from "../../../core/tx.ts";
import type { Database } from "../database/database.ts";
import { EVENT_STREAM_KIND, type Streams } from "../database/streams.ts";
import { hourOf } from "../readings/stored-reading.ts";
import type { Pending } from "./pending.ts";
import type { PendingRow } from "./thinned-rows.ts";

interface EventRowsParts {
  readonly db: Database;
  readonly streams: Streams;
  readonly pending: Pending;
  readonly clock: Clock;
  readonly age: GatewayTime;
  /** Name of the site, for the payload. */
  readonly site: () => string;
  /** Rows that are on disk. */
  readonly stored: (count: number) => void;
}

const INSERT_SQL = `INSERT INTO readings (stream, time_ms, id, is_future, offset_minutes, stored_at_ms, unit_set,
  "values", quality, attributes, raw, waveforms) VALUES (?, ?, ?, 1, NULL, ?, ?, ?, '{}', '{}', '{}', NULL)`;
const BEFORE_SQL = `SELECT r.seq, r.time_ms AS storedAtMs, r."values" AS payload FROM readings r
  WHERE r.is_future = 1 AND r.seq < ? AND r.stream IN (SELECT stream FROM streams WHERE kind = '${EVENT_KIND}')
  ORDER BY r.seq DESC LIMIT ?`;
const NEWEST_SQL = `SELECT max(o.time_ms) AS timeMs FROM outbox o JOIN streams s ON s.stream = o.stream WHERE s.kind = ?`;

export interface StoredEvent {
  readonly seq: number;
  readonly storedAtMs: number;
  /** The payload of plant section 11, as it is sent. */
  readonly payload: string;
}

/**
 * Writes events as rows that are pending like readings. A row's time is when it was written, by the clock by which
 * backlog ages, and never before the row before it, whatever the event's own time: so each lane sends the events of a
 * sensor in the order in which they occurred.
 */
export class EventRows {
  readonly #parts: EventRowsParts;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(parts: EventRowsParts) {
    this.#parts = parts;
  }

  load(): void {
    const newest = this.#parts.db.read<{ timeMs: number | null }>(NEWEST_SQL).get(EVENT_KIND);
    this.#lastMs = newest?.timeMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Newest first. @param seq only those older than this; null: all */
  before(seq: number | null, max: number): readonly StoredEvent[] {
    return this.#parts.db.read<StoredEvent>(BEFORE_SQL).all(seq ?? Number.MAX_SAFE_INTEGER, max);
  }

  insert(tx: Tx, event: AlarmEvent): void {
    const { age, clock, db, pending, site, stored, streams } = this.#parts;
    const stream = streams.intern(event.sensor, EVENT_STREAM_KIND);
    streams.write(stream);
    const unitSet = streams.internUnits("{}");
    streams.writeUnits(unitSet);
    const now = clock.now();
    const timeMs = Math.max(age.now() ?? now, this.#lastMs);
    this.#lastMs = timeMs;
    const payload = eventPayload(event.id, site(), eventText(event));
    const { lastInsertRowid } = db
      .write(INSERT_SQL)
      .run(stream.stream, timeMs, Buffer.from(event.id, "hex"), now, unitSet, payload);
    const row: PendingRow = {
      stream: stream.stream,
      hour: hourOf(timeMs),
      timeMs,
      seq: Number(lastInsertRowid),
      isFuture: true,
      content: { stream, values: "{}", quality: "{}", recordingReason: undefined },
    };
    pending.insert(tx, row);
    const { sensor, kind, timeMs: causedMs, readingId: id } = event;
    pending.insertAlways(tx, { sensor, kind, timeMs: causedMs, id });
    tx.onCommit(() => stored(1));
  }
}
