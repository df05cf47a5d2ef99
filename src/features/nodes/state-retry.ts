/** When a state read that failed is tried again. */

import { CallFailure } from "../../core/failure.ts";

import type { StateJob } from "./state-job.ts";

export function retryIn(error: unknown, job: StateJob): number {
  const { intervalMs, backoff } = job;
  if (!(error instanceof CallFailure)) return backoff.next();
  const own = (): number => {
    switch (error.failureClass) {
      case "service_status":
      case "configuration":
        return intervalMs;
      case "request":
        return Math.max(REQUEST_RETRY_MS, backoff.next());
      case "transient":
      case "not_json":
      case "truncated":
      case "too_large":
      case "aborted":
        return backoff.next();
    }
  };
  return Math.max(own(), error.retryAfterMs ?? 0);
}

/** True if every other read of the same source would fail the same way. */
export function isSourceAway(error: unknown): boolean {
  if (error instanceof CallFailure) return error.isGatewayFault;
  return error instanceof Error && "isDeviceAway" in error && error.isDeviceAway === true;
}

/**
 * The gateway may be being redeployed: an operation that it rejects as a wrong request is retried after this long,
 * ms.
 */
const REQUEST_RETRY_MS = 300_000;
