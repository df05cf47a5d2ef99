/** Which lane has which number, on disk: see lane-plan.ts for what happens to lanes when uplinks change. */

import type { Lane, OutboxUplink } from "../../core/delivery.ts";
import { isWaveform, type LaneChange, planLanes } from "../../core/lane-plan.ts";
import type { Database } from "../database/database.ts";
import { findNewest } from "../readings/newest-times.ts";
import { hourOf } from "../readings/stored-reading.ts";

/** First number of a lane that is not one of main's in 0.1. */
const FIRST_NUMBER = 5;
/**
 * How far back a lane that begins now searches for the newest readings, hours: streams without any in that time have no
 * limit.
 */
const NEWEST_HOURS = 168;
/** Readings of a sensor and kind that are searched for one with a selected value. */
const CHOSEN_ROWS = 50;

type IsChosen = (value: string) => boolean;

export interface FiledLane {
  readonly lane: number;
  readonly uplink: string;
  readonly format: Lane;
}

const IN_USE_SQL = "SELECT lane, uplink, format FROM lanes WHERE leaving IS NULL ORDER BY lane";
const NEXT_NUMBER_SQL = `SELECT 1 + max(${FIRST_NUMBER - 1},
  coalesce((SELECT max(lane) FROM lanes), 0),
  coalesce((SELECT lane FROM outbox ORDER BY lane DESC LIMIT 1), 0),
  coalesce((SELECT lane FROM live_marks ORDER BY lane DESC LIMIT 1), 0)) AS next`;
// The newest of each stream that may go live, moved from one lane to another.
const KEEP_NEWEST_SQL = `INSERT OR IGNORE INTO outbox (lane, hour, stream, time_ms, seq, is_future)
  SELECT ?, o.hour, o.stream, o.time_ms, o.seq, o.is_future FROM outbox o
  JOIN (SELECT stream, max(time_ms) AS newest FROM outbox WHERE lane = ? AND is_future = 0 GROUP BY stream) n
    ON n.stream = o.stream AND n.newest = o.time_ms
  WHERE o.lane = ? AND o.is_future = 0
    AND o.time_ms > coalesce((SELECT time_ms FROM live_marks m WHERE m.lane = ? AND m.stream = o.stream), -1e15)
  GROUP BY o.stream`;
// On any lane.
const NEWEST_SENT_SQL = "SELECT stream, max(time_ms) AS sentMs FROM live_marks GROUP BY stream";
const NEWEST_OF_STREAM_SQL = `SELECT time_ms AS timeMs, "values" FROM readings
  WHERE hour = ? AND stream = ? AND is_future = 0 ORDER BY time_ms DESC, seq DESC LIMIT ?`;
const HOUR_BEFORE_SQL = "SELECT hour FROM readings WHERE hour < ? ORDER BY hour DESC LIMIT 1";
const DROP_KEPT_SQL = `DELETE FROM outbox WHERE lane = ?
  AND EXISTS (SELECT 1 FROM outbox k WHERE k.lane = ? AND k.seq = outbox.seq)`;

export class LaneBook {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  inUse(): FiledLane[] {
    return this.#db.write<FiledLane>(IN_USE_SQL).all();
  }

  /** What `file` would change. */
  plan(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    const count = this.#db.write<{ n: number }>("SELECT count(*) AS n FROM outbox WHERE lane = ?");
    const known = this.inUse().map(({ lane, uplink, format }) => {
      const wanted = uplinks.find(({ name }) => name === uplink)?.lanes ?? [];
      // Counted only if needed: a long backlog takes a while.
      const readings = wanted.includes(format) ? 0 : (count.get(lane)?.n ?? 0);
      return { uplink, lane: format, readings };
    });
    return planLanes(known, uplinks);
  }

  /**
   * Creates and updates the lanes of these uplinks, inside a transaction. Returns the changes; without changes nothing
   * is written.
   */
  file(uplinks: readonly OutboxUplink[]): readonly LaneChange[] {
    const inUse = this.inUse();
    const changes = this.plan(uplinks);
    const numberOf = (uplink: string, format: Lane) =>
      inUse.find((one) => one.uplink === uplink && one.format === format)?.lane ?? -1;
    for (const change of changes) {
      const value = uplinks.find(({ name }) => name === change.uplink)?.selector.value ?? null;
      this.#apply(change, numberOf(change.uplink, change.lane), value);
    }
    return changes;
  }

