/** What a backup is made of, and which documents are taken for one. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { digestOf, openBackup } from "../../../src/features/setup/backup.ts";
import { openSetup } from "../../support/open-setup.ts";

test("backup – there is none of a file that is damaged or gone while it is in use, and nothing of it is told", async (t) => {
  const { ask, path, uplinksPath } = openSetup(t, {
    uplinks: { uplinks: [{ name: "cloud", url: "mqtt://old" }] },
  });
  assert.equal((await ask("GET", "backup")).body.missing.length, 0);
  const refusals = async () => {
    const { status, body } = await ask("GET", "backup");
    return [status, body.error?.message ?? ""];
  };
  const why = (name: string) => [
    409,
    `the file of ${name} is not there or is not JSON: correct it, or restore its last version`,
  ];
  // The words of JSON.parse repeat what stands there.
  for (const text of ['{"uplinks":[{"password":s3cret-pw}]}', "", " "]) {
    writeFileSync(uplinksPath, text);
    assert.deepEqual(await refusals(), why("UPLINKS_FILE"), text);
  }
  rmSync(uplinksPath);
  writeFileSync(path, "{");
  assert.deepEqual(await refusals(), why("SITE_FILE and UPLINKS_FILE"));
});

test("backup – an uplinks file that is not there, where no uplink is in use, is none in the backup", async (t) => {
  const { ask, uplinksPath } = openSetup(t, { uplinks: { uplinks: [] } });
  for (const lose of [() => writeFileSync(uplinksPath, "\n"), () => rmSync(uplinksPath)]) {
    lose();
    const { status, body } = await ask("GET", "backup");
    assert.deepEqual([status, body.uplinksFile], [200, null]);
  }
});

test("backup – one without a site's name, or whose list of missing secrets is none, is no backup whatever its digest", async (t) => {
  const { ask } = openSetup(t);
  const { body: whole } = await ask("GET", "backup");
  const opened = (changes: object) => {
    const changed = JSON.parse(JSON.stringify({ ...whole, ...changes }));
    return openBackup(JSON.stringify({ ...changed, sha256: digestOf(changed) }));
  };
  assert.ok("backup" in opened({}));
  for (const changes of [{ site: null }, { site: 7 }, { missing: 5 }, { missing: [null] }])
    assert.ok("problem" in opened(changes), JSON.stringify(changes));
  const { missing: _missing, ...rest } = whole;
  assert.ok("problem" in opened({ ...rest, missing: undefined }));
});
