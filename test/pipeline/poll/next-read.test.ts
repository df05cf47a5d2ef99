import assert from "node:assert/strict";
import { test } from "node:test";
import { slowdownAfter } from "../../../src/pipeline/poll/next-read.ts";
import type { PolledStream } from "../../../src/pipeline/poll/task.ts";

test("next read – a response that takes more than half the interval doubles it, up to eight times; quicker ones halve it again", () => {
  const after = (slowdown: number, durationMs: number) =>
    slowdownAfter({ slowdown, intervalMs: 60_000 } as PolledStream, durationMs);
  assert.deepEqual([after(1, 30_000), after(1, 30_001)], [1, 2]);
  assert.deepEqual([after(2, 60_000), after(2, 60_001)], [1, 4]);
  assert.deepEqual([after(8, 1), after(8, 240_001)], [4, 8]);
});
