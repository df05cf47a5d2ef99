/** The thread of LogCopier: copies the log into the file whenever it is told to. */
import { parentPort, workerData } from "node:worker_threads";
import Sqlite from "better-sqlite3";
import type { LogFrames } from "./pipeline/store/database/database.ts";
import type { CopyOrder, CopyReport } from "./pipeline/store/space/log-copier.ts";

const { path, nativeBinding }: CopyOrder = workerData;
let db: Sqlite.Database | null = null;

parentPort?.on("message", () => parentPort?.postMessage(report()));

function report(): CopyReport {
  try {
    db ??= new Sqlite(path, {
      fileMustExist: true,
      timeout: 0,
      ...(nativeBinding === undefined ? {} : { nativeBinding }),
    });
    const frames = db.prepare<[], LogFrames>("PRAGMA wal_checkpoint(PASSIVE)").get();
    return { frames: frames ?? { log: 0, checkpointed: 0 } };
  } catch (error) {
    // Its file may have been replaced.
    db?.close();
    db = null;
    if (!(error instanceof Error)) throw error;
    const { code = "", message }: NodeJS.ErrnoException = error;
    return { code, message };
  }
}
