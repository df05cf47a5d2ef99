/** One line of the doctor. */
export interface Finding {
  readonly what: string;
  /** skipped: not tried, because something else failed. */
  readonly state: "ok" | "warning" | "failed" | "skipped";
  /** Plain words: what was found and, if it is wrong, what to do. */
  readonly detail: string;
}
