/** One line of the doctor. */
export interface Finding {
  readonly what: string;
  readonly state: "ok" | "warning" | "failed";
  /** Plain words: what was found and, where it is wrong, what to do. */
  readonly detail: string;
}
