/**
 * What storing and settling costs: bytes written per reading and per day in a steady round, and rows per second compared with a
 * bare better-sqlite3 writer. Row "w" of `npm run bench`.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { OutboxEntry } from "../../src/core/delivery/delivery.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import {
  append,
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  waveformOf,
} from "../../test/support/temp-database.ts";
import { writtenBytes } from "./measure.ts";
import type { BenchOptions, Outcome } from "./plant.ts";

const ROUNDS = 120;
const SMALL = 50;
const ACCEL = 5;
const BACKLOG = 200_000;

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

/** One reading of each sensor per round, delivered at once: a plant with its uplinks connected. */
async function steadyRounds(directory: string, accel: number, isDelivered: boolean) {
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
  const disk = writtenBytes(process.pid);
  const counted = store.statistics.bytesWritten;
  for (let n = 10; n < ROUNDS + 10; n++) await round(n);
  const bytes = writtenBytes(process.pid) - disk;
  const counted_ = store.statistics.bytesWritten - counted;
  await store.close();
  return {
    accel,
    isDelivered,
    bytesPerReading: bytes / ROUNDS / sensors.length,
    bytesPerRound: bytes / ROUNDS,
    mbPerDayOfMinuteRounds: ((bytes / ROUNDS) * 1440) / 1e6,
    mbPerDayByOwnCount: ((counted_ / ROUNDS) * 1440) / 1e6,
  };
}

async function backlog(directory: string) {
  const store = openStore(storeOptions(join(directory, "backlog"), { bufferMaxMb: 2048 }));
  const perSensor = BACKLOG / SMALL;
  const prepared = [...Array(SMALL).keys()].map((s) =>
    [...Array(perSensor).keys()].map((n) => readingOf(String(s), START_MS + n * 10_000)),
  );
  let startedAt = performance.now();
  for (const readings of prepared) await append(store, readings);
  const storedPerS = BACKLOG / ((performance.now() - startedAt) / 1000);
  await store.close();
  startedAt = performance.now();
  const again = openStore(storeOptions(join(directory, "backlog"), { bufferMaxMb: 2048 }));
  const openMs = performance.now() - startedAt;
  startedAt = performance.now();
  const sent = await settleAll(again);
  const settledPerS = sent / ((performance.now() - startedAt) / 1000);
  if (sent !== BACKLOG) throw new Error(`${sent} of ${BACKLOG} came out of the store`);
  await again.close();
  return { storedPerS, openMs, settledPerS };
}

/** Rows per second into a plain table without indexes. */
function bareWriter(directory: string): number {
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
  const perS = BACKLOG / ((performance.now() - startedAt) / 1000);
  db.close();
  return perS;
}

export async function storeRows({ directory: parent }: BenchOptions): Promise<Outcome> {
  const directory = join(parent, "store");
  mkdirSync(directory, { recursive: true });
  const steady = [
    await steadyRounds(directory, 0, true),
    await steadyRounds(directory, ACCEL, true),
    await steadyRounds(directory, 0, false),
  ];
  const bare = bareWriter(directory);
  const ours = await backlog(directory);
  return {
    rows: [
      {
        target: "w",
        what: "rows stored / rows a bare better-sqlite3 writer inserts, responses of 4,000 (a second; no target)",
        measured: ours.storedPerS / bare,
        limit: 0,
        sense: ">=",
        note: `${ours.storedPerS.toFixed(0)} : ${bare.toFixed(0)}; leased and settled ${ours.settledPerS.toFixed(0)}`,
      },
    ],
    raw: { steady, bare, ours },
  };
}
