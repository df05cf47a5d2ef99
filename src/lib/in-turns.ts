import { yieldToLoop } from "./yield-to-loop.ts";

/** Longest piece of work between two turns of the event loop, ms. */
const SLICE_MS = 10;

/** Runs steps to their end; after each 10 ms of them sockets, timers and the poller get their turn. */
export async function inTurns<T>(steps: Generator<void, T>): Promise<T> {
  let startedAt = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - startedAt < SLICE_MS) continue;
    await yieldToLoop();
    startedAt = performance.now();
  }
}
