/** A look at an agent's store from outside. */
import { join } from "node:path";
import Sqlite from "better-sqlite3";

export const storePath = (dataDir: string): string => join(dataDir, "gateside.db");

/** Opens the file for reading while `use` runs. */
export function withStore<T>(path: string, use: (db: Sqlite.Database) => T): T {
  const db = new Sqlite(path, { readonly: true });
  try {
    return use(db);
  } finally {
    db.close();
  }
}
