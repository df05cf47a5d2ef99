/** What the newest readings of a sensor and kind show about its interval. */
export interface RecentTimes {
  /** ms, ascending. */
  readonly timesMs: readonly number[];
  /** Each was stored from its own response, so the sensor does not deliver several at once. */
  readonly cameSingly: boolean;
}
