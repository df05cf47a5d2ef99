import { pino } from "pino";
import type { Logger } from "../core/ports.ts";

/** Lines buffered while stdout accepts none, bytes; further lines are lost. */
const UNWRITTEN_MAX = 1 << 20;

/** JSON lines to stdout, synchronously and with no worker thread (engineering.md part 2.1). Secrets never get here. */
export function createLogger(level: string): Logger {
  const stdout = pino.destination({ dest: 1, sync: true, maxLength: UNWRITTEN_MAX });
  // A full disk behind the log is no reason to stop measuring; the lines wait.
  stdout.on("error", () => {});
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stdout);
}

/** Discards everything. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** The same log, with these fields on every line. */
export function withFields(logger: Logger, own: object): Logger {
  return {
    debug: (fields, message) => logger.debug({ ...own, ...fields }, message),
    info: (fields, message) => logger.info({ ...own, ...fields }, message),
    warn: (fields, message) => logger.warn({ ...own, ...fields }, message),
    error: (fields, message) => logger.error({ ...own, ...fields }, message),
  };
}
