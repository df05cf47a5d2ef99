/** Rows worked on before other work gets its turn: about a millisecond on a small box. */
export const BREATH_EVERY = 50;

/** Lets sockets, timers and the poller go first. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
