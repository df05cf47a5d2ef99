import assert from "node:assert/strict";
import { test } from "node:test";
import { csvField } from "../../../src/core/text/csv.ts";

test("CSV – a text that begins like a formula gets an apostrophe, a number never", () => {
  const texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"];
  for (const text of texts) assert.ok(csvField(text).replace('"', "").startsWith("'"), text);
  for (const text of ["a=1", "1-2", "'x", " =1"]) assert.equal(csvField(text), text);
  assert.deepEqual(
    [-1.5, 0, 1e-7].map((value) => csvField(value)),
    ["-1.5", "0", "1e-7"],
  );
});

test("CSV – separators, quotes and line ends stay inside their field", () => {
  assert.equal(csvField('a "b", c'), '"a ""b"", c"');
  assert.equal(csvField("a;b"), "a;b");
  assert.equal(csvField("a;b", ";"), '"a;b"');
  assert.equal(csvField("a\nb"), '"a\nb"');
  assert.deepEqual([csvField(null), csvField(undefined), csvField(false)], ["", "", "false"]);
});
