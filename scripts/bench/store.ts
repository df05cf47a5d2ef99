/**
 * What storing and settling costs: bytes written per reading and per day in a steady round, and rows a second beside a
 * bare better-sqlite3 writer. `node --import tsx scripts/bench/store.ts [directory]`
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { OutboxEntry } from "../../src/core/ports.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import {
  append,
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  waveformOf,
} from "../../test/support/temp-database.ts";

const ROUNDS = 120;
const SMALL = 50;
const ACCEL = 5;
const BACKLOG = 200_000;

/** Bytes this process handed to block devices; null where the kernel does not tell. */
function diskBytes(): number {
  const match = /write_bytes: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"));
  return Number(match?.[1] ?? Number.NaN);
}

function print(what: string, value: number, unit: string): void {
  console.log(
    `${what.padEnd(64)} ${value.toLocaleString("en", { maximumFractionDigits: 1 }).padStart(12)} ${unit}`,
  );
}

async function settleAll(store: Store): Promise<number> {
  let sent = 0;
  for (;;) {
    const entries: OutboxEntry[] = [
      ...store.outbox.lease("json", "live", 100),
      ...store.outbox.lease("json", "backlog", 100),
    ];
    if (entries.length === 0) return sent;
    sent += entries.length;
    await store.outbox.settle(
      "json",
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
  }
}

/** One reading of each sensor a round, delivered at once: a plant with its links up. */
async function steadyRounds(directory: string, accel: number, isDelivered: boolean): Promise<void> {
  const store = openStore(
    storeOptions(join(directory, `steady-${accel}-${isDelivered}`), { commitWindowMs: 50 }),
  );
  const sensors = [...Array(SMALL + accel).keys()];
  const samples = waveformOf(4096);
  const round = async (n: number) => {
    const time = START_MS + n * 60_000;
    await Promise.all(
      sensors.map((s) => {
        const isAccel = s >= SMALL;
        const reading = readingOf(String(s), time + s, {
          kind: isAccel ? "accel" : "currentV2",
          values: {
            current1_avg: 12.5,
            current1_min: 11,
            current1_max: 14.2,
            current2_avg: 3.25,
            battery: 3.6,
          },
          units: {
            current1_avg: "A",
            current1_min: "A",
            current1_max: "A",
            current2_avg: "A",
            battery: "V",
          },
          waveform: isAccel ? samples : null,
        });
        return append(store, [reading], keyOf(String(s), reading.kind), `${n}:0123456789abcdef`);
      }),
    );
    if (isDelivered) await settleAll(store);
  };
  for (let n = 0; n < 10; n++) await round(n);
  const disk = diskBytes();
  const counted = store.statistics.bytesWritten;
  for (let n = 10; n < ROUNDS + 10; n++) await round(n);
  const bytes = diskBytes() - disk;
  const what = `${SMALL} small${accel > 0 ? ` + ${accel} accel 3x4096` : ""} a round, ${isDelivered ? "delivered" : "broker away"}`;
  print(`${what}: written per reading`, bytes / ROUNDS / sensors.length, "B");
  print(`${what}: written per round`, bytes / ROUNDS / 1000, "kB");
  print(`${what}: written per day of minute rounds`, ((bytes / ROUNDS) * 1440) / 1e6, "MB");
  print(
    `${what}: the same by the store's own count`,
    (((store.statistics.bytesWritten - counted) / ROUNDS) * 1440) / 1e6,
    "MB",
  );
  await store.close();
}

async function backlog(directory: string): Promise<void> {
  const store = openStore(storeOptions(join(directory, "backlog"), { bufferMaxMb: 2048 }));
  const perSensor = BACKLOG / SMALL;
  const prepared = [...Array(SMALL).keys()].map((s) =>
    [...Array(perSensor).keys()].map((n) => readingOf(String(s), START_MS + n * 10_000)),
  );
  let startedAt = performance.now();
  for (const readings of prepared) await append(store, readings);
  print(
    "rows stored a second, answers of 4,000",
    BACKLOG / ((performance.now() - startedAt) / 1000),
    "/s",
  );
  await store.close();
  startedAt = performance.now();
  const again = openStore(storeOptions(join(directory, "backlog"), { bufferMaxMb: 2048 }));
  print(`open with ${BACKLOG.toLocaleString("en")} pending`, performance.now() - startedAt, "ms");
  startedAt = performance.now();
  const sent = await settleAll(again);
  print(
    "rows leased and settled a second, windows of 100",
    sent / ((performance.now() - startedAt) / 1000),
    "/s",
  );
  await again.close();
}

function bareWriter(directory: string): void {
  const db = new Sqlite(join(directory, "bare.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec(
    "CREATE TABLE rows (id INTEGER PRIMARY KEY, sensor INTEGER, time INTEGER, body TEXT, raw BLOB)",
  );
  const insert = db.prepare("INSERT INTO rows (sensor, time, body, raw) VALUES (?, ?, ?, ?)");
  const body = "x".repeat(200);
  const raw = Buffer.alloc(32);
  const startedAt = performance.now();
  for (let n = 0; n < BACKLOG; n += 1000) {
    db.transaction(() => {
      for (let i = 0; i < 1000; i++) insert.run(i % SMALL, START_MS + n + i, body, raw);
    })();
  }
  print(
    "bare better-sqlite3, FULL, 1,000 rows a commit",
    BACKLOG / ((performance.now() - startedAt) / 1000),
    "/s",
  );
  db.close();
}

async function bench(): Promise<void> {
  const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), "gateside-bench-"));
  try {
    await steadyRounds(directory, 0, true);
    await steadyRounds(directory, ACCEL, true);
    await steadyRounds(directory, 0, false);
    bareWriter(directory);
    await backlog(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

void bench();
