/** Deadlines of every HTTP listener. */

/** A client that needs longer to send its request is not worth a connection. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
export const KEEP_ALIVE_TIMEOUT_MS = 30_000;
