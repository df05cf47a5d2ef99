import type { Clock } from "../../core/ports.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";

/** Yields to the event loop after this much work, ms: acknowledgements and queries wait no longer than this. */
const SLICE_MS = 3;

/** How long the work in progress may go on before others have their turn. */
export class TimeSlice {
  readonly #clock: Pick<Clock, "monotonic">;
  #startedAt = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  begin(): void {
    this.#startedAt = this.#clock.monotonic();
  }

  get isOver(): boolean {
    return this.#clock.monotonic() - this.#startedAt >= SLICE_MS;
  }

  async yieldToLoop(): Promise<void> {
    await yieldToLoop();
    this.begin();
  }
}
