import { readFileSync } from "node:fs";

/** How long the first thread of a program has waited for a processor, ms: on a busy machine others run beside it. */
export function starvedMs(pid = process.pid): number {
  try {
    const schedstat = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8");
    return Number(schedstat.split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
