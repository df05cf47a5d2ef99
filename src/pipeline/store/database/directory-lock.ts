import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { prepareDataDirectory } from "./data-directory.ts";
import { StoreFailure } from "./store-failure.ts";

/**
 * One running agent per directory. The lock is a kernel file lock that SQLite takes on its own empty file: it is
 * released with the process however that ends, and no stale file or reused process id can block the next one.
 */
export class DirectoryLock {
  readonly #db: Sqlite.Database;

  private constructor(db: Sqlite.Database) {
    this.#db = db;
  }

  static take(dataDir: string, nativeBinding?: string): DirectoryLock {
    let db: Sqlite.Database | null = null;
    try {
      prepareDataDirectory(dataDir);
      db = new Sqlite(join(dataDir, "gateside.lock"), {
        timeout: 0,
        ...(nativeBinding === undefined ? {} : { nativeBinding }),
      });
      // SQLite starts a journal with the lock; on a full disk a journal file would keep the agent from starting. OFF
      // is refused.
      db.pragma("journal_mode = MEMORY");
      db.exec("BEGIN EXCLUSIVE");
      return new DirectoryLock(db);
    } catch (error) {
      db?.close();
      if (error instanceof Sqlite.SqliteError && error.code.startsWith("SQLITE_BUSY")) {
        const remedy = "stop it first, or set another DATA_DIR for this one";
        throw new StoreFailure(
          "in_use",
          `another agent is running on ${dataDir}; ${remedy}`,
          error,
        );
      }
      throw StoreFailure.from(error, `cannot lock ${dataDir}`);
    }
  }

  /** Creates and writes nothing. False also where this user may not find out. */
  static isHeld(dataDir: string, nativeBinding?: string): boolean {
    let db: Sqlite.Database | null = null;
    try {
      db = new Sqlite(join(dataDir, "gateside.lock"), {
        readonly: true,
        timeout: 0,
        ...(nativeBinding === undefined ? {} : { nativeBinding }),
      });
      db.pragma("schema_version");
      return false;
    } catch (error) {
      return error instanceof Sqlite.SqliteError && error.code.startsWith("SQLITE_BUSY");
    } finally {
      db?.close();
    }
  }

  release(): void {
    this.#db.close();
  }
}
