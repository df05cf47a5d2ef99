import { pino } from "pino";
import type { Logger } from "../core/ports.ts";

/** JSON lines to stdout, synchronously and with no worker thread (engineering.md part 2.1). Secrets never get here. */
export function createLogger(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 1, sync: true }),
  );
}

/** Discards everything. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
