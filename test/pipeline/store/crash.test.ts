import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { SeededRandom } from "../../../scripts/chaos/random.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import { buildShim } from "../../support/build-shim.ts";
import { preloading } from "../../support/fake-time.ts";
import { scriptWords } from "../../support/script-words.ts";
import { DAY_MS, START_MS, storeOptions, tempDirectory } from "../../support/temp-database.ts";

interface Progress {
  readonly stored: Set<number>;
  /** Handed to a broker; whether that is on disk is open. */
  readonly sent: Set<number>;
  readonly settled: Set<number>;
}

function understand(output: string): Progress {
  const progress: Progress = { stored: new Set(), sent: new Set(), settled: new Set() };
  // A line without its end was never printed.
  for (const line of output.split("\n").slice(0, -1)) {
    const [what, time] = line.split(" ");
    if (what === "a") progress.stored.add(Number(time));
    if (what === "p") progress.sent.add(Number(time));
    if (what === "s") progress.settled.add(Number(time));
  }
  return progress;
}

/** What was acknowledged is there once, what was settled is not owed, and nothing else is missing from the outbox. */
async function compare(directory: string, progress: Progress): Promise<void> {
  const store = openStore(storeOptions(directory, { bufferMaxMb: 8 }));
  try {
    assert.equal(store.state().alarm, null);
    const times = [...store.history.range({ fromMs: START_MS, toMs: START_MS + DAY_MS })].map(
      ({ timeMs }) => timeMs,
    );
    const present = new Set(times);
    assert.equal(present.size, times.length, "nothing is stored twice");
    for (const time of progress.stored)
      assert.ok(present.has(time), `${time} was acknowledged and is lost`);
    const owed = new Set(
      [
        ...store.outbox.lease("json", "live", 10),
        ...store.outbox.lease("json", "backlog", 1e6),
      ].map(({ reading }) => reading.timeMs),
    );
    for (const time of progress.settled)
      assert.ok(!owed.has(time), `${time} was settled and is owed again`);
    for (const time of present) {
      assert.ok(owed.has(time) || progress.sent.has(time), `${time} is stored and nobody wants it`);
    }
  } finally {
    await store.close();
  }
}

const CHILD = scriptWords("test/support/store-child.ts");

test("crash – kill -9 at any moment loses nothing acknowledged and duplicates nothing", async (t) => {
  for (let round = 0; round < 4; round++) {
    const directory = tempDirectory(t);
    const child = spawn(process.execPath, [...CHILD, directory, "0", "100000"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    const lines = 150 + round * 397;
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.length > lines * 16) child.kill("SIGKILL");
      });
      child.on("close", () => resolve());
    });
    const progress = understand(output);
    assert.ok(progress.settled.size > 0);
    await compare(directory, progress);
  }
});

/** Writes with what they wrote, syncs, truncations and renames of one run, in order. */
type Event =
  | {
      readonly what: "write";
      readonly path: string;
      readonly offset: number;
      readonly bytes: Buffer;
    }
  | { readonly what: "sync"; readonly path: string }
  | { readonly what: "truncate"; readonly path: string; readonly size: number }
  | { readonly what: "rename"; readonly path: string; readonly to: string }
  | { readonly what: "remove"; readonly path: string }
  | { readonly what: "output"; readonly text: string };

function readEvents(path: string): Event[] {
  const log = readFileSync(path);
  const events: Event[] = [];
  for (let at = 0; at < log.length; ) {
    const kind = String.fromCharCode(log[at] ?? 0);
    const nameLength = log.readUInt32LE(at + 1);
    const offset = Number(log.readBigInt64LE(at + 5));
    const length = log.readUInt32LE(at + 13);
    const name = log.toString("utf8", at + 17, at + 17 + nameLength);
    const bytes = log.subarray(at + 17 + nameLength, at + 17 + nameLength + length);
    at += 17 + nameLength + length;
    if (kind === "W") events.push({ what: "write", path: name, offset, bytes });
    if (kind === "S") events.push({ what: "sync", path: name });
    if (kind === "T") events.push({ what: "truncate", path: name, size: offset });
    if (kind === "R") events.push({ what: "rename", path: name, to: bytes.toString() });
    if (kind === "U") events.push({ what: "remove", path: name });
    if (kind === "O") events.push({ what: "output", text: bytes.toString() });
  }
  return events;
}

type Change = Extract<Event, { what: "write" | "truncate" }>;

const SECTOR_BYTES = 512;
const EMPTY = Buffer.alloc(0);

function changed(file: Buffer, change: Change): Buffer {
  if (change.what === "truncate") {
    const next = Buffer.alloc(change.size);
    file.copy(next, 0, 0, change.size);
    return next;
  }
  const size = Math.max(file.length, change.offset + change.bytes.length);
  const next = Buffer.concat([file, Buffer.alloc(size - file.length)]);
  change.bytes.copy(next, change.offset);
  return next;
}

