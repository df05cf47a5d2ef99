import { publicDatabase } from "../../core/database-url.ts";
import { topicLevel } from "../../core/topic-level.ts";
import { openForReading } from "../database/connection.ts";
import { messageOf } from "../database/failure.ts";
import { unreachedText } from "../unreached.ts";
import { type BoxFacts, type FleetBox, fleetBox, type Json } from "./box.ts";

interface Row {
  readonly site: string;
  readonly state: Json | null;
  readonly stats: Json | null;
  readonly received: Date | null;
  readonly newest: Date | null;
  readonly sensors: readonly { readonly sensor: string; readonly state: string | null }[] | null;
  readonly alarms: readonly { readonly severity: string | null }[] | null;
}

/** An active alarm is published again at least once in this time, when its box starts or it worsens; older ones are history. */
const ALARM_DAYS = 92;

/** Every box in the database. Rejects if it cannot be reached or is not one of ours. */
export async function fleetFromDatabase(url: string, nowMs: number): Promise<FleetBox[]> {
  const client = await openForReading(url, "gateside fleet").catch((cause: unknown) => {
    const text = unreachedText(cause, "the database");
    throw text === messageOf(cause)
      ? cause
      : new Error(`${publicDatabase(url)}: ${text}`, { cause });
  });
  try {
    const { rows } = await client.query<Row>(
      `SELECT b.site, b.agent_state AS state, b.stats,
         CASE WHEN b.stats IS NULL THEN NULL ELSE b.stats_time END AS received,
         (SELECT max(l.time) FROM latest_reading l JOIN stream t USING (stream) WHERE t.site = b.site) AS newest,
         (SELECT json_agg(json_build_object('sensor', s.sensor, 'state', s.state)) FROM sensor s
          WHERE s.site = b.site AND s.state IS DISTINCT FROM 'removed') AS sensors,
         (SELECT json_agg(json_build_object('severity', e.severity)) FROM (
            SELECT DISTINCT ON (sensor, kind, value, alarm) state, severity FROM alarm_event a
            WHERE a.site = b.site AND NOT a.historical AND a.time > $1
            ORDER BY sensor, kind, value, alarm, time DESC) e
          WHERE e.state = 'active') AS alarms
       FROM box b ORDER BY b.site`,
      [new Date(nowMs - ALARM_DAYS * 86_400_000)],
    );
    return boxesOf(rows.map(factsOf)).map((facts) => fleetBox(facts, nowMs));
  } finally {
    await client.end();
  }
}

function factsOf(row: Row): BoxFacts {
  return {
    site: row.site,
    state: row.state,
    stats: row.stats,
    statsReceivedMs: row.received?.getTime() ?? null,
    newestReadingMs: row.newest?.getTime() ?? null,
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
  const newest = [one.newestReadingMs, two.newestReadingMs].filter((ms) => ms !== null);
  return {
    site: topicLevel(one.site) === one.site ? two.site : one.site,
    state: one.state ?? two.state,
    stats: one.stats ?? two.stats,
    statsReceivedMs: one.statsReceivedMs ?? two.statsReceivedMs,
    newestReadingMs: newest.length === 0 ? null : Math.max(...newest),
    sensors: [...sensors.values()],
    alarms: [...one.alarms, ...two.alarms],
  };
}
