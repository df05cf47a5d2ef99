import type { Database } from "../database/database.ts";

const PROBE_SQL = [
  "SELECT sum(length(state)) FROM alarm_states",
  'SELECT sum(length("values")) FROM alarm_samples',
  "SELECT sum(length(detail)) FROM alarm_actions",
  "SELECT sum(length(text)) FROM waiting",
];

/** Reads what is read later: damage must be detected while the store is opened, because it is repaired then. */
export function probeTables(db: Database): void {
  for (const sql of PROBE_SQL) db.read(sql).all();
}
