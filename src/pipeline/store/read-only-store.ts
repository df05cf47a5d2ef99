import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type KnownLane,
  type LaneChange,
  planLanes,
  type WantedLanes,
} from "../../core/delivery/lane-plan.ts";
import type { WaveformReader } from "../../core/ports.ts";
import { type HourValues, NO_HOURS } from "../../core/query/ports.ts";
import type { ReadCounted } from "./counting.ts";
import { COMMAND_BUSY_MS, Database } from "./database/database.ts";
import { Streams } from "./database/streams.ts";
import { History } from "./readings/history.ts";
import { Waveforms } from "./readings/waveforms.ts";

/** Read-only access to a store for a second process. */
export interface ReadOnlyStore {
  readonly history: History;
  readonly hours: HourValues;
  readonly waveforms: WaveformReader;
  close(): void;
}

/** Beside an agent that may run. Throws StoreFailure. */
function openedToRead(dataDir: string, nativeBinding: string | undefined): Database {
  const db = new Database({
    dataDir,
    nativeBinding,
    checkpointBytes: 0,
    busyTimeoutMs: COMMAND_BUSY_MS,
  });
  db.openReadOnly();
  return db;
}

/** For `export`, also while the agent runs. Throws StoreFailure. @param counted absent: nothing is counted */
export function openReadOnly(
  dataDir: string,
  nativeBinding?: string,
  counted?: ReadCounted,
): ReadOnlyStore {
  const db = openedToRead(dataDir, nativeBinding);
  const streams = new Streams(db);
  streams.load();
  return {
    history: new History(db, streams, null),
    hours: counted?.(db, streams) ?? NO_HOURS,
    waveforms: new Waveforms(db, streams, { read: (_what, read) => read() }, undefined, false),
    close: () => db.close(),
  };
}

const META_SQL = "SELECT value FROM meta WHERE name = ?";

/** What an agent keeps under a name, also while one runs; null without a store. Throws StoreFailure. */
export function storedMeta(dataDir: string, name: string, nativeBinding?: string): string | null {
  if (!existsSync(join(dataDir, "gateside.db"))) return null;
  const db = openedToRead(dataDir, nativeBinding);
  try {
    return db.read<{ value: string }>(META_SQL).get(name)?.value ?? null;
  } finally {
    db.close();
  }
}

const LANES_TABLE_SQL = "SELECT 1 FROM sqlite_master WHERE name = 'lanes'";
const PENDING_SQL = `SELECT uplink, format AS lane, (SELECT count(*) FROM outbox o WHERE o.lane = l.lane) AS readings
  FROM lanes l WHERE leaving IS NULL ORDER BY l.lane`;

/** What happens to pending readings when an agent starts with these lanes, also while one runs. Throws StoreFailure. */
export function laneChangesAhead(
  dataDir: string,
  wanted: readonly WantedLanes[],
  nativeBinding?: string,
): readonly LaneChange[] {
  const db = openedToRead(dataDir, nativeBinding);
  try {
    // A store of 0.1 is migrated by the next start.
    if (db.read(LANES_TABLE_SQL).get() === undefined) return [];
    return planLanes(db.read<KnownLane>(PENDING_SQL).all(), wanted);
  } finally {
    db.close();
  }
}
