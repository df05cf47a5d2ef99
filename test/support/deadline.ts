/** How many times slower this machine is than the one the deadlines were written on, as scripts/test/run.mjs measured it. */
export const SLOWNESS = Math.max(1, Number(process.env["GATESIDE_TEST_SLOWNESS"] ?? 1) || 1);
/** A machine that was idle when it was measured may be busy when it matters; only a test that fails waits so long. */
const PATIENCE = 4;

/** A deadline for something that must happen: `ms` would do on the usual machine when it is idle. */
export function deadlineMs(ms: number): number {
  return Math.round(ms * SLOWNESS * PATIENCE);
}

/** Something that had to happen did not before its deadline: by the name, a run of all tests tells it from a wrong result. */
export class DeadlineError extends Error {
  override readonly name = "TimeoutError";
}
