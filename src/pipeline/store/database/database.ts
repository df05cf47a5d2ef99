import { accessSync, constants, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { SalvagedTable } from "../recovery/salvaged-tables.ts";
import { DamagedRows, type DamageListener } from "./damaged-rows.ts";
import { checkFile, createFile, PAGE_BYTES, placeOf, sizeOf } from "./database-file.ts";
import { APPLICATION_ID, addFeatures, migrate, requireKnownVersion } from "./migrate.ts";
import type { SchemaStep } from "./schema-step.ts";
import { StoreFailure } from "./store-failure.ts";

type Column = string | number | Buffer | null;
type Statement<T> = Sqlite.Statement<unknown[], T>;

/** Frames of the -wal, and those of them that are in the file, too. */
export interface LogFrames {
  readonly log: number;
  readonly checkpointed: number;
}

/** Of a command, which may wait for another program, ms. */
export const COMMAND_BUSY_MS = 5000;

export interface DatabaseOptions {
  readonly dataDir: string;
  /** Path of better_sqlite3.node; undefined lets the package find it. */
  readonly nativeBinding?: string | undefined;
  /** Those of features, ascending. */
  readonly steps?: readonly SchemaStep[] | undefined;
  /** Size of the -wal at which it is checkpointed, bytes. */
  readonly checkpointBytes: number;
  /** A row of this table cannot be read. */
  readonly onDamaged?: DamageListener;
  /** How long a lock of another program is waited for, ms; 0 unless given: whoever waits does so on a timer. */
  readonly busyTimeoutMs?: number;
}

/** Pages that the reading connection keeps, kB. */
const CACHE_KB = 2_000;
/** During the start, when the newest readings of all sensors are looked up several times: each page is read from the file once. */
const START_CACHE_KB = 8_000;
/** Maximum size of the -wal after a checkpoint, bytes. */
const JOURNAL_SIZE_LIMIT = 1 << 20;
/**
 * Two connections on gateside.db: one writes, one reads only what is committed, so that no reader sees rows of an
 * unfinished transaction. Statements are prepared once and again after `reopen`.
 */
export class Database {
  readonly path: string;
  readonly damaged: DamagedRows;
  readonly #options: DatabaseOptions;
  readonly #writes = new Map<string, Statement<unknown>>();
  readonly #reads = new Map<string, Statement<unknown>>();
  readonly #arrayReads = new Map<string, Statement<unknown>>();
  #writer: Sqlite.Database | null = null;
  #reader: Sqlite.Database | null = null;
  /** Of the open file. */
  #pageBytes = PAGE_BYTES;
  #bytesMax = 0;
  /** Of the reading connection. */
  #cacheKb = START_CACHE_KB;
  #isShut = false;
  #isReadOnly = false;
  /** Device and inode of the file that the connections have open. */
  #place = "";

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.path = join(options.dataDir, "gateside.db");
    this.damaged = new DamagedRows(options.onDamaged);
  }

  /** Opens an existing file, or creates it. Throws StoreFailure `corrupt` for a file that is damaged or not ours. */
  open(): void {
    const existed = existsSync(this.path);
    if (!existed)
      createFile(this.path, this.#options.dataDir, (path) => this.#connection(path, false));
    else if (statSync(this.path).size === 0) {
      throw new StoreFailure("corrupt", `${this.path} is empty`);
    }
    const wasUnclean = existed && sizeOf(`${this.path}-wal`) > 0;
    try {
      this.#connect();
      checkFile(this.writer, this.path, wasUnclean);
    } catch (error) {
      this.disconnect();
      throw StoreFailure.from(error, `cannot open ${this.path}`);
    }
  }

  get featureTables(): readonly SalvagedTable[] {
    return (this.#options.steps ?? []).flatMap(({ tables }) => tables);
  }

  /** While an agent may be running: reads only, takes no lock, changes nothing. */
  openReadOnly(): void {
    if (!existsSync(this.path))
      throw new StoreFailure(
        "missing",
        `${this.path} does not exist; no agent has run with this DATA_DIR yet`,
      );
    try {
      this.#isReadOnly = true;
      this.#reader = this.#connection(this.path, true);
      if (Number(this.#reader.pragma("application_id", { simple: true })) !== APPLICATION_ID) {
        throw new StoreFailure("corrupt", `${this.path} is not a Gateside store`);
      }
      requireKnownVersion(this.#reader, this.path);
    } catch (error) {
      this.close();
      throw StoreFailure.from(error, `cannot read ${this.path}`);
    }
  }

  #connection(path: string, readonly: boolean): Sqlite.Database {
    const { nativeBinding } = this.#options;
    return new Sqlite(path, {
      readonly,
      timeout: this.#options.busyTimeoutMs ?? 0,
      ...(nativeBinding === undefined ? {} : { nativeBinding }),
    });
  }

  #connect(): void {
    const writer = this.#connection(this.path, false);
    this.#writer = writer;
    if (Number(writer.pragma("application_id", { simple: true })) !== APPLICATION_ID) {
      throw new StoreFailure("corrupt", `${this.path} is another program's database`);
    }
    writer.pragma("journal_mode = WAL");
    // better-sqlite3 is compiled with NORMAL for WAL: without this a power cut loses acknowledged commits.
    writer.pragma("synchronous = FULL");
    this.#pageBytes = Number(writer.pragma("page_size", { simple: true }));
    this.checkpointAtCommit(true);
    this.keepLog(true);
    writer.pragma("mmap_size = 0");
    writer.pragma("temp_store = MEMORY");
    writer.pragma("foreign_keys = OFF");
    writer.pragma("cache_size = -8000");
    const settings = ["synchronous", "journal_mode"].map((name) =>
      String(writer.pragma(name, { simple: true })),
    );
    if (settings.join() !== "2,wal") {
      throw new StoreFailure(
        "io",
        `${this.path} does not support WAL and FULL: ${settings.join()}`,
      );
    }
    migrate(writer, this.path);
    addFeatures(writer, this.#options.steps ?? []);
    this.#place = placeOf(this.path);
    this.#cap();
    this.#reader = this.#connection(this.path, true);
    this.#reader.pragma("mmap_size = 0");
    this.#reader.pragma(`cache_size = -${this.#cacheKb}`);
  }

  /** Everything that a start looks up has been read. */
  started(): void {
    this.#cacheKb = CACHE_KB;
    this.#reader?.pragma(`cache_size = -${CACHE_KB}`);
  }

  /** False if the file was deleted or replaced under the open connections: what they write is then lost. */
  get isInPlace(): boolean {
    return this.#writer === null || placeOf(this.path) === this.#place;
  }

  /** Whether the file system would let this process write the file. */
  get mayBeWritten(): boolean {
    try {
      accessSync(this.path, constants.R_OK | constants.W_OK);
      return true;
    } catch {
      return false;
    }
  }

  get isOpen(): boolean {
    return this.#reader !== null && (this.#writer !== null || this.#isReadOnly);
  }

  /** That of a file opened to read refuses to write. */
  get writer(): Sqlite.Database {
    return this.#writer ?? (this.#isReadOnly ? this.reader : this.#missing());
  }

  get reader(): Sqlite.Database {
    return this.#reader ?? this.#missing();
  }

  #missing(): never {
    if (this.#isShut) throw new StoreFailure("closed", `${this.path} is closed`);
    throw new StoreFailure("io", `${this.path} could not be reopened yet`);
  }

  /** A statement of the writing connection: it sees what the running transaction has written. */
  write<T = unknown>(sql: string): Statement<T> {
    return prepared(this.#writes, sql, () => this.writer.prepare(sql));
  }

  /** A statement of the reading connection: it sees what is committed. */
  read<T = unknown>(sql: string): Statement<T> {
    return prepared(this.#reads, sql, () => this.reader.prepare(sql));
  }

  /** The same with rows as arrays, which take less time than objects. */
  readArrays<R extends readonly Column[]>(sql: string): Statement<R> {
    return prepared(this.#arrayReads, sql, () => this.reader.prepare(sql).raw(true));
  }

  /** Page size of the open file, bytes: files of earlier versions have larger pages. */
  get pageBytes(): number {
    return this.#pageBytes;
  }

  /** Rows written by the open connection, those that were rolled back included. */
  get changes(): number {
    return Number(this.write("SELECT total_changes()").pluck().get());
  }

  /** The file grows to at most this many of its pages; 0 is unlimited. */
  capPages(pagesMax: number): boolean {
    // In bytes: a damaged file may be replaced by one with other pages.
    const before = this.#bytesMax;
    this.#bytesMax = pagesMax * this.#pageBytes;
    if (this.#writer !== null) this.#cap();
    return this.#bytesMax > before;
  }

  #cap(): void {
    if (this.#bytesMax <= 0) return;
    this.writer.pragma(`max_page_count = ${Math.floor(this.#bytesMax / this.#pageBytes)}`);
  }

  /** Whether commits copy the log into the file once it is long enough. */
  checkpointAtCommit(isOn: boolean): void {
    this.writer.pragma(`wal_autocheckpoint = ${isOn ? this.checkpointPages : 0}`);
  }

  /** Length of the log at which it is copied. */
  get checkpointPages(): number {
    return Math.floor(this.#options.checkpointBytes / this.#pageBytes);
  }

  /** False: the log is shortened to what it holds each time that it begins anew. */
  keepLog(isKept: boolean): void {
    this.writer.pragma(`journal_size_limit = ${isKept ? JOURNAL_SIZE_LIMIT : 0}`);
  }

  /** Nothing is copied. */
  logFrames(): LogFrames {
    return this.#checkpoint("NOOP");
  }

  /** Copies what no reader needs, and waits for nobody. */
  copyLog(): LogFrames {
    return this.#checkpoint("PASSIVE");
  }

  #checkpoint(mode: "NOOP" | "PASSIVE"): LogFrames {
    const frames = this.write<LogFrames>(`PRAGMA wal_checkpoint(${mode})`).get();
    return frames ?? { log: 0, checkpointed: 0 };
  }

  /** Permanently. */
  close(): void {
    this.#isShut = true;
    this.disconnect();
  }

  /** Until the next `open`. */
  disconnect(): void {
    this.#writes.clear();
    this.#reads.clear();
    this.#arrayReads.clear();
    const connections = [this.#reader, this.#writer];
    this.#reader = null;
    this.#writer = null;
    // The reader first: the last one to close, the writer, checkpoints and removes the -wal.
    for (const connection of connections) connection?.close();
  }
}

/** @typeParam T the columns that the statement selects */
function prepared<T>(
  known: Map<string, Statement<unknown>>,
  sql: string,
  prepare: () => Statement<unknown>,
): Statement<T> {
  let statement = known.get(sql);
  if (statement === undefined) {
    statement = prepare();
    known.set(sql, statement);
  }
  return statement as Statement<T>;
}
