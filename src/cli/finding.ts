/** One line of the doctor. */
export interface Finding {
  readonly what: string;
  /** skipped: not tried, because something else failed. */
  readonly state: "ok" | "warning" | "failed" | "skipped";
  /** Plain words: what was found and, if it is wrong, what to do. */
  readonly detail: string;
}

/** What a doctor may ask. */
export interface DoctorView {
  /** What the agent on DATA_DIR reports about itself; `none` if none runs there, `unseen` if it does not say. */
  status(): Promise<object | "none" | "unseen">;
  /** Listens for a moment; null if that worked. */
  tryPort(host: string, port: number): Promise<Error | null>;
}
