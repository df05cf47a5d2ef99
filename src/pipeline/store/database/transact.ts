import { type Tx, UnitOfWork } from "../../../core/tx.ts";
import type { Database } from "./database.ts";

/** Writes in its own transaction. If that fails, memory is as before when the error is thrown. */
export function transact<T>(db: Database, write: (tx: Tx) => T): T {
  const tx = new UnitOfWork();
  let result: T;
  try {
    result = db.writer.transaction(() => write(tx)).immediate();
  } catch (error) {
    followDisk(() => tx.rolledBack());
    throw error;
  }
  followDisk(() => tx.committed());
  return result;
}

/**
 * Makes memory match the disk after a transaction. If it cannot, the process ends, and reads the disk again after its
 * restart; false tells that nobody who waits for the transaction may continue meanwhile.
 */
export function followDisk(follow: () => void): boolean {
  try {
    follow();
    return true;
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
    return false;
  }
}