class Disk {
  /** What is on the medium whatever happens. */
  readonly synced = new Map<string, Buffer>();
  /** What the running system has changed since: it may have arrived, in part and in any order. */
  readonly unsynced = new Map<string, Change[]>();

  apply(event: Event): void {
    switch (event.what) {
      case "write":
      case "truncate":
        this.unsynced.set(event.path, [...(this.unsynced.get(event.path) ?? []), event]);
        break;
      case "sync":
        this.synced.set(
          event.path,
          this.#arrived(event.path, (change) => change),
        );
        this.unsynced.delete(event.path);
        break;
      case "rename":
        // The directory is synced right after; names are not what is under test.
        this.#rename(this.synced, event);
        this.#rename(this.unsynced, event);
        break;
      case "remove":
        this.synced.delete(event.path);
        this.unsynced.delete(event.path);
        break;
      case "output":
        break;
    }
  }

  #rename<T>(files: Map<string, T>, { path, to }: { path: string; to: string }): void {
    const content = files.get(path);
    files.delete(path);
    if (content !== undefined) files.set(to, content);
  }

  #arrived(path: string, some: (change: Change) => Change | null): Buffer {
    let file = this.synced.get(path) ?? EMPTY;
    for (const change of this.unsynced.get(path) ?? []) {
      const arrived = some(change);
      if (arrived !== null) file = changed(file, arrived);
    }
    return file;
  }

  /** Files after a power cut: what was synced, and of the rest what luck let through, sector by sector. */
  after(path: string, random: SeededRandom, luck: number): Buffer | null {
    if (!this.synced.has(path) && !this.unsynced.has(path)) return null;
    return this.#arrived(path, (change) => {
      if (random.next() >= luck) return null;
      if (change.what === "truncate" || random.next() < 0.5) return change;
      const sectors = Math.ceil(change.bytes.length / SECTOR_BYTES);
      const from = random.between(0, sectors) * SECTOR_BYTES;
      const to = from + random.between(1, sectors + 1) * SECTOR_BYTES;
      return { ...change, offset: change.offset + from, bytes: change.bytes.subarray(from, to) };
    });
  }
}

/** Cuts of one recorded run. */
const CUTS = 40;
/** How many of the writes that were not synced arrive all the same. */
const LUCKS = [0, 0.5, 0.95];

test("crash – a power cut that keeps what was synced, and any part of the rest, loses nothing acknowledged", async (t) => {
  const directory = tempDirectory(t);
  const shim = buildShim(directory);
  if (shim === null) return t.skip("needs gcc and LD_PRELOAD to record writes and syncs");
  const random = new SeededRandom(1);
  const data = join(directory, "data");
  const log = join(directory, "writes.log");
  mkdirSync(data);
  const run = spawnSync(process.execPath, [...CHILD, data, "0", "250"], {
    env: {
      ...process.env,
      LD_PRELOAD: preloading(shim),
      RECORD_LOG: log,
      RECORD_UNDER: `${data}/`,
    },
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  assert.equal(run.status, 0, run.stderr);
  const events = readEvents(log);
  const syncs = events.filter(({ what }) => what === "sync").length;
  assert.ok(syncs > 250, `${syncs} syncs`);
  const firstAt = events.findIndex(({ what }) => what === "output");
  const database = join(data, "gateside.db");
  const isCheckpoint = (event: Event) => event.what === "write" && event.path === database;
  assert.ok(events.slice(firstAt).some(isCheckpoint), "a checkpoint is among what may be cut");
  const cuts = new Set(Array.from({ length: CUTS }, () => random.between(firstAt, events.length)));
  const disk = new Disk();
  let output = "";
  for (const [index, event] of events.entries()) {
    if (cuts.has(index)) {
      for (const luck of LUCKS) {
        const cut = tempDirectory(t);
        for (const name of ["gateside.db", "gateside.db-wal"]) {
          const bytes = disk.after(join(data, name), random, luck);
          if (bytes !== null) writeFileSync(join(cut, name), bytes);
        }
        await compare(cut, understand(output));
      }
    }
    disk.apply(event);
    if (event.what === "output") output += event.text;
  }
});

test("crash – samples of a truncated response are removed at the next start", async (t) => {
  const directory = tempDirectory(t);
  await openStore(storeOptions(directory)).close();
  const path = join(directory, "gateside.db");
  const db = new Sqlite(path);
  db.exec(`INSERT INTO waveforms (stream, time_ms, reading_id, channel, axis, sample_rate_hz, calibration, sample_count, encoding, samples)
    VALUES (1, ${START_MS}, x'00', 1, 'H', 6400, 1, 0, 0, x''); INSERT INTO staged_waveforms VALUES (last_insert_rowid())`);
  db.close();
  copyFileSync(path, `${path}.before`);
  await openStore(storeOptions(directory)).close();
  const after = new Sqlite(path, { readonly: true });
  t.after(() => after.close());
  assert.deepEqual(after.prepare("SELECT file_id FROM waveforms").all(), []);
  assert.deepEqual(after.prepare("SELECT file_id FROM staged_waveforms").all(), []);
});
