/**
 * How the failure of a call is treated (services section 5 "HTTP classes").
 * transient: back off and retry · request: retry after 5 min · configuration: slow retry, needs an operator ·
 * service_status: Key.StatusNumber ≠ 0, retry at the normal interval · too_large: complete records are kept.
 */
export type FailureClass =
  | "transient"
  | "request"
  | "configuration"
  | "service_status"
  | "not_json"
  | "truncated"
  | "too_large"
  | "aborted";

/** What exactly went wrong with a call; its class determines the treatment. */
export type FailureCode =
  | "connect"
  | "name_resolution"
  | "tls"
  | "connection_lost"
  | "first_byte_timeout"
  | "gap_timeout"
  | "total_timeout"
  | "too_slow"
  | "http_status"
  | "redirect"
  | "bad_encoding"
  | "not_json"
  | "malformed"
  | "truncated"
  | "service_status"
  | "transient"
  | "request"
  | "configuration"
  | "too_large"
  | "aborted";

/** The gateway was not reached at all, so every other call would fail the same way. */
const GATEWAY_FAULTS: ReadonlySet<FailureCode> = new Set(["connect", "name_resolution", "tls"]);

export interface FailureFacts {
  readonly message: string;
  readonly failureClass: FailureClass;
  /** By default that of the class. */
  readonly code?: FailureCode;
  /** Wait that the service requested (Retry-After), ms; never above 10 minutes. */
  readonly retryAfterMs?: number | null;
  readonly httpStatus?: number | null;
  /** Key.StatusNumber. Not an HTTP status, even if the number looks like one (services section 1). */
  readonly statusNumber?: number | null;
  /** Start of the response's text, for people. */
  readonly snippet?: string | null;
  readonly cause?: unknown;
}

/** A call to a service without a usable result. In core, so that rooms can catch it without knowing the caller. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly failureClass: FailureClass;
  readonly code: FailureCode;
  readonly retryAfterMs: number | null;
  readonly httpStatus: number | null;
  readonly statusNumber: number | null;
  readonly snippet: string | null;

  constructor(facts: FailureFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.failureClass = facts.failureClass;
    this.code = facts.code ?? facts.failureClass;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.httpStatus = facts.httpStatus ?? null;
    this.statusNumber = facts.statusNumber ?? null;
    this.snippet = facts.snippet ?? null;
  }

  /** True if the back-off applies to the gateway, false if only to this sensor, kind and day. */
  get isGatewayFault(): boolean {
    return GATEWAY_FAULTS.has(this.code) || this.retryAfterMs !== null;
  }

  /** False only if retrying cannot help before somebody changes something. */
  get isRetryable(): boolean {
    return this.failureClass !== "configuration" && this.failureClass !== "aborted";
  }
}

/** True for a typed error of any room that says the same call may work later (a disk, a connection that returns). */
export function mayHeal(error: unknown): boolean {
  return error instanceof Error && "isRetryable" in error && error.isRetryable === true;
}

/** How many characters of an unexpected response are shown. */
const SNIPPET_CHARACTERS_MAX = 200;

/** Bytes of a response kept for a snippet: more than it shows, because secrets are removed before it is truncated. */
export const SNIPPET_BYTES = 4_096;

/** The start of a response as one line of printable text; `redact` removes secrets before anything is cut off. */
export function snippetOf(
  bytes: Uint8Array,
  redact: (text: string) => string = (text) => text,
): string {
  const text = new TextDecoder().decode(bytes.subarray(0, SNIPPET_BYTES));
  const line = redact(text)
    .replace(/\p{Cc}+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  // Again: a secret in 16-bit text is only visible now.
  return redact(line).slice(0, SNIPPET_CHARACTERS_MAX);
}

/** Class of an HTTP status that is not 2xx (services section 5, "HTTP classes"). */
export function classOfHttpStatus(status: number): FailureClass {
  if (status >= 300 && status < 400) return "configuration";
  if (status === 401 || status === 403 || status === 407) return "configuration";
  if (status === 408 || status === 429 || status >= 500) return "transient";
  return "request";
}
