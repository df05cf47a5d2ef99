import { messageOf } from "../../core/thrown.ts";

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

/** What to check if the response is not the service's. */
export function remedyOf(status: number): string {
  if (status === 404)
    return "; check that --url is the service's base address and --wire-word the word in its operation names";
  if (status === 401 || status === 403 || status === 407)
    return "; something in front of the service, such as a proxy, requires its own log-in: write it as --url http://user:password@host";
  return status >= 500 ? "; the service itself failed: try again later" : "";
}

/** Why no response came, and what to check. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "no complete response in time";
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return `${messageOf(cause)}${UNREACHED[String(Reflect.get(cause, "code"))] ?? ""}`;
}

/** What to check, by the error code of a failed connection. */
const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "; nothing listens there: check that the service is running and that the port in --url is correct",
  ENOTFOUND: "; check the host name in --url",
  EHOSTUNREACH: "; check that this machine can reach the network of the host in --url",
};
