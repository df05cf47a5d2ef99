import { CallFailure, type FailureClass } from "../../core/failure.ts";
import { messageOf } from "../../core/thrown.ts";
import type { DayResult } from "../decode/day-reader.ts";
import type { DayOutcome } from "./day-read.ts";

/** How much of a service's own text is shown, characters. */
const DESCRIPTION_MAX = 500;

/** Complete records of such a response may be used in the end (services section 5, "Commit"). */
export function isCut(failureClass: FailureClass): boolean {
  return failureClass === "truncated" || failureClass === "too_large";
}

/** Why a response that did not end normally was abandoned. */
export function failureOf(
  result: DayResult,
  redact: (text: string) => string = (text) => text,
): CallFailure {
  switch (result.outcome) {
    case "service_status":
      return new CallFailure({
        failureClass: "service_status",
        statusNumber: result.statusNumber,
        message: `the gateway returned status ${result.statusNumber}: ${redact(result.description).slice(0, DESCRIPTION_MAX)}`,
      });
    case "too_large":
      return new CallFailure({
        failureClass: "too_large",
        message: `the day exceeds a limit: ${result.detail}`,
      });
    case "not_json":
      return new CallFailure({
        failureClass: "not_json",
        snippet: result.snippet,
        message: `the response is not JSON: ${result.snippet}`,
      });
    case "malformed":
      return new CallFailure({
        failureClass: "not_json",
        code: "malformed",
        message: `the response is JSON, but not in the expected form: ${result.detail}`,
      });
    case "truncated":
    case "complete":
    case "prefix_changed":
    case "prefix_short":
      return new CallFailure({
        failureClass: "truncated",
        message: "the response ended before it was complete",
      });
  }
}

/** The result of a read that was abandoned. */
export function failedRead(error: unknown, isAborted: boolean): DayOutcome {
  if (error instanceof CallFailure) {
    return {
      ok: false,
      failureClass: isAborted ? "aborted" : error.failureClass,
      isGatewayFault: error.isGatewayFault,
      retryAfterMs: error.retryAfterMs,
      message: error.message,
    };
  }
  // Faults of the store (a full disk, an I/O error) are temporary; the day is simply read again.
  const message = messageOf(error);
  return {
    ok: false,
    failureClass: "transient",
    isGatewayFault: false,
    isStoreFault: true,
    retryAfterMs: null,
    message,
  };
}
