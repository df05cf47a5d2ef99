import type { Database } from "../database/database.ts";
import { Streams } from "../database/streams.ts";
import type { LaneUplink } from "../outbox/lane-uplink.ts";
import type { StoredLane } from "../outbox/stored-lane.ts";
import type { SalvageProgress } from "./salvage-progress.ts";

/** The lanes of the uplinks that are configured now. */
export interface SavedLanes {
  /** Creates those that the damaged store did not have, and returns all. */
  file(): readonly StoredLane[];
  uplinkOf(lane: StoredLane): Pick<LaneUplink, "selects"> | undefined;
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
  const streams = new Streams(db);
  streams.load();
  let selects: (stream: number, values: string) => boolean = () => false;
  db.writer.function("selects", (stream, values) =>
    selects(Number(stream), String(values)) ? 1 : 0,
  );
  let rows = 0;
  for (let from = bounds?.first ?? 0; from <= last; from += REQUEUED_PER_STEP) {
    for (const lane of lanes) {
      // Its newest readings arrive by themselves.
      if (lane.format === "plain") continue;
      const uplink = parts.lanes.uplinkOf(lane);
      if (uplink === undefined) continue;
      selects = (stream, values) => uplink.selects(lane.format, streams.get(stream), values);
      rows += db.writer
        .prepare(
          `INSERT OR IGNORE INTO outbox (lane, hour, stream, time_ms, seq, is_future)
           SELECT ?, hour, stream, time_ms, seq, is_future FROM readings
           WHERE seq >= ? AND seq < ? AND selects(stream, "values")`,
        )
        .run(lane.lane, from, from + REQUEUED_PER_STEP).changes;
      parts.progress.step("outbox", REQUEUED_PER_STEP);
    }
  }
  // Nothing more is pending of what is stored.
  db.writer.exec("UPDATE lanes SET fill_seq = NULL, fill_hour = NULL");
  return rows;
}
