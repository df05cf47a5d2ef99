import { type DestinationStream, pino } from "pino";
import type { Logger } from "../core/ports.ts";
import type { LogView } from "../core/status/log-view.ts";
import { LogMemory } from "./log-memory.ts";
import { openStdout } from "./log-output.ts";

/** JSON lines to stdout, with no worker thread (log-output.ts). Secrets never get here. */
export function createLogger(level: string): Logger {
  return pinoTo(level, openStdout());
}

interface AgentLog {
  readonly logger: Logger;
  readonly view: LogView;
}

/** The same, and the newest lines stay in memory for the dashboard. @param now our clock, ms */
export function openLog(
  level: string,
  now: () => number,
  stdout: DestinationStream = openStdout(),
): AgentLog {
  const memory = new LogMemory();
  const logger = pinoTo(level, {
    write: (line) => {
      stdout.write(line);
      memory.write(line);
    },
  });
  let timer: NodeJS.Timeout | null = null;
  let debugUntilMs: number | null = null;
  const debugFor = (minutes: number): void => {
    if (timer !== null) clearTimeout(timer);
    timer = minutes === 0 ? null : setTimeout(debugFor, minutes * MINUTE_MS, 0).unref();
    debugUntilMs = minutes === 0 ? null : now() + minutes * MINUTE_MS;
    logger.level = minutes === 0 ? level : "debug";
  };
  return {
    logger,
    view: {
      page: (query) => memory.page(query),
      get level() {
        return logger.level;
      },
      get debugUntilMs() {
        return debugUntilMs;
      },
      debugFor,
    },
  };
}

const MINUTE_MS = 60_000;

function pinoTo(level: string, destination: DestinationStream) {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
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
