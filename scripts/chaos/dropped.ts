import { join } from "node:path";
import Sqlite from "better-sqlite3";

/** Readings and measurements that a store has given up for lack of space, for any uplink; not the backlog of removed uplinks. */
export function droppedCount(dataDir: string): number {
  const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true, timeout: 5000 });
  try {
    const row = db
      .prepare<[], { value: string }>("SELECT value FROM meta WHERE name = 'dropped'")
      .get();
    const counts: Readonly<Record<string, number>> = JSON.parse(row?.value ?? "{}");
    return Object.entries(counts)
      .filter(([reason]) => !/uplink_removed|format_off/.test(reason))
      .reduce((sum, [, count]) => sum + count, 0);
  } finally {
    db.close();
  }
}
