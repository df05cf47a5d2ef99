import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { settingsPage } from "../../scripts/settings-page.ts";

test("docs – the page of settings is what the program's table says", () => {
  assert.equal(
    readFileSync("docs/settings.md", "utf8"),
    settingsPage(),
    "run: node --import tsx scripts/write-settings-doc.ts",
  );
});
