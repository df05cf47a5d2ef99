/**
 * A process that stores and settles until it is killed, telling each acknowledgement on stdout at once:
 * `a <time>` is stored, `s <time>` is settled. `--import tsx test/support/store-child.ts DIRECTORY FROM COUNT`
 */
import { writeSync } from "node:fs";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import { append, readingOf, START_MS, storeOptions } from "./temp-database.ts";

const tell = (line: string) => writeSync(1, `${line}\n`);

async function work(directory: string, from: number, count: number): Promise<void> {
  const store = openStore(storeOptions(directory, { commitWindowMs: 1, bufferMaxMb: 8 }));
  for (let n = from; n < from + count; n++) {
    const readings = Array.from({ length: 1 + (n % 5) }, (_, i) =>
      readingOf("1", START_MS + n * 1000 + i),
    );
    await append(store, readings, undefined, `${n}`);
    for (const { timeMs } of readings) tell(`a ${timeMs}`);
    if (n % 3 !== 0) continue;
    const entries = [
      ...store.outbox.lease("json", "live", 1),
      ...store.outbox.lease("json", "backlog", 4),
    ];
    const done = store.outbox.settle(
      "json",
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
    for (const { reading } of entries) tell(`p ${reading.timeMs}`);
    await store.outbox.flush();
    await done;
    for (const { reading } of entries) tell(`s ${reading.timeMs}`);
  }
  tell("end");
  await store.close();
}

const [directory = "", from = "0", count = "0"] = process.argv.slice(2);
void work(directory, Number(from), Number(count));
