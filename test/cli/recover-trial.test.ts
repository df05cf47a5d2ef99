import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { recoverTrial } from "../../src/cli/recover-trial.ts";
import { tempDirectory } from "../support/temp-database.ts";

test("start – without set-up, an unfinished trial of a configuration is reported and left as it is", async (t) => {
  const dataDir = tempDirectory(t);
  const path = join(dataDir, "configuration", "trial.json");
  const settings = { dataDir, siteFile: join(dataDir, "site.json"), uplinksFile: null };
  let told = "";
  const stderr = { write: (text: string) => (told += text) } as never;
  assert.deepEqual([await recoverTrial(settings, stderr, []), told], [null, ""]);
  mkdirSync(dirname(path));
  writeFileSync(path, "{}");
  assert.equal(await recoverTrial(settings, stderr, []), null);
  assert.match(told, /^warning: a configuration was on trial .* no set-up .*trial\.json/);
  assert.ok(existsSync(path));
});
