import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkDisk } from "../../src/cli/doctor-machine.ts";
import type { Finding } from "../../src/cli/finding.ts";
import { codeOf } from "../../src/core/thrown.ts";
import { fileTrouble } from "../../src/lib/file-trouble.ts";
import { lacksMappedRoom, roomTrouble } from "../../src/lib/room.ts";
import { withRoom } from "../../src/pipeline/store/database/room-failure.ts";
import { StoreFailure } from "../../src/pipeline/store/database/store-failure.ts";
import { fillDisk, smallDisk, WITHOUT_MOUNT } from "../support/small-disk.ts";
import { tempDirectory } from "../support/temp-database.ts";

test("room – a quota that is used up is full, and is called a quota", () => {
  const quota = Object.assign(new Error("Unknown system error -122: write"), {
    errno: -122,
    code: "Unknown system error -122",
  });
  assert.equal(codeOf(quota), "EDQUOT");
  assert.equal(StoreFailure.from(quota, "write").code, "full");
  assert.match(fileTrouble(quota, "written"), /quota/);
});

test("room – a directory with room, and a full one, are told apart, and nothing is left", (t) => {
  const directory = tempDirectory(t);
  assert.equal(roomTrouble(directory), null);
  assert.deepEqual(readdirSync(directory), []);
  const disk = smallDisk(t);
  if (disk === null) return t.skip(WITHOUT_MOUNT);
  fillDisk(disk);
  assert.equal(roomTrouble(disk), "space");
});

test("room – a disk that overwrites in place needs none before a write, however full it is", (t) => {
  assert.equal(lacksMappedRoom(tempDirectory(t)), false);
  const disk = smallDisk(t);
  if (disk === null) return t.skip(WITHOUT_MOUNT);
  fillDisk(disk);
  const before = readdirSync(disk);
  assert.equal(lacksMappedRoom(disk), false);
  assert.deepEqual(readdirSync(disk), before);
});

test("room – a file system without inodes is named, by the doctor and in the store's failure", async (t) => {
  const mount = mkdtempSync(join(tmpdir(), "gateside-inodes-"));
  t.after(() => {
    spawnSync("umount", ["-l", mount]);
    rmdirSync(mount);
  });
  const options = ["-t", "tmpfs", "-o", "size=64m,nr_inodes=12", "tmpfs", mount];
  if (spawnSync("mount", options).status !== 0) return t.skip(WITHOUT_MOUNT);
  const dataDir = join(mount, "data");
  mkdirSync(dataDir);
  assert.throws(() => {
    for (let n = 0; n < 20; n++) writeFileSync(join(mount, String(n)), "");
  }, /ENOSPC/);
  assert.equal(roomTrouble(dataDir), "inodes");
  const findings: Finding[] = [];
  const limits = { dataDir, bufferMaxMb: 16, diskFreeMinMb: 0 };
  await checkDisk(limits, (finding) => void findings.push(finding));
  assert.deepEqual(
    findings.map(({ state }) => state),
    ["failed"],
  );
  assert.match(findings[0]?.detail ?? "", /no inodes left.*df -i/);
  const cannotOpen = Object.assign(new Error("unable to open database file"), {
    code: "SQLITE_CANTOPEN",
  });
  const failure = withRoom(
    StoreFailure.from(cannotOpen, "cannot open"),
    join(dataDir, "gateside.db"),
  );
  assert.equal(failure.code, "full");
  assert.match(failure.message, /unable to open database file: the file system has no inodes left/);
});
