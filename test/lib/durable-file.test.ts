import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { durableFiles, writeNewFile } from "../../src/lib/durable-file.ts";
import { fillDisk, smallDisk, WITHOUT_MOUNT } from "../support/small-disk.ts";
import { tempDirectory } from "../support/temp-database.ts";

test("durable files – on a nearly full disk a file is whole, or as it was, or not there", (t) => {
  const disk = smallDisk(t);
  if (disk === null) return t.skip(WITHOUT_MOUNT);
  const path = join(disk, "map.json");
  durableFiles.write(path, "before");
  fillDisk(disk, 64 << 10);
  const large = "x".repeat(200_000);
  assert.throws(() => durableFiles.write(path, large), /ENOSPC/);
  assert.equal(readFileSync(path, "utf8"), "before");
  assert.throws(() => writeNewFile(join(disk, "backup.json"), large, 0o600), /ENOSPC/);
  assert.deepEqual(readdirSync(disk).sort(), ["map.json", "theirs"]);
});

test("durable files – owner, group, mode and a link to the file stay", (t) => {
  const directory = tempDirectory(t);
  const file = join(directory, "checkout", "site.json");
  const link = join(directory, "site.json");
  mkdirSync(join(directory, "checkout"));
  writeFileSync(file, "before");
  chmodSync(file, 0o640);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(file, 0, 65_534);
  symlinkSync(file, link);
  durableFiles.write(link, "after");
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(readFileSync(file, "utf8"), "after");
  const { mode, gid } = statSync(file);
  assert.equal(mode & 0o777, 0o640);
  if (isRoot) assert.equal(gid, 65_534);
});
