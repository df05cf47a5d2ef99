import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { SCRIPTS } from "../../scripts/help.mjs";

test("npm run help – has a line for each script, and no other", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
    scripts: Record<string, string>;
  };
  const named = Object.keys(scripts).filter((name) => !name.startsWith("pre"));
  assert.deepEqual(Object.keys(SCRIPTS).toSorted(), named.toSorted());
});
