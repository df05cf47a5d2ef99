import assert from "node:assert/strict";
import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { programEnvironment } from "../support/fake-time.ts";
import { PROGRAM, skipWithoutBuild } from "../support/plant.ts";

/** A spinning start is ended by this, and its code is then null. */
const START_MAX_MS = 30_000;
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
/** A checkout below a private folder is closed to other users. */
const nobodyMayRun = () => {
  const words = ["-e", `fs.accessSync(${JSON.stringify(resolve(PROGRAM))})`];
  return isRoot && spawnSync(process.execPath, words, { uid: NOBODY }).status === 0;
};

interface Bench {
  readonly cwd: string;
  /** `gateside run` with this DATA_DIR, as its own process; as nobody where that makes a difference. */
  run(dataDir: string, as?: { uid?: number; through?: readonly string[] }): Outcome;
}
interface Outcome {
  readonly code: number | null;
  readonly stderr: string;
}

function bench(t: TestContext): Bench {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-dir-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  chmodSync(cwd, 0o755);
  const sensors = [{ code: "1", type: 40, kinds: ["rpm"] }];
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "s", sensors }));
  return {
    cwd,
    run(dataDir, as = {}) {
      const env = {
        ...programEnvironment(),
        GATEWAY_URL: "http://127.0.0.1:9",
        MQTT_URL: "mqtt://127.0.0.1:9",
        SITE_FILE: join(cwd, "site.json"),
        HTTP_PORT: "off",
        DATA_DIR: dataDir,
      };
      const options: SpawnSyncOptions = { env, timeout: START_MAX_MS, killSignal: "SIGKILL" };
      const own = [process.execPath, resolve(PROGRAM), "run"];
      const [program = "", ...words] = [...(as.through ?? []), ...own];
      const run = spawnSync(program, words, { ...options, ...(as.uid ? { uid: as.uid } : {}) });
      return { code: run.status, stderr: String(run.stderr) };
    },
  };
}

const isOneLine = (stderr: string) => assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);

test("DATA_DIR – below /proc, where no directory can be created, exits with 2 and one line", {
  skip: existsSync("/proc/self") ? skipWithoutBuild : "no /proc here",
}, (t) => {
  const { code, stderr } = bench(t).run("/proc/gateside/data");
  assert.equal(code, 2, stderr);
  assert.match(stderr, /^error: DATA_DIR: \/proc\/gateside cannot be created: .*; use a directory/);
  isOneLine(stderr);
});

test("DATA_DIR – a file in its place, or in place of a parent, is named, with exit code 2", {
  skip: skipWithoutBuild,
}, (t) => {
  const b = bench(t);
  const file = join(b.cwd, "data");
  writeFileSync(file, "mine");
  for (const [dataDir, remedy] of [
    [file, /; move it away, or use another directory$/m],
    [join(file, "below"), /; use a directory that is not below it$/m],
  ] as const) {
    const { code, stderr } = b.run(dataDir);
    assert.equal(code, 2, stderr);
    assert.ok(stderr.startsWith(`error: DATA_DIR: ${file} is a file, not a directory`), stderr);
    assert.match(stderr, remedy);
    isOneLine(stderr);
  }
});

test("DATA_DIR – a directory that this user may not write, or with files of another user, is reported with exit code 2", {
  skip: nobodyMayRun() ? skipWithoutBuild : "needs root, and a checkout that other users may read",
}, (t) => {
  const b = bench(t);
  const closed = join(b.cwd, "closed");
  mkdirSync(closed, { mode: 0o755 });
  const below = b.run(join(closed, "data"), { uid: NOBODY });
  assert.equal(below.code, 2, below.stderr);
  assert.match(
    below.stderr,
    /closed\/data cannot be created: .*uid 65534\) has no permission; use a directory/,
  );
  const itself = b.run(closed, { uid: NOBODY });
  assert.equal(itself.code, 2, itself.stderr);
  assert.match(itself.stderr, /closed cannot be written: .* change its owner/);
  // A one-off command that was run as root.
  const shared = join(b.cwd, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  writeFileSync(join(shared, "gateside.lock"), "", { mode: 0o644 });
  const left = b.run(shared, { uid: NOBODY });
  assert.equal(left.code, 2, left.stderr);
  assert.match(left.stderr, /gateside\.lock cannot be written: .*another user left it there/);
  for (const { stderr } of [below, itself, left]) isOneLine(stderr);
});

const READ_ONLY = ["unshare", "-m", "sh", "-c"];
const canMount =
  isRoot &&
  spawnSync(READ_ONLY[0] ?? "", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;

test("DATA_DIR – a read-only file system is reported with exit code 2", {
  skip: canMount ? skipWithoutBuild : "no mounts here",
}, (t) => {
  const b = bench(t);
  const disk = join(b.cwd, "disk");
  mkdirSync(disk);
  const through = [...READ_ONLY, `mount -t tmpfs -o ro none '${disk}' && exec "$@"`, "sh"];
  for (const dataDir of [disk, join(disk, "data")]) {
    const { code, stderr } = b.run(dataDir, { through });
    assert.equal(code, 2, stderr);
    assert.match(stderr, /cannot be (created|written): the file system is read-only; mount it/);
    isOneLine(stderr);
  }
});
