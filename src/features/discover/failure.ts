export type AnalyticsFailureCode =
  | "unreachable"
  | "http_status"
  | "not_json"
  | "too_large"
  | "service_status";

/** A call without a usable response. The message names operation and cause, never the token. */
export class AnalyticsFailure extends Error {
  override readonly name = "AnalyticsFailure";
  readonly code: AnalyticsFailureCode;
  readonly operation: string;
  /** HTTP status or Key.StatusNumber, by `code`. */
  readonly status: number | null;

  constructor(
    code: AnalyticsFailureCode,
    operation: string,
    detail: string,
    status: number | null = null,
    cause?: unknown,
  ) {
    super(`${operation}: ${detail}`, cause === undefined ? {} : { cause });
    this.code = code;
    this.operation = operation;
    this.status = status;
  }
}
