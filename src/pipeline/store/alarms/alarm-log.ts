import { type AlarmEvent } from "../../../core/alarm/event.ts";
import type { FollowUp, LearningSample, ReadingFollower } from "../../../core/alarm/follow-up.ts";
import type { SavedState } from "../../../core/alarm/kept-states.ts";
import type { AlarmStore, SavedAlarms, StoredEvent } from "../../../core/alarm/ports.ts";
import type { AlarmAction } from "../../../core/alarm/shown.ts";
import { EVENT_KIND } from "../../../core/delivery/event-kind.ts";
import type { EngineFailures } from "../../../core/engine-failures.ts";
import type { DayReadAt } from "../../../core/machine-state/signal-reads.ts";
import { storedQuality, storedValues } from "../../../core/stored-reading.ts";
import type { Tx } from "../../../core/tx.ts";
import { isStoreFault } from "../database/store-failure.ts";
import type { Stream } from "../database/streams.ts";
import { oneStep } from "../database/write-job.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { Keeping } from "../keeping.ts";
import type { PendingReading } from "../readings/pending-response.ts";
import { EventRows, type EventRowsParts } from "./event-rows.ts";
import { WaitTable } from "./wait-table.ts";

export interface AlarmLogParts extends EventRowsParts {
  readonly queue: WriteQueue;
  readonly keeping: Pick<Keeping, "note"> | null;
  readonly failures: EngineFailures;
}

/** Actions kept in the audit log; the oldest are deleted. */
const ACTIONS_MAX = 10_000;
/** Refused actions, kept separately: they never displace an action that was executed. */
const REFUSED_MAX = 1_000;
/** Longest time that a job nobody waits for may wait to share a commit, ms. */
const TICK_WINDOW_MS = 200;

/** Rows read at once: a page takes about a millisecond. */
const PAGE_ROWS = 50;
const STATES_SQL = `SELECT sensor, state AS text FROM alarm_states WHERE sensor > ? ORDER BY sensor LIMIT ${PAGE_ROWS}`;
const SAMPLES_SQL = `SELECT sensor, number, "values" AS text FROM alarm_samples WHERE (sensor, number) > (?, ?)
  ORDER BY sensor, number LIMIT ${PAGE_ROWS}`;
const EVENTS_SQL = `SELECT r.seq, r.time_ms AS storedAtMs, r."values" AS payload FROM readings r
  WHERE r.is_future = 1 AND r.seq < ? AND r.stream IN (SELECT stream FROM streams WHERE kind = '${EVENT_KIND}')
  ORDER BY r.seq DESC LIMIT ?`;

const PROBE_SQL = [
  "SELECT sum(length(state)) FROM alarm_states",
  'SELECT sum(length("values")) FROM alarm_samples',
  "SELECT sum(length(detail)) FROM alarm_actions",
  "SELECT sum(length(text)) FROM waiting",
];

/**
 * Events, states and the audit log of the alarms. Everything caused by the readings of a response is written in its
 * transaction.
 */
export class AlarmLog implements AlarmStore {
  readonly #parts: AlarmLogParts;
  readonly #events: EventRows;
  readonly waiting: WaitTable;
  /** Null if alarms are disabled. */
  follower: ReadingFollower | null = null;
  onEvents: AlarmStore["onEvents"] = () => {};
  onStates: AlarmStore["onStates"] = () => {};
  /** Owns the drafts of the latter. */
  readonly #changes = {};

  constructor(parts: AlarmLogParts) {
    this.#parts = parts;
    this.#events = new EventRows(parts);
    this.waiting = new WaitTable(parts.db);
  }

  /** Reads its tables once: damage must be detected while the store is opened, because it is repaired then. */
  load(): void {
    this.#events.load();
    for (const sql of PROBE_SQL) this.#parts.db.read(sql).all();
  }

  damaged(table: string, row: string): void {
    this.#parts.db.damaged.found(table, row);
  }

  saved(): SavedAlarms {
    const { db } = this.#parts;
    return {
      states: pages((last: SavedState | undefined) =>
        db.read<SavedState>(STATES_SQL).all(last?.sensor ?? ""),
      ),
      samples: pages((last: LearningSample | undefined) =>
        db.read<LearningSample>(SAMPLES_SQL).all(last?.sensor ?? "", last?.number ?? 0),
      ),
    };
  }

  /** Attributes of a reading as stored: they include its machine's state if that is known. */
  attributesOf(stream: Stream, { attributes, timeMs }: PendingReading): string {
    const state = this.follower?.machineStateFor(stream.sensor, stream.kind, timeMs) ?? null;
    if (state === null) return attributes;
    const rest = attributes.slice(1);
    return `{"machine_state":"${state}"${rest === "}" ? "" : ","}${rest}`;
  }

