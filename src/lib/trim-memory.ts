import { existsSync } from "node:fs";
import { createRequire } from "node:module";

interface NativeMemory {
  trim?(): void;
}

/** Shortest and longest time between two trims, ms. */
const PAUSE_MS = { min: 1_000, max: 10 * 60_000 };
/** Growth since the last trim from which the next one follows soon, bytes. */
const GROWTH_BYTES = 4 << 20;

/**
 * Returns unused memory to the kernel: free heap, and pages of the program that have not been used since; about 40 MB on
 * a small board. At once, so that the first reads do not add to what the start needed; then every second while memory
 * grows, as in a backfill; otherwise less and less often. Does nothing without the native module, which only packages
 * contain. Returns a function that stops it.
 * @param nativePath path of sdnotify.node
 */
export function trimMemoryRegularly(nativePath: string): () => void {
  if (!existsSync(nativePath)) return () => {};
  const { trim }: NativeMemory = createRequire(nativePath)(nativePath);
  // A module of an earlier version lacks it.
  if (trim === undefined) return () => {};
  let pauseMs = PAUSE_MS.min;
  let trimmedBytes = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout;
  const next = () => {
    const hasGrown = process.memoryUsage.rss() > trimmedBytes + GROWTH_BYTES;
    trim();
    trimmedBytes = process.memoryUsage.rss();
    pauseMs = hasGrown ? PAUSE_MS.min : Math.min(PAUSE_MS.max, 2 * pauseMs);
    timer = setTimeout(next, pauseMs);
    timer.unref();
  };
  trim();
  timer = setTimeout(next, pauseMs);
  timer.unref();
  return () => clearTimeout(timer);
}
