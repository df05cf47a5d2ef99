/** A store as 0.2 made it, with readings that are pending for `main`: what an upgrade finds. */
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { Site } from "../../src/core/site.ts";
import { APPLICATION_ID, migrate, STEPS } from "../../src/pipeline/store/database/migrate.ts";
import type { Wanted } from "../chaos/expectation.ts";
import type { SeededRandom } from "../chaos/random.ts";
import { HOUR_MS } from "./happenings.ts";

/** Schema version of 0.2. */
const RELEASED = 5;
/** Longer ago than the agent reads days again. */
const BEFORE_MS = 100 * HOUR_MS;
const READINGS = 60;

/** Returns what it holds, by id. */
export function writeOldStore(
  dataDir: string,
  { sensors }: Site,
  startMs: number,
  random: SeededRandom,
): Map<string, Wanted> {
  const path = join(dataDir, "gateside.db");
  const db = new Sqlite(path);
  const held = new Map<string, Wanted>();
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma(`application_id = ${APPLICATION_ID}`);
  migrate(db, path, STEPS.slice(0, RELEASED));
  db.exec(`INSERT INTO lanes (lane, uplink, format) VALUES (0, 'main', 'json');
    INSERT INTO unit_sets VALUES (1, '{"rpm":"rpm"}')`);
  const [sensor] = sensors.filter(({ kinds }) => kinds.includes("rpm"));
  if (sensor !== undefined) {
    db.prepare("INSERT INTO streams VALUES (1, ?, 'rpm')").run(sensor.code);
    const insert = db.prepare(
      `INSERT INTO readings (stream, time_ms, id, is_future, offset_minutes, stored_at_ms, unit_set, "values", quality, attributes, raw)
       VALUES (1, ?, ?, 0, 0, ?, 1, ?, '{}', '{}', '{}')`,
    );
    const owe = db.prepare("INSERT INTO outbox VALUES (0, ?, 1, ?, ?, 0)");
    for (let n = 0; n < READINGS; n++) {
      const timeMs = startMs - BEFORE_MS + n * 613_000;
      const id = Buffer.from(Array.from({ length: 16 }, () => random.between(0, 256)));
      const { lastInsertRowid } = insert.run(timeMs, id, timeMs + 1000, `{"rpm":${1400 + n}}`);
      owe.run(Math.floor(timeMs / HOUR_MS), timeMs, lastInsertRowid);
      held.set(id.toString("hex"), { sensor: sensor.code, kind: "rpm", timeMs, channels: [] });
    }
  }
  db.close();
  return held;
}
