import type { ClientBase } from "pg";
import { publicDatabase } from "../../core/addresses/database-url.ts";
import { messageOf } from "../../core/thrown.ts";
import { topicLevel } from "../../core/topics/topic-level.ts";
import { openForReading } from "../database/connection.ts";
import { sqlState } from "../database/failure.ts";
import { READING_TABLES } from "../tables.ts";
import { unreachedText } from "../unreached.ts";
import { type BoxFacts, type FleetBox, fleetBox, type Json, READING_AGE_MAX_MS } from "./box.ts";

interface BoxRow {
  readonly site: string;
  readonly state: Json | null;
  readonly stats: Json | null;
  readonly state_received: Date | null;
  readonly stats_received: Date | null;
  readonly are_two: boolean;
  readonly newest: Date | null;
  readonly now: number;
  readonly horizon: number;
  readonly first_heard: number | null;
  readonly sensors: readonly { readonly sensor: string; readonly state: string | null }[] | null;
  readonly alarms: readonly { readonly severity: string | null }[] | null;
}

/** An active alarm is published again at least once in this time, when its box starts or it worsens; older ones are history. */
const ALARM_DAYS = 92;

/** Readings older than this are refused without a horizon, too. */
const ACCEPTED_DAYS = 731;

/** Every box in the database; ages by its clock. Rejects if it cannot be reached or is not one of ours. */
export async function fleetFromDatabase(url: string): Promise<FleetBox[]> {
  const client = await openForReading(url, "gateside fleet").catch((cause: unknown) => {
    const text = unreachedText(cause, "the database");
    throw text === messageOf(cause)
      ? cause
      : new Error(`${publicDatabase(url)}: ${text}`, { cause });
  });
  try {
    const { rows } = await client.query<BoxRow>(
      `SELECT b.site, b.agent_state AS state, b.stats,
         b.state_received, coalesce(b.stats_received, CASE WHEN b.stats IS NOT NULL THEN least(b.stats_time, b.received) END) AS stats_received,
         coalesce(b.runs_time > now() - interval '10 minutes', false) AS are_two,
         extract(epoch FROM now())::float8 * 1000 AS now,
         (SELECT extract(epoch FROM greatest(before, now() - interval '${ACCEPTED_DAYS} days'))::float8 * 1000 FROM horizon) AS horizon,
         (SELECT extract(epoch FROM CASE WHEN isfinite(h.first) THEN h.first ELSE '1970-01-01Z' END)::float8 * 1000 FROM heard h WHERE h.site = b.site) AS first_heard,
         (SELECT max(l.time) FROM latest_reading l JOIN stream t USING (stream) WHERE t.site = b.site) AS newest,
         (SELECT json_agg(json_build_object('sensor', s.sensor, 'state', s.state)) FROM sensor s
          WHERE s.site = b.site AND s.state IS DISTINCT FROM 'removed') AS sensors,
         (SELECT json_agg(json_build_object('severity', e.severity)) FROM (
            SELECT DISTINCT ON (sensor, kind, value, alarm) state, severity FROM alarm_event a
            WHERE a.site = b.site AND NOT a.historical AND a.time > now() - interval '${ALARM_DAYS} days'
            ORDER BY sensor, kind, value, alarm, time DESC) e
          WHERE e.state = 'active') AS alarms
       FROM box b`,
    );
    const nowMs = rows[0]?.now ?? 0;
    const dueMs = await readingsDue(client);
    const facts = rows.map((row) => factsOf(row, dueMs.get(row.site) ?? null));
    return boxesOf(facts).map((box) => fleetBox(box, nowMs));
  } catch (cause) {
    if (!OLDER_SCHEMA.has(sqlState(cause) ?? "")) throw cause;
    throw new Error(
      `${publicDatabase(url)} has older tables: run \`gateside collect --migrate-only --to …\``,
      { cause },
    );
  } finally {
    await client.end();
  }
}

/** SQLSTATE of an unknown column and an unknown table. */
const OLDER_SCHEMA = new Set(["42703", "42P01"]);

function factsOf(row: BoxRow, readingDueMs: number | null): BoxFacts {
  return {
    site: row.site,
    state: row.state,
    stats: row.stats,
    stateReceivedMs: row.state_received?.getTime() ?? null,
    statsReceivedMs: row.stats_received?.getTime() ?? null,
    areTwo: row.are_two,
    newestReadingMs: row.newest?.getTime() ?? null,
    readingDueMs,
    firstHeardMs: row.first_heard,
    horizonMs: row.horizon,
    sensors: row.sensors ?? [],
    alarms: row.alarms ?? [],
  };
}

/**
 * Readings identify their site by name, states only by its topic. A name that is spelled differently there (`p/9` is
 * `p_9`) has a row of each; together they are one box.
 */
function boxesOf(rows: readonly BoxFacts[]): BoxFacts[] {
  const boxes = new Map<string, BoxFacts>();
  for (const row of rows) {
    const level = topicLevel(row.site);
    const other = boxes.get(level);
    boxes.set(level, other === undefined ? row : together(other, row));
  }
  return [...boxes.values()];
}

function together(one: BoxFacts, two: BoxFacts): BoxFacts {
  const sensors = new Map<string, BoxFacts["sensors"][number]>();
  for (const entry of [...one.sensors, ...two.sensors]) {
    const level = topicLevel(entry.sensor);
    if (entry.state !== null || !sensors.has(level)) sensors.set(level, entry);
  }
  const earlier = (a: number | null, b: number | null) =>
    a === null || b === null ? (a ?? b) : Math.min(a, b);
  const later = (a: number | null, b: number | null) =>
    a === null || b === null ? (a ?? b) : Math.max(a, b);
  return {
    site: topicLevel(one.site) === one.site ? two.site : one.site,
    state: one.state ?? two.state,
    stats: one.stats ?? two.stats,
    stateReceivedMs: one.stateReceivedMs ?? two.stateReceivedMs,
    statsReceivedMs: one.statsReceivedMs ?? two.statsReceivedMs,
    areTwo: one.areTwo || two.areTwo,
    newestReadingMs: later(one.newestReadingMs, two.newestReadingMs),
    readingDueMs: later(one.readingDueMs, two.readingDueMs),
    firstHeardMs: earlier(one.firstHeardMs, two.firstHeardMs),
    horizonMs: one.horizonMs,
    sensors: [...sensors.values()],
    alarms: [...one.alarms, ...two.alarms],
  };
}

/** Delivery takes some seconds, however often a sensor is read. */
const GRACE_S = 60;
/** An interval is the median of this many steps; of fewer than two it is unknown. */
const STEPS = 9;
const KNOWN_KINDS = READING_TABLES.flatMap(({ kind }) => (kind === "other" ? [] : [`'${kind}'`]));

/**
 * By site: when another reading of the sensors that say they are online was due at the latest, three intervals after
 * the newest of each, ms. Only of boxes whose newest reading is not a moment old: intervals are looked up in readings.
 */
async function readingsDue(client: ClientBase): Promise<ReadonlyMap<string, number>> {
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
