/**
 * Since when a machine has shown a condition, by the times of its stored readings: also those that come late, as on a
 * first start, which reads the newest day first. Late readings come in runs, each in order of time.
 */
export interface Since {
  /** Without the run under way, ms. */
  readonly ms: number;
  /** From where on the run under way shows it; null while its newest reading does not. */
  readonly runMs: number | null;
  /** The newest reading before it that did not show it, in its order or late. */
  readonly normalMs: number | null;
  /** The last reading of the run under way. */
  readonly lastMs: number | null;
}

/** @param normalMs of the newest reading in its order that did not show it, if one is known */
export function sinceFrom(ms: number, normalMs: number | null = null): Since {
  return { ms, runMs: null, normalMs, lastMs: null };
}

export function sinceMs({ ms, runMs }: Since): number {
  return runMs ?? ms;
}

/** Takes a late reading that says nothing: it only goes on with its run, or begins one. */
export function passed(before: Since, timeMs: number): Since {
  const isSameRun = before.lastMs !== null && timeMs > before.lastMs;
  const run = isSameRun ? {} : { ms: sinceMs(before), runMs: null };
  return { ...before, ...run, lastMs: timeMs };
}

/** Takes a late reading. */
export function extended(before: Since, timeMs: number, isShown: boolean): Since {
  const since = passed(before, timeMs);
  if (timeMs >= since.ms) return since;
  if (!isShown)
    return { ...since, runMs: null, normalMs: Math.max(timeMs, before.normalMs ?? timeMs) };
  const isUnbroken = before.normalMs === null || timeMs > before.normalMs;
  return isUnbroken ? { ...since, runMs: since.runMs ?? timeMs } : since;
}
