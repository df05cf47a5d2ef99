import { codeOf, messageOf } from "../../../core/thrown.ts";
export type StoreFailureCode =
  /** Another agent holds the directory. */
  | "in_use"
  /** DATA_DIR cannot be used: a file in its place, no permission, a read-only or special file system. */
  | "unusable"
  /** The file was written by a newer program. */
  | "schema_newer"
  /** No database to read. */
  | "missing"
  /** The page limit is reached or the disk is full. */
  | "full"
  /** The file or its directory cannot be written. */
  | "readonly"
  /** Another program holds the store: its lock, or the log that it keeps from being shortened. */
  | "held"
  /** The disk failed. */
  | "io"
  /** The file is damaged. */
  | "corrupt"
  | "closed"
  /** A bug of this program. */
  | "internal";

/** How the store fails. Nothing of a failed append or settlement was counted. */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure";
  readonly code: StoreFailureCode;
  /** True if the same call may work once the disk has recovered. */
  readonly isRetryable: boolean;
  /** SQLite's error code, e.g. SQLITE_IOERR_FSYNC. */
  readonly sqliteCode: string | null;

  constructor(code: StoreFailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.isRetryable = ["full", "readonly", "held", "io", "corrupt"].includes(code);
    this.sqliteCode = sqliteCode(cause);
  }

  /** SQLite reports a -shm that has no space as an I/O error. */
  get isOutOfSpace(): boolean {
    return this.code === "full" || (this.sqliteCode?.startsWith("SQLITE_IOERR_SHM") ?? false);
  }

  /** Another program has the lock at this moment. */
  get isBusy(): boolean {
    return this.sqliteCode?.startsWith("SQLITE_BUSY") ?? false;
  }

  /**
   * SQLite opens a file that cannot be written for reading only, without saying so, and keeps it so: it is opened anew
   * once it can be written.
   */
  needsNewConnection(file: { readonly mayBeWritten: boolean }): boolean {
    if (this.code === "readonly") return file.mayBeWritten;
    return this.code === "corrupt" || (this.sqliteCode?.startsWith("SQLITE_IOERR") ?? false);
  }

  static from(cause: unknown, subject: string): StoreFailure {
    if (cause instanceof StoreFailure) return cause;
    const code = classify(sqliteCode(cause) ?? systemCode(cause));
    const detail = messageOf(cause);
    return new StoreFailure(code, `${subject}: ${detail}`, cause);
  }
}

/** The disk or the file failed, not the rules that were at work: SQLite may have rolled the transaction back by itself. */
export function isStoreFault(error: unknown): boolean {
  return StoreFailure.from(error, "").code !== "internal";
}

function sqliteCode(cause: unknown): string | null {
  const code = systemCode(cause);
  return code?.startsWith("SQLITE_") ? code : null;
}

function systemCode(cause: unknown): string | null {
  const code = cause instanceof Error ? codeOf(cause) : null;
  return typeof code === "string" ? code : null;
}

function classify(code: string | null): StoreFailureCode {
  if (code === null) return "internal";
  if (code === "SQLITE_FULL" || code === "ENOSPC" || code === "EDQUOT") return "full";
  if (code.startsWith("SQLITE_READONLY") || code === "EROFS" || code === "EACCES") {
    return "readonly";
  }
  if (code === "EPERM" || code === "SQLITE_PERM" || code === "SQLITE_AUTH") return "readonly";
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") return "corrupt";
  if (code === "SQLITE_IOERR_CORRUPTFS") return "io";
  if (code.startsWith("SQLITE_IOERR") || code.startsWith("SQLITE_CANTOPEN")) return "io";
  if (code.startsWith("SQLITE_BUSY")) return "held";
  if (code === "SQLITE_PROTOCOL" || code === "EIO") return "io";
  return "internal";
}
