/** Rows processed before other work gets a turn: about a millisecond on a small box. */
export const YIELD_EVERY = 50;

/** Yields to sockets, timers and the poller. */
export function yieldToLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
