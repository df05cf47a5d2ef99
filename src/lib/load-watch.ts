import { totalmem } from "node:os";
import type { Runtime } from "../core/ports.ts";

const WINDOW_MS = 60_000;
/** A minute counts as slow if a hundredth of its timers were later than this, s. */
const SLOW_S = 0.5;
/** Slow minutes in a row before it is logged: a first start or a backfill may take a few. */
const SLOW_MINUTES = 5;
/** Share of the memory limit above which it is logged, and below which that ends. */
const MEMORY_HIGH = 0.9;
const MEMORY_LOW = 0.8;
const MB = 1e6;

export interface LoadWatchParts extends Runtime {
  readonly loopDelay: { start(): void; stop(): void; nextWindow(): number };
  readonly sensors: () => number;
  /** Resident memory and its limit, bytes; null if there is no limit below the machine's memory. */
  readonly memory?: () => { readonly used: number; readonly limit: number | null };
}

/**
 * Logs when the machine is too small for its load. Nothing fails in that case: values are only published later, and
 * the kernel may end the process for its memory use without a line in the log.
 */
export class LoadWatch {
  readonly #parts: LoadWatchParts;
  #slowMinutes = 0;
  #isMemoryHigh = false;

  constructor(parts: LoadWatchParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, loopDelay } = this.#parts;
    loopDelay.start();
    while (!signal.aborted) {
      await clock.sleep(WINDOW_MS, signal);
      if (signal.aborted) break;
      this.#lookAtLoop(loopDelay.nextWindow());
      this.#lookAtMemory();
    }
    loopDelay.stop();
  }

  #lookAtLoop(delayS: number): void {
    const { logger, sensors } = this.#parts;
    const wasSlow = this.#slowMinutes >= SLOW_MINUTES;
    this.#slowMinutes = delayS < SLOW_S ? 0 : this.#slowMinutes + 1;
    if (wasSlow && this.#slowMinutes === 0) logger.info({ delayS }, "enough CPU time again");
    if (this.#slowMinutes !== SLOW_MINUTES) return;
    logger.warn(
      { delayS, minutes: SLOW_MINUTES, sensors: sensors() },
      "not enough CPU time for this load: values are published late; raise POLL_INTERVAL_S, poll fewer sensors, or give the service more CPU",
    );
  }

  #lookAtMemory(): void {
    const { logger, memory = memoryOfProcess } = this.#parts;
    const { used, limit } = memory();
    if (limit === null) return;
    const isOver = used > (this.#isMemoryHigh ? MEMORY_LOW : MEMORY_HIGH) * limit;
    if (isOver === this.#isMemoryHigh) return;
    this.#isMemoryHigh = isOver;
    const figures = { usedMb: Math.round(used / MB), limitMb: Math.round(limit / MB) };
    if (isOver)
      logger.warn(
        figures,
        "memory is close to the limit of the service, above which the kernel slows it down or ends it: raise MemoryHigh and MemoryMax, or poll fewer sensors",
      );
    else logger.info(figures, "memory is well below the limit of the service again");
  }
}

/** The limit is that of the control group, for example MemoryMax of the unit. */
function memoryOfProcess(): { readonly used: number; readonly limit: number | null } {
  const limit = process.constrainedMemory();
  const isLimited = limit > 0 && limit < totalmem();
  return { used: process.memoryUsage.rss(), limit: isLimited ? limit : null };
}
