import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import { deadlineMs } from "../support/deadline.ts";
import { programEnvironment } from "../support/fake-time.ts";
import { PROGRAM, skipWithoutBuild } from "../support/plant.ts";
import {
  append,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../support/temp-database.ts";
import { until } from "../support/wait-until.ts";

const skip = process.platform === "win32" ? "no shell pipes" : skipWithoutBuild;
/** Far more than a pipe holds. */
const READINGS = 5_000;

async function stored(t: TestContext): Promise<string> {
  const directory = tempDirectory(t);
  const store = openStore(storeOptions(directory));
  const readings = Array.from({ length: READINGS }, (_, n) =>
    readingOf("1", START_MS + n * 1000, { padding: 200 }),
  );
  await append(store, readings);
  await store.close();
  return directory;
}

/** A pipeline as an operator types it; the statuses of both its ends. */
function pipeline(directory: string, words: string, reader: string) {
  const gateside = `'${process.execPath}' '${resolve(PROGRAM)}' ${words}`;
  const script = `${gateside} | ${reader}; echo "status \${PIPESTATUS[*]}"`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", script], {
    encoding: "utf8",
    // Bash takes a socket on stdin for a remote shell, and reads start-up files.
    stdio: ["ignore", "pipe", "pipe"],
    timeout: deadlineMs(60_000),
    env: { ...programEnvironment(), DATA_DIR: directory, SITE_FILE: join(directory, "none") },
  });
  return { stdout, stderr };
}

const WORDS = "export --from 2026-11-19 --to 2026-11-22";

test("export – a reader that closes the pipe early ends it silently, in either format", {
  skip,
}, async (t) => {
  const directory = await stored(t);
  for (const format of ["csv", "jsonl"]) {
    const { stdout, stderr } = pipeline(directory, `${WORDS} --format ${format}`, "head -n 2");
    assert.equal(stderr, "", format);
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.length, 3, "two lines and the status");
    assert.equal(lines[2], "status 0 0");
  }
  const whole = pipeline(directory, `${WORDS} --format jsonl`, "wc -l");
  assert.match(whole.stdout, new RegExp(`^ *${READINGS}\nstatus 0 0$`, "m"));
});

test("output – a reader that never reads ends help, check and status silently too", {
  skip,
}, async (t) => {
  const directory = await stored(t);
  for (const words of ["--help", "check", `${WORDS} --format csv`]) {
    const { stdout, stderr } = pipeline(directory, `${words} 2>/dev/null`, "true");
    assert.equal(stderr, "", words);
    assert.match(stdout, /^status [02] 0$/m, words);
  }
});

test("export – into a pager that nobody reads, it holds no store open, and ends when it is told", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const directory = await stored(t);
  const child = spawn(
    process.execPath,
    [resolve(PROGRAM), ...WORDS.split(" "), "--format", "jsonl"],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...programEnvironment(), DATA_DIR: directory, SITE_FILE: join(directory, "none") },
    },
  );
  t.after(() => void child.kill("SIGKILL"));
  // Nothing more than this is taken.
  await once(child.stdout, "readable");
  const db = new Database(join(directory, "gateside.db"));
  t.after(() => void db.close());
  db.exec("CREATE TABLE written (n INTEGER)");
  await until("the store is free", () => {
    const [row] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return row?.busy === 0 || undefined;
  });
  assert.equal(child.exitCode, null);
  child.kill("SIGTERM");
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 1);
});
