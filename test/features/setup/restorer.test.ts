import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { digestOf } from "../../../src/features/setup/backup.ts";
import { durableFiles } from "../../../src/lib/durable-file.ts";
import { openSetup, sensor, withSensors } from "../../support/open-setup.ts";

test("restore – a disk that is full from its second file on leaves no half, and the next one waits until the files are back", async (t) => {
  let left = 2;
  const write = (path: string, text: string) => {
    if (left-- <= 0) throw new Error("ENOSPC: no space left on device, write");
    durableFiles.write(path, text);
  };
  const uplinksOf = (host: string) => ({ uplinks: [{ name: "cloud", url: `mqtt://${host}` }] });
  const { ask, backup, clock, directory, path, uplinksPath } = openSetup(t, {
    uplinks: uplinksOf("old"),
    write,
  });
  const read = () => [path, uplinksPath].map((file) => readFileSync(file, "utf8"));
  const former = read();
  const { body } = await ask("GET", "backup");
  const changed = {
    ...body,
    siteFile: withSensors(sensor("1")),
    uplinksFile: uplinksOf("new"),
  };
  const restore = () => ask("POST", "restore", { ...changed, sha256: digestOf(changed) });
  const refused = await restore();
  assert.match(refused.text, /ENOSPC/);
  assert.equal((await restore()).status, 409);
  left = Infinity;
  await clock.advance(10_000);
  assert.deepEqual(read(), former);
  assert.equal(existsSync(join(directory, "data", "configuration", "trial.json")), false);
  assert.equal(backup.isBusy, false);
});
