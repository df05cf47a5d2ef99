/**
 * For what no event announces: looks again and again. Deadlines scale with the machine, and only a test that fails
 * waits for one.
 */
import { DeadlineError, deadlineMs } from "./deadline.ts";

type Text = string | (() => string);

/** Between looks at this process: its sockets and timers take their turn. */
const OWN_PAUSE_MS = 5;
/** Between looks at another process: each look costs both processes CPU time. */
export const OTHER_PAUSE_MS = 100;

/** False if the condition does not hold before the deadline. */
export async function holdsWithin(
  timeoutMs: number,
  holds: () => boolean | undefined | Promise<boolean>,
  pauseMs = OWN_PAUSE_MS,
): Promise<boolean> {
  const end = performance.now() + deadlineMs(timeoutMs);
  while ((await holds()) !== true) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return true;
}

/** Waits until the condition holds in this process; rejects with `what` after the deadline. */
export async function waitUntil(
  what: Text,
  holds: () => boolean | undefined | Promise<boolean>,
  timeoutMs = 20_000,
  pauseMs = OWN_PAUSE_MS,
): Promise<void> {
  if (await holdsWithin(timeoutMs, holds, pauseMs)) return;
  throw new DeadlineError(
    `not within ${timeoutMs} ms: ${typeof what === "string" ? what : what()}`,
  );
}

/** Looks at another process until it finds something, which is returned; rejects with `what` after the deadline. */
export async function until<T>(
  what: Text,
  look: () => Promise<T | undefined> | T | undefined,
  timeoutMs = 30_000,
): Promise<T> {
  let found: T | undefined;
  const holds = async () => {
    found = await look();
    return found !== undefined;
  };
  await waitUntil(what, holds, timeoutMs, OTHER_PAUSE_MS);
  return found as T;
}
