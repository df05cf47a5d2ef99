import type { AlarmEvent } from "../../core/alarm/event.ts";
import type { AlarmAction } from "../../core/alarm/shown.ts";
import type { DayReadAt } from "../../core/day.ts";
import type { EngineFailures } from "../../core/engine-failures.ts";
import { followedOf } from "../../core/followed-reading.ts";
import type { StreamKey } from "../../core/sensor.ts";
import type { Tx } from "../../core/tx.ts";
import { isStoreFault } from "../../pipeline/store/database/store-failure.ts";
import { oneStep } from "../../pipeline/store/database/write-job.ts";
import type { Keeping } from "../../pipeline/store/keeping.ts";
import type { StoredEvent } from "../../pipeline/store/outbox/event-rows.ts";
import type { PendingReading } from "../../pipeline/store/readings/pending-response.ts";
import type { StoreTables } from "../../pipeline/store/store.ts";
import type { StoreSteps } from "../../pipeline/store/store-steps.ts";
import type { AlarmEngine } from "./rules/engine.ts";
import type { FollowUp, LearningSample } from "./rules/follow-up.ts";
import type { SavedState } from "./rules/kept-states.ts";
import type { SavedAlarms } from "./rules/load-alarms.ts";

interface AlarmLogParts {
  readonly tables: StoreTables;
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

/** Follows readings into the store. */
type ReadingFollower = Pick<AlarmEngine, "follow" | "isFollowed" | "machineStateFor">;

/**
 * Events, states and the audit log of the alarms. Everything caused by the readings of a response is written in its
 * transaction. Reads and writes throw StoreFailure.
 */
export class AlarmLog implements StoreSteps {
  readonly #parts: AlarmLogParts;
  /** Null until its states are loaded. */
  follower: ReadingFollower | null = null;
  /** Called after each commit that wrote events, with these in order. */
  onEvents: (events: readonly AlarmEvent[]) => void = () => {};
  /** Called after each commit that changed states of alarms or findings, with the sensors as states are saved. */
  onStates: (sensors: Iterable<string>) => void = () => {};
  /** Owns the drafts of the latter. */
  readonly #changes = {};

  constructor(parts: AlarmLogParts) {
    this.#parts = parts;
  }

  /** A row of this table, as `saved` gave it, cannot be read. */
  damaged(table: string, row: string): void {
    this.#parts.tables.db.damaged.found(table, row);
  }

  /** Each of the two is read page by page while it is walked through. */
  saved(): SavedAlarms {
    const { db } = this.#parts.tables;
    return {
      states: pages((last: SavedState | undefined) =>
        db.read<SavedState>(STATES_SQL).all(last?.sensor ?? ""),
      ),
      samples: pages((last: LearningSample | undefined) =>
        db.read<LearningSample>(SAMPLES_SQL).all(last?.sensor ?? "", last?.number ?? 0),
      ),
    };
  }

  machineStateFor({ sensor, kind }: StreamKey, timeMs: number) {
    return this.follower?.machineStateFor(sensor, kind, timeMs) ?? null;
  }

  stored(
    tx: Tx,
    { sensor, kind }: StreamKey,
    fresh: readonly PendingReading[],
    _refused: readonly PendingReading[],
    read: DayReadAt | null,
  ): void {
    const { follower } = this;
    if (follower === null || (fresh.length === 0 && read === null)) return;
    const { failures, tables } = this.#parts;
    const at = `${sensor}/${kind}`;
    let up: FollowUp;
    try {
      const readings = followedOf(fresh, follower.isFollowed(sensor, kind));
      up = follower.follow(tx, sensor, kind, readings);
    } catch (err) {
      // Without its transaction, what follows would be stored without the readings.
      if (isStoreFault(err) || !tables.db.writer.inTransaction) throw err;
      // Readings matter more than their alarms: they are stored all the same.
      failures.failed("alarms", at, err, "alarms failed");
      return;
    }
    failures.worked("alarms", at);
    this.#write(tx, up);
  }

  #write(tx: Tx, up: FollowUp): void {
    const { keeping, tables } = this.#parts;
    const { db } = tables;
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
    for (const event of events) tables.events.insert(tx, event);
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

  /**
   * Runs `make` inside a transaction and writes what it returns; resolves once durable, with whether it returned
   * anything.
   * @param isUrgent somebody is waiting for it
   */
  apply(what: string, make: (tx: Tx) => FollowUp | null, isUrgent: boolean): Promise<boolean> {
    const apply = (tx: Tx) => {
      const up = make(tx);
      if (up !== null) this.#write(tx, up);
      return up !== null;
    };
    return this.#parts.tables.queue.enqueue(oneStep(what, 1, apply), isUrgent ? 0 : TICK_WINDOW_MS);
  }

  audit(action: AlarmAction): Promise<void> {
    const { db, queue } = this.#parts.tables;
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

  /** Newest first. */
  actions(max: number): readonly AlarmAction[] {
    return this.#parts.tables.db
      .read<AlarmAction>(
        "SELECT time_ms AS timeMs, who, source, what, subject, detail, outcome FROM alarm_actions ORDER BY action DESC LIMIT ?",
      )
      .all(max);
  }

  /** Newest first. @param before only those older than this `seq` */
  events(before: number | null, max: number): readonly StoredEvent[] {
    return this.#parts.tables.events.before(before, max);
  }
}

/** Rows in the order of their keys. @param after reads those after a row, at most a page; all of them if there is none */
function* pages<T>(after: (last: T | undefined) => readonly T[]): Generator<T, void> {
  for (let page = after(undefined); page.length > 0; page = after(page.at(-1))) yield* page;
}
