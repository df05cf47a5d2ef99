/** Expected interval of a sensor whose interval is not learned yet, ms: so that it is not reported silent too soon. */
export const UNKNOWN_CADENCE_MS = 600_000;
/** A sensor is silent after this many of its expected intervals (contract section 6). */
export const SILENT_AFTER_INTERVALS = 3;
