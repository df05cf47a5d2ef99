/** Runs steps to their end in one go; callers that share the event loop yield to it between them instead. */
export function inOneGo<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
