/** What a lane begins with: its number, its live marks, and the rows that it takes over. Inside a transaction. */

import type { Lane } from "../../../core/delivery/delivery.ts";
import { isWaveform } from "../../../core/delivery/lane-plan.ts";
import { hasChosen, type IsChosen } from "../../../core/stored-reading.ts";
import type { Database } from "../database/database.ts";
import { findNewest, NEWEST_SQL } from "../readings/newest-times.ts";
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
const DROP_KEPT_SQL = `DELETE FROM outbox WHERE lane = ?
  AND EXISTS (SELECT 1 FROM outbox k WHERE k.lane = ? AND k.seq = outbox.seq)`;

/** Returns its number. */
export function addLane(
  db: Database,
  uplink: string,
  format: Lane,
  from: "stored" | "now",
  isChosen: IsChosen | null = null,
): number {
  const number = db.write<{ next: number }>(NEXT_NUMBER_SQL).get()?.next ?? FIRST_NUMBER;
  const last = db.write<{ seq: number | null }>("SELECT max(seq) AS seq FROM readings").get();
  const fillSeq = from === "stored" ? (last?.seq ?? null) : null;
  db.write("INSERT INTO lanes (lane, uplink, format, fill_seq) VALUES (?, ?, ?, ?)").run(
    number,
    uplink,
    format,
    fillSeq,
  );
  if (!isWaveform(format)) markNewest(db, number, fillSeq === null, isChosen);
  return number;
}

/**
 * A late reading does not go to a live topic of the new lane either: of stored readings only the newest of each stream
 * may, and only if the lane begins with what is stored. None may if a newer one was sent that is no longer stored: a
 * former lane of this uplink may have shown it.
 */
function markNewest(
  db: Database,
  number: number,
  isPublishedAlready: boolean,
  isChosen: IsChosen | null,
): void {
  const least = isPublishedAlready ? 0 : 1;
  const sent = new Map(
    db
      .write<{ stream: number; sentMs: number }>(NEWEST_SENT_SQL)
      .all()
      .map(({ stream, sentMs }) => [stream, sentMs]),
  );
  const marks = new Map([...sent].map(([stream, sentMs]) => [stream, sentMs - least]));
  for (const [stream, { timeMs }] of findNewest(db, NEWEST_HOURS)) {
    if (timeMs === null || timeMs < (sent.get(stream) ?? Number.NEGATIVE_INFINITY)) continue;
    const newestMs = isPublishedAlready ? timeMs : newestChosen(db, stream, timeMs, isChosen);
    marks.set(stream, newestMs - least);
  }
  for (const [stream, markMs] of marks) {
    db.write("INSERT OR IGNORE INTO live_marks (lane, stream, time_ms) VALUES (?, ?, ?)").run(
      number,
      stream,
      markMs,
    );
  }
}

/**
 * With a selection of values the newest reading may have none; if those that are searched have none either, its time
 * counts.
 */
function newestChosen(
  db: Database,
  stream: number,
  newestMs: number,
  isChosen: IsChosen | null,
): number {
  if (isChosen === null) return newestMs;
  let left = CHOSEN_ROWS;
  let hour: number | undefined = hourOf(newestMs);
  while (hour !== undefined && left > 0) {
    const rows = db
      .write<{ timeMs: number; values: string }>(NEWEST_OF_STREAM_SQL)
      .all(hour, stream, left);
    const found = rows.find(({ values }) => hasChosen(values, isChosen));
    if (found !== undefined) return found.timeMs;
    // An hour without any counts as one, so that the search ends.
    left -= Math.max(1, rows.length);
    hour = db.write<{ hour: number }>(NEWEST_SQL.previousHour).get(hour)?.hour;
  }
  return newestMs;
}

/** The newest of each stream of a lane that goes is pending in another one. */
export function carryNewest(db: Database, from: number, to: number): void {
  db.write("DELETE FROM live_marks WHERE lane = ?").run(to);
  db.write("INSERT INTO live_marks SELECT ?, stream, time_ms FROM live_marks WHERE lane = ?").run(
    to,
    from,
  );
  db.write(KEEP_NEWEST_SQL).run(to, from, from, from);
  db.write(DROP_KEPT_SQL).run(from, to);
}
