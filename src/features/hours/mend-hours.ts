import type { Database } from "../../pipeline/store/database/database.ts";
import { type HourRows, indexOf, rowBytes, STATE, streamOf, type Table } from "./hour-rows.ts";
import { HOURS_PER_DAY } from "./rules/hour-sums.ts";
import { countsOf, withLost } from "./sums-body.ts";

/** A reading that has left is 6 bytes of a packed row of its hour and stream, or a row up to 0.1. */
const KNOWN_SQL = `SELECT (SELECT count(*) FROM readings
    WHERE hour >= ? AND hour < ? AND stream = ? AND is_future = 0 AND seq <= ?)
  + (SELECT coalesce(sum(CASE WHEN time_ms = -1 THEN length(hash) / 6 ELSE 1 END), 0) FROM forgotten
    WHERE hour >= ? AND hour < ? AND stream = ?) AS known`;

/**
 * After a damaged store was copied as far as it can be read. Everything is counted once more, from what is stored; and a row
 * that counts readings whose identities were lost says how many, because they may be read again.
 */
export function mendHours(
  db: Database,
  rows: HourRows,
  copied: { readonly identities: boolean },
): void {
  const saved = rows.state();
  let bytes = 0;
  for (const table of ["hours", "days"] as const) {
    if (!copied.identities) markLost(db, table);
    for (const row of db.writer
      .prepare<[], { bytes: number }>(`SELECT length(body) AS bytes FROM ${table}`)
      .iterate())
      bytes += rowBytes(row.bytes, db.pageBytes);
  }
  const { hoursFrom, daysFrom } = saved;
  const newest = rows.newest("hours");
  db.writer
    .prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)")
    .run(STATE, JSON.stringify({ mark: null, newest, hoursFrom, daysFrom, bytes }));
}

function markLost(db: Database, table: Table): void {
  const span = table === "hours" ? 1 : HOURS_PER_DAY;
  const known = db.writer.prepare<unknown[], { known: number }>(KNOWN_SQL);
  const update = db.writer.prepare(`UPDATE ${table} SET body = ? WHERE place = ?`);
  const all = db.writer
    .prepare<[], { place: number; upto: number }>(`SELECT place, upto FROM ${table}`)
    .all();
  const bodyOf = db.writer.prepare<unknown[], { body: Buffer }>(
    `SELECT body FROM ${table} WHERE place = ?`,
  );
  for (const { place, upto } of all) {
    const body = bodyOf.get(place)?.body;
    const counts = body && countsOf(body);
    if (!counts) continue;
    const stream = streamOf(place);
    const [from, to] = [indexOf(place) * span, (indexOf(place) + 1) * span];
    const count = known.get(from, to, stream, upto, from, to, stream)?.known ?? 0;
    const lost = Math.max(0, counts.readings - count);
    if (lost !== counts.lost) update.run(withLost(body, lost), place);
  }
}
