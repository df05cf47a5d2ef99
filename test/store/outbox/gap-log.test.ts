import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { Database } from "../../../src/store/database/database.ts";
import { Streams } from "../../../src/store/database/streams.ts";
import { WriteQueue } from "../../../src/store/database/write-queue.ts";
import { SqliteGapLog } from "../../../src/store/outbox/gap-log.ts";
import { START_MS, tempDirectory } from "../../support/temp-database.ts";

test("gap log – additions to a gap while it is being sent are sent afterwards, and counted once", async (t) => {
  const db = new Database({ dataDir: tempDirectory(t), checkpointBytes: 2 << 20 });
  db.open();
  t.after(() => db.close());
  const lost: number[] = [];
  const queue = new WriteQueue({
    db,
    clock: systemClock,
    logger: silentLogger,
    statistics: { commits: 0, bytesWritten: 0, commitSeconds() {} },
    paceMs: 0,
  });
  const streams = new Streams(db);
  const gaps = new SqliteGapLog({
    db,
    queue,
    streams,
    logger: silentLogger,
    onLost: (_uplink, _reason, count) => lost.push(count),
  });
  queue.connect({
    *makeRoom() {
      yield;
      return false;
    },
    undone: () => gaps.undone(),
    committed: () => gaps.committed(),
    reopen() {},
  });
  const stream = streams.intern("1", "rpm");
  queue.direct("file the stream", () => streams.write(stream));
  const own = gaps.of("main");
  const counts = () => own.pendingGaps(9).map(({ gapId, count }) => ({ gapId, count }));

  await new Promise<void>((resolve, reject) => {
    const add = (n: number) => gaps.add(stream.stream, START_MS + n, "disk_full", "main");
    queue.direct("give up three", () => [0, 1, 2].forEach(add));
    queue.enqueue(
      {
        what: "give up five more",
        rows: 5,
        *run() {
          for (let n = 3; n < 8; n++) add(n);
          // Here the publisher comes in between.
          const [{ gapId, count } = { gapId: -1, count: 0 }] = counts();
          assert.equal(count, 3);
          setImmediate(() => {
            own.settleGaps([gapId]);
            resolve();
          });
          yield;
        },
        committed() {},
        failed: reject,
      },
      0,
    );
  });
  assert.deepEqual(lost, [3, 5]);
  const rest = counts();
  assert.deepEqual(
    rest.map(({ count }) => count),
    [5],
  );
  own.settleGaps(rest.map(({ gapId }) => gapId));
  assert.deepEqual(counts(), []);
});
