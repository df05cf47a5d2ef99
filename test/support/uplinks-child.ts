/**
 * A process that stores while an uplink comes and goes, until it is killed. It prints `a <time>` for each stored reading and
 * `u <uplinks>` once they are in effect. `--import tsx test/support/uplinks-child.ts DIRECTORY`
 */
import { writeSync } from "node:fs";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import { append, readingOf, START_MS, storeOptions, uplinkOf } from "./temp-database.ts";

const tell = (line: string) => writeSync(1, `${line}\n`);
const main = uplinkOf("main", ["json"]);
const cloud = uplinkOf("cloud", ["json"]);

async function work(directory: string): Promise<void> {
  const store = openStore(storeOptions(directory, { commitWindowMs: 1, uplinks: [main] }));
  const stopping = new AbortController();
  void store.runRetention(stopping.signal);
  for (let n = 0; ; n++) {
    const readings = Array.from({ length: 20 }, (_, i) =>
      readingOf("1", START_MS + n * 60_000 + i * 1000),
    );
    await append(store, readings, undefined, `${n}`);
    for (const { timeMs } of readings) tell(`a ${timeMs}`);
    if (n % 4 !== 3) continue;
    const uplinks = n % 8 === 3 ? [main, cloud] : [main];
    store.setUplinks(uplinks);
    tell(`u ${uplinks.map(({ name }) => name).join("+")}`);
  }
}

void work(process.argv[2] ?? "");
