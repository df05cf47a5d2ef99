/** What the newest readings of a sensor and kind show about its interval. */
export interface RecentTimes {
  /** ms, ascending. */
  readonly timesMs: readonly number[];
  /** Each was stored from its own response, so the sensor does not deliver several at once. */
  readonly cameSingly: boolean;
  /** UTC offset of the newest, minutes; null if unknown. The gateway's day may differ from that of GATEWAY_TIMEZONE. */
  readonly offsetMinutes: number | null;
}

/** Of a sensor that was never stored. */
export const NO_TIMES: RecentTimes = { timesMs: [], cameSingly: false, offsetMinutes: null };
