import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { storeAccessFaults } from "../../src/cli/store-access.ts";
import { smallDisk, WITHOUT_MOUNT } from "../support/small-disk.ts";

const NOBODY = 54_321;
const isRoot = process.getuid?.() === 0;

/** The faults as a user other than root sees them. */
function faultsAsOther(
  dataDir: string,
): { place: string; problem: string; remedy: string }[] | null {
  if (!isRoot) return storeAccessFaults(dataDir);
  // It has no name, as in a container that is given a number.
  const script = `import(${JSON.stringify(resolve("src/cli/store-access.ts"))}).then((m) => process.stdout.write(JSON.stringify(m.storeAccessFaults(${JSON.stringify(dataDir)}))))`;
  const { status, stdout } = spawnSync(process.execPath, ["--import", "tsx", "-e", script], {
    uid: NOBODY,
    gid: NOBODY,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], TMPDIR: tmpdir() },
  });
  // A checkout below a private folder is closed to other users.
  return status === 0 ? JSON.parse(stdout) : null;
}

test("check – a store that the service user cannot open is an error that names the file", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-access-"));
  t.after(() => rmSync(directory, { recursive: true }));
  chmodSync(directory, 0o777);
  const database = join(directory, "gateside.db");
  writeFileSync(database, "", { mode: isRoot ? 0o600 : 0o000 });
  assert.deepEqual(storeAccessFaults(join(directory, "to-be-made")), []);
  const faults = faultsAsOther(directory);
  if (faults === null) return t.skip("other users may not read this checkout");
  assert.equal(faults.length, 1);
  assert.equal(faults[0]?.place, "DATA_DIR");
  assert.match(faults[0]?.problem ?? "", /gateside\.db cannot be written by this user/);
  const closed = join(directory, "closed");
  mkdirSync(closed, { mode: isRoot ? 0o700 : 0o500 });
  const [fault] = faultsAsOther(closed) ?? [];
  assert.match(fault?.problem ?? "", /closed cannot be written by this user/);
  // A directory of another user's agent is not to be given to whoever looks.
  assert.match(fault?.remedy ?? "", isRoot ? /^run the command with sudo/ : /^run chown -R/);
});

test("doctor – a DATA_DIR that this user may not make says what to do", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-access-"));
  t.after(() => rmSync(directory, { recursive: true }));
  chmodSync(directory, 0o555);
  const settings = { dataDir: join(directory, "to-be-made"), bufferMaxMb: 8, diskFreeMinMb: 0 };
  const script = `import(${JSON.stringify(resolve("src/cli/doctor-machine.ts"))}).then((m) => m.checkDisk(${JSON.stringify(settings)}, (found) => process.stdout.write(found.detail)))`;
  const { status, stdout } = spawnSync(process.execPath, ["--import", "tsx", "-e", script], {
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
    encoding: "utf8",
    env: { PATH: process.env["PATH"], TMPDIR: tmpdir() },
  });
  if (status !== 0) return t.skip("other users may not read this checkout");
  assert.match(stdout, /to-be-made cannot be written by this user; run the command as the agent's/);
});

test("check – a store on a read-only file system needs another mount, not another owner", (t) => {
  const mount = smallDisk(t);
  if (mount === null) return t.skip(WITHOUT_MOUNT);
  spawnSync("mount", ["-o", "remount,ro", mount]);
  assert.deepEqual(storeAccessFaults(mount), [
    {
      place: "DATA_DIR",
      problem: `${mount} is on a read-only file system`,
      remedy: "mount it for writing, or use a directory on another disk",
    },
  ]);
});
