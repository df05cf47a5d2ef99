import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

/** The sampler's own timer, ms; it is part of every sample and is subtracted. */
const RESOLUTION_MS = 200;
const QUANTILES = [
  ["p50", 50],
  ["p99", 99],
  ["max", 100],
] as const;

export interface Quantile {
  readonly quantile: "p50" | "p99" | "max";
  readonly seconds: number;
}

/** How late the event loop runs its timers. `nextWindow` starts the next window, usually a minute long. */
export class LoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #last: readonly Quantile[] = QUANTILES.map(([quantile]) => ({ quantile, seconds: 0 }));

  start(): void {
    this.#histogram.enable();
  }

  stop(): void {
    this.#histogram.disable();
  }

  /** Ends the window; returns its 99th percentile, s. */
  nextWindow(): number {
    this.#last = this.#read();
    this.#histogram.reset();
    return this.#last.find(({ quantile }) => quantile === "p99")?.seconds ?? 0;
  }

  /** The worse of this and the last window, so that a scrape just after the change misses nothing. */
  quantiles(): readonly Quantile[] {
    return this.#read().map(({ quantile, seconds }, index) => ({
      quantile,
      seconds: Math.max(seconds, this.#last[index]?.seconds ?? 0),
    }));
  }

  #read(): Quantile[] {
    return QUANTILES.map(([quantile, percent]) => {
      const { count } = this.#histogram;
      const late = count === 0 ? 0 : this.#histogram.percentile(percent) / 1e9;
      return { quantile, seconds: Math.max(0, late - RESOLUTION_MS / 1000) };
    });
  }
}
