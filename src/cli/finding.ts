/** One line of the doctor. */
export interface Finding {
  readonly what: string;
  /** skipped: not tried, because of something else that failed. */
  readonly state: "ok" | "warning" | "failed" | "skipped";
  /** Plain words: what was found and, where it is wrong, what to do. */
  readonly detail: string;
}
