/** Alarms of a campaign: the sent and pending events in the store, compared with what a subscriber received. */
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { Received } from "./received.ts";

export interface EventVerdict {
  readonly stored: number;
  readonly received: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly invented: readonly string[];
}

const EVENTS_SQL = `SELECT lower(hex(r.id)) AS id, s.sensor AS sensor FROM readings r
  JOIN streams s ON s.stream = r.stream WHERE s.kind = 'event'`;

/** Ids of the events in the store, with their sensors. */
export function storedEvents(dataDir: string): Map<string, string> {
  const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true, timeout: 5000 });
  try {
    const rows = db.prepare<[], { id: string; sensor: string }>(EVENTS_SQL).all();
    return new Map(rows.map(({ id, sensor }) => [id, sensor]));
  } finally {
    db.close();
  }
}

/** `may`: ids of all readings that ever existed; an event caused by a reading names one of them. */
export function judgeEvents(
  stored: ReadonlyMap<string, string>,
  { events }: Pick<Received, "events">,
  wants: (sensor: string) => boolean,
  may: { has(id: string): boolean },
): EventVerdict {
  const lost = [...stored]
    .filter(([id, sensor]) => wants(sensor) && !events.has(id))
    .map(([id, sensor]) => `event ${id} of ${sensor}`);
  const firstOf = new Map<string, string>();
  const doubled: string[] = [];
  const invented: string[] = [];
  for (const { id, content, readingId } of events.values()) {
    const first = firstOf.get(content);
    if (first === undefined) firstOf.set(content, id);
    else doubled.push(`event ${content} as ${first} and ${id}`);
    // Only a reading's id has this length; an event caused by a clock or a person names something else.
    if (/^[0-9a-f]{32}$/.test(readingId) && !may.has(readingId) && !stored.has(id))
      invented.push(`event ${id} of the reading ${readingId}`);
  }
  return { stored: stored.size, received: events.size, lost, doubled, invented };
}
