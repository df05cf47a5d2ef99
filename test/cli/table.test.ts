import assert from "node:assert/strict";
import { test } from "node:test";
import { table } from "../../src/cli/table.ts";

test("table – a name with a line break or terminal codes stays in its cell", () => {
  const rows = [
    ["10234", "Pump 1\nspare \u001b[31mred", "online"],
    ["20871", "Fan", "silent"],
  ];
  assert.equal(
    table(rows),
    "  10234  Pump 1 spare  [31mred  online\n  20871  Fan                    silent\n",
  );
});