  #apply(change: LaneChange, number: number, isChosen: IsChosen | null): void {
    const db = this.#db;
    switch (change.what) {
      case "added":
        this.#add(change.uplink, change.lane, change.from, isChosen);
        return;
      case "carried":
        if (!change.isNewestOnly) {
          db.write("UPDATE lanes SET format = ? WHERE lane = ?").run(change.to, number);
          return;
        }
        this.#carryNewest(change.uplink, number);
        db.write("UPDATE lanes SET leaving = 'format_off' WHERE lane = ?").run(number);
        return;
      case "format_off":
      case "uplink_removed":
        db.write("UPDATE lanes SET leaving = ? WHERE lane = ?").run(change.what, number);
    }
  }

  #add(
    uplink: string,
    format: Lane,
    from: "stored" | "now",
    isChosen: IsChosen | null = null,
  ): number {
    const db = this.#db;
    const number = db.write<{ next: number }>(NEXT_NUMBER_SQL).get()?.next ?? FIRST_NUMBER;
    const last = db.write<{ seq: number | null }>("SELECT max(seq) AS seq FROM readings").get();
    const fillSeq = from === "stored" ? (last?.seq ?? null) : null;
    db.write("INSERT INTO lanes (lane, uplink, format, fill_seq) VALUES (?, ?, ?, ?)").run(
      number,
      uplink,
      format,
      fillSeq,
    );
    if (!isWaveform(format)) this.#markNewest(number, fillSeq === null, isChosen);
    return number;
  }

  /**
   * A late reading does not go to a live topic of the new lane either: of stored readings only the newest of each
   * stream may, and only if the lane begins with what is stored. None may if a newer one was sent that is no longer
   * stored: a former lane of this uplink may have shown it.
   */
  #markNewest(number: number, isPublishedAlready: boolean, isChosen: IsChosen | null): void {
    const least = isPublishedAlready ? 0 : 1;
    const sent = new Map(
      this.#db
        .write<{ stream: number; sentMs: number }>(NEWEST_SENT_SQL)
        .all()
        .map(({ stream, sentMs }) => [stream, sentMs]),
    );
    const marks = new Map([...sent].map(([stream, sentMs]) => [stream, sentMs - least]));
    for (const [stream, { timeMs }] of findNewest(this.#db, NEWEST_HOURS)) {
      if (timeMs === null || timeMs < (sent.get(stream) ?? Number.NEGATIVE_INFINITY)) continue;
      const newestMs = isPublishedAlready ? timeMs : this.#newestChosen(stream, timeMs, isChosen);
      marks.set(stream, newestMs - least);
    }
    for (const [stream, markMs] of marks) {
      this.#db
        .write("INSERT OR IGNORE INTO live_marks (lane, stream, time_ms) VALUES (?, ?, ?)")
        .run(number, stream, markMs);
    }
  }

  /**
   * With a selection of values the newest reading may have none; if those that are searched have none either, its time
   * counts.
   */
  #newestChosen(stream: number, newestMs: number, isChosen: IsChosen | null): number {
    if (isChosen === null) return newestMs;
    let left = CHOSEN_ROWS;
    let hour: number | undefined = hourOf(newestMs);
    while (hour !== undefined && left > 0) {
      const rows = this.#db
        .write<{ timeMs: number; values: string }>(NEWEST_OF_STREAM_SQL)
        .all(hour, stream, left);
      const found = rows.find(({ values }) => hasChosen(values, isChosen));
      if (found !== undefined) return found.timeMs;
      // An hour without any counts as one, so that the search ends.
      left -= Math.max(1, rows.length);
      hour = this.#db.write<{ hour: number }>(HOUR_BEFORE_SQL).get(hour)?.hour;
    }
    return newestMs;
  }

  #carryNewest(uplink: string, from: number): void {
    const db = this.#db;
    const plain = this.inUse().find((one) => one.uplink === uplink && one.format === "plain");
    const to = plain?.lane ?? this.#add(uplink, "plain", "now");
    db.write("DELETE FROM live_marks WHERE lane = ?").run(to);
    db.write("INSERT INTO live_marks SELECT ?, stream, time_ms FROM live_marks WHERE lane = ?").run(
      to,
      from,
    );
    db.write(KEEP_NEWEST_SQL).run(to, from, from, from);
    db.write(DROP_KEPT_SQL).run(from, to);
  }
}

/** Whether a stored reading has a selected value. */
export function hasChosen(values: string, isChosen: IsChosen): boolean {
  try {
    return Object.keys(JSON.parse(values) as object).some(isChosen);
  } catch {
    // Damaged: the publisher reports it.
    return true;
  }
}
