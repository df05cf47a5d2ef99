import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import type { OutboxUplink } from "../../../src/core/delivery/delivery.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import { scriptWords } from "../../support/script-words.ts";
import { storeOptions, tempDirectory, timesOf, uplinkOf } from "../../support/temp-database.ts";

const main = uplinkOf("main", ["json"]);
const cloud = uplinkOf("cloud", ["json"]);

/** Kills it with SIGKILL once it has printed so many lines; returns what it printed. */
function killedAfter(directory: string, lines: number): Promise<string[]> {
  const child = spawn(
    process.execPath,
    [...scriptWords("test/support/uplinks-child.ts"), directory],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let output = "";
  return new Promise((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.split("\n").length > lines) child.kill("SIGKILL");
    });
    // A line without its end was never printed.
    child.on("close", () => resolve(output.split("\n").slice(0, -1)));
  });
}

function owed(store: Store, uplink: string): number[] {
  const outbox = store.outboxOf(uplink);
  const live = outbox.lease("json", "live", 1e6);
  const backlog = outbox.lease("json", "backlog", 1e6);
  outbox.release("json");
  return timesOf([...live, ...backlog]).toSorted((a, b) => a - b);
}

async function opened<T>(
  directory: string,
  uplinks: OutboxUplink[],
  look: (store: Store) => T,
): Promise<T> {
  const store = openStore(storeOptions(directory, { uplinks }));
  try {
    await store.retain();
    return look(store);
  } finally {
    await store.close();
  }
}

test("crash – kill -9 while an uplink is added and removed loses no reading of an uplink and duplicates none", async (t) => {
  for (let round = 0; round < 4; round++) {
    const directory = tempDirectory(t);
    const log = await killedAfter(directory, 230 + round * 187);
    const stored = log.filter((line) => line.startsWith("a ")).map((line) => Number(line.slice(2)));
    assert.ok(log.includes("u main+cloud") && log.includes("u main"), "it came and went");

    const [ofMain, ofCloud, count] = await opened(directory, [main, cloud], (store) => [
      owed(store, "main"),
      owed(store, "cloud"),
      store.state().readings,
    ]);
    assert.equal(new Set(ofMain).size, ofMain.length, "nothing twice for main");
    assert.equal(ofMain.length, count, "all that is stored is owed to main");
    for (const time of stored) assert.ok(ofMain.includes(time), `${time} was reported as stored`);
    assert.deepEqual(ofCloud, ofMain, "what comes back begins with all that is stored, once");

    // Gone for good: counted and reported once, by main.
    await opened(directory, [main], (store) => {
      assert.deepEqual(owed(store, "main"), ofMain);
      assert.deepEqual(owed(store, "cloud"), []);
      const gaps = store.gapsOf("main").pendingGaps(1000);
      assert.ok(
        gaps.every(({ reason, uplink }) => reason === "uplink_removed" && uplink === "cloud"),
      );
      const reported = gaps.reduce((sum, gap) => sum + gap.count, 0);
      assert.equal(reported, store.state().dropped["uplink_removed"]);
      assert.ok(reported >= count, `${reported} reported of ${count}`);
    });
  }
});
