import { deadlineMs } from "./deadline.ts";

/** Looking again lets sockets and timers of this process take their turn. */
const LOOK_MS = 5;

/** Waits until the condition holds; rejects with `what` once the deadline, scaled to the machine, is over. */
export async function waitUntil(
  what: string,
  holds: () => boolean | undefined | Promise<boolean>,
  timeoutMs = 20_000,
): Promise<void> {
  const end = performance.now() + deadlineMs(timeoutMs);
  while ((await holds()) !== true) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
