import type { Database } from "../database/database.ts";
import type { StoredLane } from "../outbox/stored-lane.ts";
import type { SalvageProgress } from "./salvage-progress.ts";

/** The lanes of the uplinks that are configured now. */
export interface SavedLanes {
  /** Creates those that the damaged store did not have, and returns all. */
  file(): readonly StoredLane[];
  /** Whether a lane should carry a reading. */
  wants(lane: StoredLane, sensor: string, kind: string, values: string): boolean;
}

/** Readings whose deliveries are recreated in one statement. */
const REQUEUED_PER_STEP = 20_000;

/** The live marks are lost: nothing that is stored goes live again, so that no topic goes back in time. */
export function markAll(db: Database, lanes: readonly number[], progress: SalvageProgress): void {
  for (const lane of lanes) {
    db.writer
      .prepare(
        `INSERT INTO live_marks (lane, stream, time_ms)
         SELECT ?, stream, max(time_ms) FROM readings WHERE is_future = 0 GROUP BY stream
         ON CONFLICT DO UPDATE SET time_ms = max(time_ms, excluded.time_ms)`,
      )
      .run(lane);
    progress.step("live_marks", 0);
  }
}

/**
 * What may not have been delivered is pending again: a subscriber can drop a duplicate by its id, but nobody can
 * restore a loss.
 */
export function requeue(
  db: Database,
  lanes: readonly StoredLane[],
  parts: {
    readonly progress: SalvageProgress;
    readonly lanes: SavedLanes;
  },
): number {
  const bounds = db.writer
    .prepare<[], { first: number | null; last: number | null }>(
      "SELECT min(seq) AS first, max(seq) AS last FROM readings",
    )
    .get();
  const last = bounds?.last ?? -1;
  let current: StoredLane | undefined;
  db.writer.function("wants", (sensor, kind, values) =>
    current !== undefined &&
    parts.lanes.wants(current, String(sensor), String(kind), String(values))
      ? 1
      : 0,
  );
  let rows = 0;
  for (let from = bounds?.first ?? 0; from <= last; from += REQUEUED_PER_STEP) {
    for (const lane of lanes) {
      // Its newest readings arrive by themselves.
      if (lane.format === "plain") continue;
      current = lane;
      rows += db.writer
        .prepare(
          `INSERT OR IGNORE INTO outbox (lane, hour, stream, time_ms, seq, is_future)
           SELECT ?, r.hour, r.stream, r.time_ms, r.seq, r.is_future
           FROM readings r JOIN streams s ON s.stream = r.stream
           WHERE r.seq >= ? AND r.seq < ? AND wants(s.sensor, s.kind, r."values")`,
        )
        .run(lane.lane, from, from + REQUEUED_PER_STEP).changes;
      parts.progress.step("outbox", REQUEUED_PER_STEP);
    }
  }
  // Nothing more is pending of what is stored.
  db.writer.exec("UPDATE lanes SET fill_seq = NULL, fill_hour = NULL");
  return rows;
}
