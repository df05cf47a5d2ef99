/**
 * Runs `work` with a signal that aborts with `signal`, or after `ms`. The timer is held until `work` has ended: Node 20 collects an
 * `AbortSignal.timeout` that only an `AbortSignal.any` knows before it fires, and the limit vanishes.
 */
export async function withinMs<T>(
  signal: AbortSignal | null,
  ms: number,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new DOMException(`not done within ${ms} ms`, "TimeoutError")),
    ms,
  );
  const stop = () => limit.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
