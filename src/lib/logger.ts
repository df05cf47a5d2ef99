import { type DestinationStream, pino } from "pino";
import type { LogView } from "../core/log-view.ts";
import type { Logger } from "../core/ports.ts";
import { LogMemory } from "./log-memory.ts";

/** Lines buffered while stdout accepts none, bytes; further lines are lost. */
const UNWRITTEN_MAX = 1 << 20;

/** JSON lines to stdout, synchronously and with no worker thread (engineering.md part 2.1). Secrets never get here. */
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

function openStdout() {
  const stdout = pino.destination({ dest: 1, sync: true, maxLength: UNWRITTEN_MAX });
  // A full disk behind the log is no reason to stop measuring; the lines wait.
  stdout.on("error", () => {});
  return stdout;
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
