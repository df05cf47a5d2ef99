/** Measurements of a process and of a series of pairs. Linux only: it reads /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** CPU time of all threads of a process so far, ms. The kernel counts nanoseconds, so a single poll round is visible. */
export function cpuMs(pid: number): number {
  let sum = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      sum += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      // The thread ended between the list and the read.
    }
  }
  return sum / 1e6;
}

/** Bytes the process made dirty on block devices so far. */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

/** Resident memory now and at its peak, MB. */
export function residentMb(pid: number): { readonly now: number; readonly peak: number } {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Nearest rank. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const index = Math.ceil((percent / 100) * sorted.length) - 1;
  return sorted[Math.max(0, Math.min(sorted.length - 1, index))] ?? Number.NaN;
}

/** Ratio of each pair, ours / theirs, and their median. */
export function ratioOf(
  pairs: readonly { readonly ours: number; readonly theirs: number }[],
): number {
  return median(pairs.map(({ ours, theirs }) => ours / theirs));
}

/** CPU time of this process while `work` runs, ms. */
export function ownCpuMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits for a condition that another process brings about; throws after `timeoutMs`. */
export async function until(what: string, test: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!test()) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await sleep(2);
  }
}
