/** Another program that keeps the store from being written, or its log from being shortened. */
export interface StoreHold {
  readonly by: "reader" | "writer";
  /** When it was first noticed, ms. */
  readonly sinceMs: number;
  /** Empty where they cannot be seen. */
  readonly pids: readonly number[];
}

export function holdText({ pids, sinceMs }: Omit<StoreHold, "by">): string {
  const who = pids.length === 0 ? "unknown program" : `pid ${pids.join(", ")}`;
  return `another program holds the store open (${who}), since ${new Date(sinceMs).toISOString()}`;
}
