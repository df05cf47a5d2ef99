import type { TestContext } from "node:test";

/** Counts turns of the event loop until the test ends. */
export function countTurns(t: TestContext): () => number {
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  t.after(() => {
    isOver = true;
  });
  return () => turn;
}
