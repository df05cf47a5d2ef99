/** Deadlines of every listener of the HTTP side. */

/** A client that takes longer to say what it wants is not worth a connection. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
export const KEEP_ALIVE_TIMEOUT_MS = 30_000;
