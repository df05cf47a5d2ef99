import type { Database } from "../database/database.ts";
import { oneStep } from "../database/write-job.ts";
import type { WriteQueue } from "../database/write-queue.ts";
import type { BufferMonitor } from "./buffer-monitor.ts";

interface ShrinkParts {
  readonly db: Database;
  readonly queue: WriteQueue;
  readonly monitor: BufferMonitor;
}

/** What incremental vacuum returns in one go, bytes. */
const VACUUM_BYTES = 1 << 20;
const VACUUM_BYTES_MIN = 128 << 10;
/** For the queue: it is as much work as a slice of removals. */
const VACUUM_ROWS = 200;
/** Share of the file that stays free when the disk needs space; more than the high-water mark leaves. */
const FREE_SHARE_KEPT = 0.12;
/** Share of the file that may be free before it shrinks, and bytes. */
const FREE_SHARE_MAX = 0.25;
const FREE_BYTES_MIN = 4 << 20;

/**
 * Returns free pages to the disk if there are many or the disk needs them.
 * @param fileBytesMax allowed size of the file
 */
export async function shrink(
  { db, monitor, queue }: ShrinkParts,
  fileBytesMax: number,
): Promise<void> {
  for (;;) {
    const { all, free } = monitor.pages();
    const pagesOf = (bytes: number) => bytes / db.pageBytes;
    const isMuch = free > Math.max(pagesOf(FREE_BYTES_MIN), all * FREE_SHARE_MAX);
    const fileMax = pagesOf(fileBytesMax);
    const isNeeded = all > fileMax || monitor.diskShortageBytes() > 0;
    // Some stay for new readings: without them the next pass would have to drop pending ones.
    const pages = Math.min(pagesOf(VACUUM_BYTES), free - Math.ceil(all * FREE_SHARE_KEPT));
    if (pages < pagesOf(VACUUM_BYTES_MIN) || (!isMuch && !isNeeded)) return;
    const vacuum = () => db.writer.exec(`PRAGMA incremental_vacuum(${pages})`);
    await queue.enqueue(oneStep("retention", VACUUM_ROWS, vacuum), 0);
    if (monitor.pages().all >= all) return;
    // The file is truncated only at a checkpoint.
    if (!isNeeded) continue;
    await queue.betweenWrites();
    db.copyLog();
    db.keepLog(monitor.diskShortageBytes() <= 0);
  }
}
