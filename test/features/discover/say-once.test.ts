import assert from "node:assert/strict";
import { test } from "node:test";
import { joinNotes } from "../../../src/features/discover/draft.ts";

test("discover notes – a hundred sensors with the same problem are one line with a count", () => {
  const notes = Array.from({ length: 100 }, (_, i) => `${i + 1}: no location`);
  assert.deepEqual(joinNotes(notes), ["1, 2, 3, 4, 5, 6, 7, 8 and 92 more: no location"]);
});

test("discover notes – different problems stay separate, in their original order", () => {
  const notes = ["no colon here", "1 (A: b): x", "2: y", "no colon here", "3: y"];
  assert.deepEqual(joinNotes(notes), ["no colon here", "1 (A: b): x", "2, 3: y"]);
});
