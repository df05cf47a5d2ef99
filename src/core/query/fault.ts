/** One fault as the dashboard and `status` show it. */
export interface Fault {
  /** Stable name, for tests and links. */
  readonly code: string;
  readonly severity: "error" | "warning";
  /** The component: gateway, broker, buffer, clock, configuration, http, or a sensor's code. */
  readonly subject: string;
  readonly what: string;
  readonly remedy: string;
  /** ms; null where unknown. */
  readonly sinceMs: number | null;
}
