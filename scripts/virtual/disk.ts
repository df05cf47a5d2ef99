/**
 * The disk of one process: its database connections, and the faults of what they write. A crash leaves what the kernel has:
 * a copy of the files as they are at that moment, taken before anything else can change them.
 */
import { cpSync, lstatSync } from "node:fs";
import Sqlite from "better-sqlite3";

export type DiskFault = "full" | "read only" | "write error" | "sync error";

/** What SQLite reports. A disk that is full is one whose file cannot grow; deletions still succeed. */
const FAULTS = {
  "read only": ["BEGIN", "SQLITE_READONLY", "attempt to write a readonly database"],
  "write error": ["COMMIT", "SQLITE_IOERR_WRITE", "disk I/O error"],
  "sync error": ["COMMIT", "SQLITE_IOERR_FSYNC", "disk I/O error"],
} as const;

const BLOCK_BYTES = 4096;
const FREE_BLOCKS = 1 << 24;

export interface DiskHooks {
  /** Before and after each COMMIT; may end the process by throwing. */
  beforeCommit?(): void;
  afterCommit?(): void;
  /** The same for each file that is put in its place. */
  beforeRename?(): void;
  afterRename?(): void;
}

export class Disk {
  #fault: DiskFault | null = null;
  /** It was full at some time since a check last looked; that look resets it. */
  wasFull = false;
  hooks: DiskHooks = {};
  commits = 0;
  readonly #connections = new Set<Sqlite.Database>();

  get fault(): DiskFault | null {
    return this.#fault;
  }
  set fault(fault: DiskFault | null) {
    this.#fault = fault;
    this.wasFull ||= fault === "full";
  }

  /** The module `better-sqlite3` of this process. Its errors are the shared ones. */
  get sqlite(): typeof Sqlite {
    const open = (path: string, options: Sqlite.Options) => this.#open(path, options);
    function OwnSqlite(path: string, options: Sqlite.Options = {}) {
      return open(path, options);
    }
    OwnSqlite.prototype = Sqlite.prototype;
    return Object.assign(OwnSqlite, {
      SqliteError: Sqlite.SqliteError,
    }) as unknown as typeof Sqlite;
  }

  /** The lock of the directory is a transaction that lasts as long as the process. */
  get isWriting(): boolean {
    return [...this.#connections].some((db) => db.inTransaction && !db.name.endsWith(".lock"));
  }

  statfs() {
    const bavail = this.fault === "full" ? 0 : FREE_BLOCKS;
    return {
      type: 0,
      bsize: BLOCK_BYTES,
      blocks: 2 * FREE_BLOCKS,
      bfree: bavail,
      bavail,
      files: 1,
      ffree: 1,
    };
  }

  /** Closes what a dead process left open. */
  close(): void {
    for (const db of this.#connections) db.close();
    this.#connections.clear();
  }

  /** The files as the kernel has them. Sockets and `-shm` are not on the disk. */
  static copy(from: string, to: string): void {
    const isKept = (path: string) =>
      !path.endsWith("-shm") && !path.endsWith(".sock") && !lstatSync(path).isSocket();
    cpSync(from, to, { recursive: true, filter: isKept });
  }

  #open(path: string, options: Sqlite.Options): Sqlite.Database {
    const db = new Sqlite(path, options);
    this.#connections.add(db);
    const exec = db.exec.bind(db);
    db.exec = (sql) => {
      if (sql.startsWith("BEGIN")) this.#limit(db);
      this.#fail(sql);
      if (sql !== "COMMIT") return exec(sql);
      this.commits += 1;
      this.hooks.beforeCommit?.();
      exec(sql);
      this.hooks.afterCommit?.();
      return db;
    };
    const close = db.close.bind(db);
    db.close = () => {
      this.#connections.delete(db);
      return close();
    };
    return db;
  }

  #fail(sql: string): void {
    if (this.fault === null || this.fault === "full") return;
    const [at, code, message] = FAULTS[this.fault];
    if (sql.startsWith(at)) throw new Sqlite.SqliteError(message, code);
  }

  readonly #limits = new Map<Sqlite.Database, number>();

  /** A file that may not grow, while the disk is full. */
  #limit(db: Sqlite.Database): void {
    const before = this.#limits.get(db);
    if (this.fault === "full" && before === undefined) {
      this.#limits.set(db, Number(db.pragma("max_page_count", { simple: true })));
      db.pragma(`max_page_count = ${Number(db.pragma("page_count", { simple: true }))}`);
    } else if (this.fault !== "full" && before !== undefined) {
      this.#limits.delete(db);
      db.pragma(`max_page_count = ${before}`);
    }
  }
}
