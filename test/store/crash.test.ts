import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "better-sqlite3";
import { openStore } from "../../src/store/store.ts";
import { buildShim } from "../support/build-shim.ts";
import { DAY_MS, START_MS, storeOptions, tempDirectory } from "../support/temp-database.ts";

interface Told {
  readonly stored: Set<number>;
  /** Handed to a broker; whether that is on disk is open. */
  readonly sent: Set<number>;
  readonly settled: Set<number>;
}

function understand(output: string): Told {
  const told: Told = { stored: new Set(), sent: new Set(), settled: new Set() };
  // A line without its end was never told.
  for (const line of output.split("\n").slice(0, -1)) {
    const [what, time] = line.split(" ");
    if (what === "a") told.stored.add(Number(time));
    if (what === "p") told.sent.add(Number(time));
    if (what === "s") told.settled.add(Number(time));
  }
  return told;
}

/** What was acknowledged is there once, what was settled is not owed, and nothing else is missing from the outbox. */
async function compare(directory: string, told: Told): Promise<void> {
  const store = openStore(storeOptions(directory, { bufferMaxMb: 8 }));
  try {
    assert.equal(store.state().alarm, null);
    const times = [...store.history.range({ fromMs: START_MS, toMs: START_MS + DAY_MS })].map(
      ({ timeMs }) => timeMs,
    );
    const present = new Set(times);
    assert.equal(present.size, times.length, "nothing is stored twice");
    for (const time of told.stored)
      assert.ok(present.has(time), `${time} was acknowledged and is lost`);
    const owed = new Set(
      [
        ...store.outbox.lease("json", "live", 10),
        ...store.outbox.lease("json", "backlog", 1e6),
      ].map(({ reading }) => reading.timeMs),
    );
    for (const time of told.settled)
      assert.ok(!owed.has(time), `${time} was settled and is owed again`);
    for (const time of present) {
      assert.ok(owed.has(time) || told.sent.has(time), `${time} is stored and nobody owes it`);
    }
  } finally {
    await store.close();
  }
}

const CHILD = ["--import", "tsx", "test/support/store-child.ts"];

test("crash – kill -9 at any moment loses nothing acknowledged and doubles nothing", async (t) => {
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
    const told = understand(output);
    assert.ok(told.settled.size > 0);
    await compare(directory, told);
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
  | { readonly what: "told"; readonly text: string };

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
    if (kind === "O") events.push({ what: "told", text: bytes.toString() });
  }
  return events;
}

class Disk {
  /** What would be on the medium after a power cut, and what the running system sees. */
  readonly synced = new Map<string, Buffer>();
  readonly current = new Map<string, Buffer>();

  apply(event: Event): void {
    switch (event.what) {
      case "write": {
        const old = this.current.get(event.path) ?? Buffer.alloc(0);
        const size = Math.max(old.length, event.offset + event.bytes.length);
        const next =
          size === old.length ? old : Buffer.concat([old, Buffer.alloc(size - old.length)]);
        event.bytes.copy(next, event.offset);
        this.current.set(event.path, next);
        break;
      }
      case "truncate": {
        const old = this.current.get(event.path) ?? Buffer.alloc(0);
        const next = Buffer.alloc(event.size);
        old.copy(next, 0, 0, event.size);
        this.current.set(event.path, next);
        break;
      }
      case "sync":
        this.synced.set(event.path, Buffer.from(this.current.get(event.path) ?? Buffer.alloc(0)));
        break;
      case "rename":
        // The directory is synced right after; names are not what is under test.
        for (const files of [this.current, this.synced]) {
          const bytes = files.get(event.path);
          files.delete(event.path);
          if (bytes !== undefined) files.set(event.to, bytes);
        }
        break;
      case "remove":
        this.current.delete(event.path);
        this.synced.delete(event.path);
        break;
      case "told":
        break;
    }
  }
}

test("crash – a power cut that keeps only what was synced loses nothing acknowledged", async (t) => {
  const directory = tempDirectory(t);
  const shim = buildShim(directory);
  if (shim === null) return t.skip("needs gcc and LD_PRELOAD to record writes and syncs");
  const data = join(directory, "data");
  const log = join(directory, "writes.log");
  mkdirSync(data);
  const run = spawnSync(process.execPath, [...CHILD, data, "0", "250"], {
    env: { ...process.env, LD_PRELOAD: shim, RECORD_LOG: log, RECORD_UNDER: `${data}/` },
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  assert.equal(run.status, 0, run.stderr);
  const events = readEvents(log);
  const syncs = events.filter(({ what }) => what === "sync").length;
  assert.ok(syncs > 250, `${syncs} syncs`);
  const firstAt = events.findIndex(({ what }) => what === "told");
  const cuts = new Set(
    Array.from(
      { length: 40 },
      () => firstAt + Math.floor(Math.random() * (events.length - firstAt)),
    ),
  );
  const disk = new Disk();
  let output = "";
  for (const [index, event] of events.entries()) {
    if (cuts.has(index)) {
      const cut = tempDirectory(t);
      for (const name of ["gateside.db", "gateside.db-wal"]) {
        const bytes = disk.synced.get(join(data, name));
        if (bytes !== undefined) writeFileSync(join(cut, name), bytes);
      }
      await compare(cut, understand(output));
    }
    disk.apply(event);
    if (event.what === "told") output += event.text;
  }
});

test("crash – samples of an answer that was cut short are swept at the next start", async (t) => {
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
