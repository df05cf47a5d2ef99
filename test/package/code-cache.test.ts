import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { NODE_FLAGS } from "../../scripts/bench/agent-process.ts";
import { buildSdNotify, skipWithoutNatives } from "../support/notify-socket.ts";

const skip = existsSync(join("dist", "launch.js"))
  ? false
  : "dist/launch.js is not built (npm run build)";
const TIMEOUT_MS = 120_000;
const USED = "code cache used";
const UNUSED = "no code cache used";

/** The launcher with its own program; `train` is what it runs to make the cache. */
const PROGRAM = `#!/usr/bin/env node
const word = () => "it is " + process.argv[2];
if (process.argv[2] === "fail") process.exitCode = 3;
if (process.argv[2] === "where") console.log(JSON.stringify([__filename, process.argv[1], new Error("x").stack.split("\\n")[1].trim()]));
else console.log(word() + " " + typeof require("./package.json").type);
`;

interface Installed {
  readonly directory: string;
  readonly cacheFile: string;
  run(...words: string[]): { status: number | null; stdout: string; cache: string };
}

function install(t: TestContext, program = PROGRAM, flags: readonly string[] = []): Installed {
  const directory = mkdtempSync(join(tmpdir(), "gateside-cache-"));
  t.after(() => rmSync(directory, { recursive: true }));
  for (const name of ["launch.js", "package.json"])
    copyFileSync(join("dist", name), join(directory, name));
  writeFileSync(join(directory, "gateside.js"), program);
  return {
    directory,
    cacheFile: join(directory, "gateside.cache"),
    run(...words) {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [...flags, join(directory, "launch.js"), ...words],
        {
          encoding: "utf8",
          timeout: TIMEOUT_MS,
          env: { PATH: process.env["PATH"], NODE_DEBUG: "gateside", TMPDIR: directory },
        },
      );
      return { status, stdout: stdout.trim(), cache: stderr.trim().replace(/^GATESIDE \d+: /, "") };
    },
  };
}

test("launcher – without a cache the program runs; with one it runs from it", { skip }, (t) => {
  const { run, cacheFile } = install(t);
  assert.deepEqual(run("a"), { status: 0, stdout: "it is a string", cache: UNUSED });
  assert.deepEqual(run("--write-cache"), { status: 0, stdout: "it is train string", cache: "" });
  assert.equal(statSync(cacheFile).mode & 0o777, 0o644);
  assert.deepEqual(run("a"), { status: 0, stdout: "it is a string", cache: USED });
});

test("launcher – the program finds its other half, the receiving end", { skip }, (t) => {
  const program = readFileSync(join("dist", "gateside.js"), "utf8");
  const { directory, run } = install(t, program);
  for (const name of ["collect.js", "better_sqlite3.node"])
    copyFileSync(join("dist", name), join(directory, name));
  const { status, cache } = run("fleet", "--db", "postgres://nobody@127.0.0.1:1/nothing");
  assert.equal(status, 1);
  assert.match(cache, /ECONNREFUSED/);
});

test("launcher – a cache made under a strict umask is readable for the service", { skip }, (t) => {
  const { run, cacheFile } = install(t);
  const umask = process.umask(0o077);
  try {
    run("--write-cache");
  } finally {
    process.umask(umask);
  }
  assert.equal(statSync(cacheFile).mode & 0o777, 0o644);
});

test("launcher – a cache that cannot be read does not keep the program from running", {
  skip,
}, (t) => {
  const { run, cacheFile } = install(t);
  // Opens, and fails to be read, as a file on a damaged card does.
  mkdirSync(cacheFile, { mode: 0o755 });
  assert.deepEqual(run("a"), { status: 0, stdout: "it is a string", cache: UNUSED });
});

test("launcher – the program sees its own path, and errors show the lines of its file", {
  skip,
}, (t) => {
  const { run, directory } = install(t);
  const path = join(directory, "gateside.js");
  for (const expected of [UNUSED, USED]) {
    const { stdout, cache } = run("where");
    const [filename, argument, frame] = JSON.parse(stdout) as string[];
    assert.deepEqual([filename, argument, cache], [path, path, expected]);
    assert.match(frame ?? "", new RegExp(`${path}:4:\\d+`));
    run("--write-cache");
  }
});

test("launcher – with the native module the program's text is mapped from its file, and the same cache fits", {
  skip: skip || skipWithoutNatives,
}, (t) => {
  const look = `
if (process.argv[2] === "mapped") console.log(require("fs").readFileSync("/proc/self/maps", "utf8").includes(__filename));`;
  const { run, directory } = install(t, PROGRAM + look);
  run("--write-cache");
  assert.match(run("mapped").stdout, /false$/);
  buildSdNotify(join(directory, "sdnotify.node"));
  assert.deepEqual(run("a"), { status: 0, stdout: "it is a string", cache: USED });
  assert.match(run("mapped").stdout, /true$/);
  const [, , frame] = JSON.parse(run("where").stdout) as string[];
  assert.match(frame ?? "", /gateside\.js:4:\d+/);
  run("--write-cache");
  assert.equal(run("a").cache, USED);
  writeFileSync(join(directory, "sdnotify.node"), "for another machine");
  assert.deepEqual(run("a"), { status: 0, stdout: "it is a string", cache: USED });
});

