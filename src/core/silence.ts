/** Expected interval of a sensor whose cadence is not learned yet, ms: not to call it silent too soon. */
export const UNKNOWN_CADENCE_MS = 600_000;
/** A sensor is silent after this many of its expected intervals (contract 6). */
export const SILENT_AFTER_INTERVALS = 3;
