import { readFileSync } from "node:fs";

/** CPU time of the calling thread since it began, ms. */
function threadCpuMs(): number {
  return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
}

/**
 * The longest turn of the calling thread while this work is done, ms of its own CPU time: what other programs take of the
 * machine does not count, nor do other threads.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let longestMs = 0;
  let beforeMs = threadCpuMs();
  const look = () => {
    const nowMs = threadCpuMs();
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    if (isOver) return;
    beforeMs = threadCpuMs();
    setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return longestMs;
}