test("launcher – a cache that does not fit is left alone and the program runs", { skip }, (t) => {
  const { run, directory, cacheFile } = install(t);
  run("--write-cache");
  const made = readFileSync(cacheFile);
  const cases: Record<string, () => void> = {
    "one byte is damaged": () => {
      const damaged = Buffer.from(made);
      damaged.writeUInt8(damaged.readUInt8(made.length >> 1) ^ 1, made.length >> 1);
      writeFileSync(cacheFile, damaged);
    },
    "it was cut off": () => writeFileSync(cacheFile, made.subarray(0, made.length - 1)),
    "it is empty": () => writeFileSync(cacheFile, ""),
    "another runtime made it": () =>
      writeFileSync(cacheFile, made.toString("latin1").replace("node v", "node w"), "latin1"),
    "others may write it": () => chmodSync(cacheFile, 0o664),
  };
  for (const [what, change] of Object.entries(cases)) {
    change();
    assert.deepEqual(run("a"), { status: 0, stdout: "it is a string", cache: UNUSED }, what);
    writeFileSync(cacheFile, made);
    chmodSync(cacheFile, 0o644);
    assert.equal(run("a").cache, USED, `${what}: whole again`);
  }
  // V8 itself compares only the length.
  writeFileSync(join(directory, "gateside.js"), PROGRAM.replace("it is", "IT IS"));
  assert.deepEqual(run("a"), { status: 0, stdout: "IT IS a string", cache: UNUSED });
});

test("launcher – a cache made under other flags is refused by V8 and the program runs", {
  skip,
}, (t) => {
  const { directory, run } = install(t, PROGRAM, ["--max-lazy"]);
  run("--write-cache");
  assert.equal(run("a").cache, USED);
  const { stdout, stderr } = spawnSync(process.execPath, [join(directory, "launch.js"), "a"], {
    encoding: "utf8",
    env: { NODE_DEBUG: "gateside" },
  });
  assert.equal(stdout.trim(), "it is a string");
  assert.match(stderr, new RegExp(`: ${UNUSED}`));
});

test("launcher – a training run that fails leaves no cache, not even the one before", {
  skip,
}, (t) => {
  const { run, directory, cacheFile } = install(t);
  run("--write-cache");
  writeFileSync(join(directory, "gateside.js"), PROGRAM.replace('=== "fail"', '=== "train"'));
  assert.equal(run("--write-cache").status, 3);
  assert.equal(existsSync(cacheFile), false);
  assert.deepEqual(
    readdirSync(directory).filter((name) => name.includes("cache")),
    [],
  );
});

test("launcher – the agent trains itself, and its commands run from the cache", { skip }, (t) => {
  const { run, directory } = install(
    t,
    readFileSync(join("dist", "gateside.js"), "utf8"),
    NODE_FLAGS,
  );
  copyFileSync(join("dist", "better_sqlite3.node"), join(directory, "better_sqlite3.node"));
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const made = run("--write-cache");
  assert.deepEqual(made, { status: 0, stdout: "", cache: "" });
  assert.deepEqual(leftIn(directory), []);
  assert.deepEqual(run("--version"), { status: 0, stdout: version, cache: USED });
});

test("launcher – a training run of an agent that cannot start leaves nothing behind", {
  skip,
}, (t) => {
  // Without its native module.
  const { run, directory, cacheFile } = install(
    t,
    readFileSync(join("dist", "gateside.js"), "utf8"),
  );
  const { status, cache: stderr } = run("--write-cache");
  assert.equal(status, 1);
  assert.match(stderr, /better_sqlite3\.node/);
  assert.equal(existsSync(cacheFile), false);
  assert.deepEqual(leftIn(directory), []);
});

function leftIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.includes("train"));
}

test("launcher – unit, command line, installation and bench give Node the same flags", () => {
  const flags = NODE_FLAGS.join(" ");
  for (const path of [
    "systemd/gateside.service",
    "systemd/gateside@.service",
    "packaging/gateside.sh",
    "packaging/postinst",
    "scripts/install.sh",
  ]) {
    const text = readFileSync(path, "utf8").replace(/\\\n\s*/g, "");
    assert.ok(text.includes(`/usr/lib/gateside/node ${flags} /usr/lib/gateside/launch.js`), path);
  }
});
