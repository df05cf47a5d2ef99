import { setTimeout as sleep } from "node:timers/promises";

const CHECK_MS = 20;

/** A wait with a deadline: nothing in a campaign may hang silently. */
export async function within<T>(promise: Promise<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves once the condition holds or the time is up. */
export async function until(holds: () => boolean, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!holds() && Date.now() < deadline) await sleep(CHECK_MS);
}
