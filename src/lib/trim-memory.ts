import { existsSync } from "node:fs";
import { createRequire } from "node:module";

interface NativeMemory {
  trim?(): void;
}

/**
 * At once, so that the first reads do not add to what the start needed; after the first round of polls; then often
 * enough that memory used by a backfill is not kept permanently.
 */
const FIRST_MS = 30_000;
const EVERY_MS = 10 * 60_000;

/**
 * Returns unused memory to the kernel from time to time: free heap, and pages of the program that only the start
 * needed; about 40 MB on a small board. Does nothing without the native module, which only packages contain. Returns a
 * function that stops it.
 * @param nativePath path of sdnotify.node
 */
export function trimMemoryRegularly(nativePath: string): () => void {
  if (!existsSync(nativePath)) return () => {};
  const { trim } = createRequire(nativePath)(nativePath) as NativeMemory;
  // A module of an earlier version lacks it.
  if (trim === undefined) return () => {};
  trim();
  const first = setTimeout(() => trim(), FIRST_MS);
  const later = setInterval(() => trim(), EVERY_MS);
  first.unref();
  later.unref();
  return () => {
    clearTimeout(first);
    clearInterval(later);
  };
}
