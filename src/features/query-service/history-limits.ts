export interface HistoryLimits {
  /** Rows of a response that is built in memory. */
  readonly heldRowsMax: number;
  /** Longest response, bytes. */
  readonly bytesMax: number;
  /** Longest work on one response, ms. */
  readonly workMsMax: number;
}

export const HISTORY_LIMITS: HistoryLimits = {
  // A few MB: a day of minute readings, also with several values each.
  heldRowsMax: 10_000,
  // A year of minute readings of a sensor is about 40 MB; tools parse a response as one text.
  bytesMax: 256 << 20,
  // Beyond it most clients and proxies have timed out.
  workMsMax: 120_000,
};