  /**
   * Inside the transaction that stored these readings. @param read the read of a day that they complete
   */
  follow(
    tx: Tx,
    stream: Stream,
    readings: readonly PendingReading[],
    read: DayReadAt | null,
  ): void {
    const { follower } = this;
    if (follower === null || (readings.length === 0 && read === null)) return;
    const { failures } = this.#parts;
    const { sensor, kind } = stream;
    const at = `${sensor}/${kind}`;
    // One bad value is followed from then on: the good ones after it count, also in the same response.
    const hasValues =
      follower.isFollowed(sensor, kind) || readings.some(({ quality }) => quality !== "{}");
    let up: FollowUp;
    try {
      up = follower.follow(
        tx,
        sensor,
        kind,
        readings.map((reading) => ({
          id: reading.id,
          timeMs: reading.timeMs,
          isFuture: reading.isFuture,
          tones: reading.tones,
          record: reading.record,
          values: hasValues ? storedValues(reading) : {},
          quality: storedQuality(reading),
        })),
        read,
      );
    } catch (err) {
      // Without its transaction, what follows would be stored without the readings.
      if (isStoreFault(err) || !this.#parts.db.writer.inTransaction) throw err;
      // Readings matter more than their alarms: they are stored all the same.
      failures.failed("alarms", at, err, "alarms failed");
      return;
    }
    failures.worked("alarms", at);
    this.#write(tx, up);
  }

  #write(tx: Tx, up: FollowUp): void {
    const { db, keeping } = this.#parts;
    const { events, states, samples, forgotten } = up;
    keeping?.note(up);
    this.#announce(tx, states);
    for (const { sensor, text } of states) {
      if (text === null) db.write("DELETE FROM alarm_states WHERE sensor = ?").run(sensor);
      else db.write("INSERT OR REPLACE INTO alarm_states VALUES (?, ?)").run(sensor, text);
    }
    for (const { sensor, number, text } of samples) {
      db.write("INSERT OR REPLACE INTO alarm_samples VALUES (?, ?, ?)").run(sensor, number, text);
    }
    for (const sensor of forgotten) {
      db.write("DELETE FROM alarm_samples WHERE sensor = ?").run(sensor);
    }
    if (events.length === 0) return;
    for (const event of events) this.#events.insert(tx, event);
    // After their rows, and those of the whole transaction at once.
    const all = tx.draft(this, () => {
      const made: AlarmEvent[] = [];
      tx.onCommit(() => this.onEvents(made));
      return made;
    });
    all.push(...events);
  }

  #announce(tx: Tx, states: FollowUp["states"]): void {
    if (states.length === 0) return;
    const changed = tx.draft(this.#changes, () => {
      const sensors = new Set<string>();
      tx.onCommit(() => this.onStates(sensors));
      return sensors;
    });
    for (const { sensor } of states) changed.add(sensor);
  }

  apply(what: string, make: (tx: Tx) => FollowUp | null, isUrgent: boolean): Promise<boolean> {
    const apply = (tx: Tx) => {
      const up = make(tx);
      if (up !== null) this.#write(tx, up);
      return up !== null;
    };
    return this.#parts.queue.enqueue(oneStep(what, 1, apply), isUrgent ? 0 : TICK_WINDOW_MS);
  }

  audit(action: AlarmAction): Promise<void> {
    const { db, queue } = this.#parts;
    return queue.soon("store an action on an alarm", () => {
      const { timeMs, who, source, what, subject, detail, outcome } = action;
      db.write(
        "INSERT INTO alarm_actions (time_ms, who, source, what, subject, detail, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)",
      ).run(timeMs, who, source, what, subject, detail, outcome);
      const isDone = outcome === "done";
      db.write(
        "DELETE FROM alarm_actions WHERE (outcome = 'done') = ? AND action <= (SELECT action FROM alarm_actions WHERE (outcome = 'done') = ? ORDER BY action DESC LIMIT 1 OFFSET ?)",
      ).run(Number(isDone), Number(isDone), isDone ? ACTIONS_MAX : REFUSED_MAX);
    });
  }

  actions(max: number): readonly AlarmAction[] {
    return this.#parts.db
      .read<AlarmAction>(
        "SELECT time_ms AS timeMs, who, source, what, subject, detail, outcome FROM alarm_actions ORDER BY action DESC LIMIT ?",
      )
      .all(max);
  }

  events(before: number | null, max: number): readonly StoredEvent[] {
    return this.#parts.db.read<StoredEvent>(EVENTS_SQL).all(before ?? Number.MAX_SAFE_INTEGER, max);
  }
}

/** Rows in the order of their keys. @param after reads those after a row, at most a page; all of them if there is none */
function* pages<T>(after: (last: T | undefined) => readonly T[]): Generator<T, void> {
  for (let page = after(undefined); page.length > 0; page = after(page.at(-1))) yield* page;
}
