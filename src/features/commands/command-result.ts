/** The result of a command: refused here, answered by the service, or unknown. */
import { type CommandResult, INTERRUPTED, type LoggedOutcome } from "../../core/command.ts";
import type { CallFailure } from "../../core/failure.ts";

/** The outcome of an earlier, identical request. */
export function remembered({ outcome, statusNumber, description }: LoggedOutcome): CommandResult {
  if (outcome === null)
    return { ok: false, outcome: "unknown", statusNumber: null, description: INTERRUPTED };
  return { ok: outcome === "queued", outcome, statusNumber, description: description ?? "" };
}

/** Refused here: the gateway was not called. */
export function rejectedLocally(description: string): CommandResult {
  return { ok: false, outcome: "rejected_local", statusNumber: null, description };
}

export function resultOfResponse(response: {
  statusNumber: number;
  description: string;
}): CommandResult {
  const ok = response.statusNumber === 0;
  return {
    ok,
    outcome: ok ? "queued" : "rejected_service",
    statusNumber: response.statusNumber,
    description: response.description,
  };
}

/**
 * The service refused permanently, or there is no response (a timeout, a reset), whether it has acted or not. The
 * gateway is called once (contract section 8): repeating a lost call, with other correlation data, is the sender's
 * decision.
 */
export function resultOfFailure(failure: CallFailure): CommandResult {
  const { statusNumber, failureClass, code, message } = failure;
  const isNo =
    statusNumber !== null || failureClass === "request" || failureClass === "configuration";
  if (isNo) return { ok: false, outcome: "rejected_service", statusNumber, description: message };
  const isUnreached = ["connect", "name_resolution", "tls"].includes(code);
  return {
    ok: false,
    outcome: "unknown",
    statusNumber: null,
    description: isUnreached ? message : `the settings may or may not be queued: ${message}`,
  };
}
