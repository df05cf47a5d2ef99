import type { ClientBase } from "pg";
import { READING_TABLES } from "../tables.ts";
import { READING_AGE_MAX_MS } from "./box.ts";

/** Delivery takes some seconds, however often a sensor is read. */
const GRACE_S = 60;
/** An interval is the median of this many steps; of fewer than two it is unknown. */
const STEPS = 9;
const KNOWN_KINDS = READING_TABLES.flatMap(({ kind }) => (kind === "other" ? [] : [`'${kind}'`]));

/**
 * By site: when another reading of the sensors that say they are online was due at the latest, three intervals after
 * the newest of each, ms. Only of boxes whose newest reading is not a moment old: intervals are looked up in readings.
 */
export async function readingsDue(client: ClientBase): Promise<ReadonlyMap<string, number>> {
  const due = new Map<string, number>();
  for (const { kind, table } of READING_TABLES) {
    const isKind =
      kind === "other" ? `s.kind NOT IN (${KNOWN_KINDS.join(", ")})` : `s.kind = '${kind}'`;
    const { rows } = await client.query<{ site: string; due: number }>(
      `WITH quiet AS (
         SELECT s.site FROM latest_reading l JOIN stream s USING (stream)
         GROUP BY s.site HAVING max(l.time) < now() - interval '${GRACE_S} seconds')
       SELECT s.site, max(extract(epoch FROM l.time) * 1000
         + coalesce(3000 * n.interval_s, ${READING_AGE_MAX_MS}))::float8 AS due
       FROM quiet JOIN stream s USING (site) JOIN latest_reading l USING (stream)
       JOIN sensor o ON o.site = s.site AND o.sensor = s.sensor AND o.state = 'online'
       CROSS JOIN LATERAL (
         SELECT CASE WHEN count(step) >= 2 THEN greatest(percentile_disc(0.5) WITHIN GROUP (ORDER BY step), ${GRACE_S / 3}) END AS interval_s
         FROM (SELECT extract(epoch FROM time - lag(time) OVER (ORDER BY time)) AS step FROM (
           SELECT time FROM ${table} r WHERE r.stream = s.stream AND r.time <= l.time GROUP BY time ORDER BY time DESC LIMIT ${STEPS + 1}) t) d) n
       WHERE ${isKind} GROUP BY s.site`,
    );
    for (const row of rows) due.set(row.site, Math.max(due.get(row.site) ?? row.due, row.due));
  }
  return due;
}
