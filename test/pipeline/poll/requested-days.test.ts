/** Days that somebody requests, also while they are read. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { WantedRecords } from "../../../src/core/ports.ts";
import type { BackfillJob } from "../../../src/pipeline/poll/backfill-job.ts";
import type { DayRead, ReadRequest } from "../../../src/pipeline/poll/day-read.ts";
import type { Poller } from "../../../src/pipeline/poll/poller.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const TODAY = "2026-11-20";
const KEY = { sensor: "1", kind: "rpm", day: TODAY } as const;
const SITE = {
  site: "p",
  sensors: [{ code: "1", type: 1, kinds: ["rpm"], channels: {} }],
} as const;
const FAILED = {
  ok: false,
  durationMs: 10,
  failureClass: "transient",
  isGatewayFault: false,
  retryAfterMs: null,
  message: "down",
} as const satisfies DayRead;
const WANTED: WantedRecords = { has: () => true, take: () => Promise.resolve() };

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A poller whose reads end when the test says so; every read so far. */
function start(
  t: TestContext,
  answer: (request: ReadRequest) => DayRead = () => GOOD_READ,
  beforeRun: (poller: Poller) => void = () => {},
) {
  const reads: ReadRequest[] = [];
  const ends: (() => void)[] = [];
  const end = () => {
    for (const one of ends.splice(0)) one();
  };
  let isOver = false;
  // Before the poller's own end, which waits for its reads.
  t.after(() => {
    isOver = true;
    end();
  });
  const { clock, poller } = startPoller(t, {
    site: { ...SITE, sensors: SITE.sensors.map((one) => ({ ...one, kinds: [...one.kinds] })) },
    backfillDays: 0,
    concurrency: 2,
    intervalMs: 60_000,
    beforeRun,
    readDay: async (request) => {
      reads.push(request);
      if (!isOver)
        await new Promise<void>((resolve) => {
          ends.push(resolve);
        });
      return answer(request);
    },
  });
  const endRead = async () => {
    end();
    await turn();
    await turn();
  };
  return { clock, poller, reads, endRead };
}

test("requested days – records that are wanted while their day is read are asked for by the next read", async (t) => {
  const { clock, poller, reads, endRead } = start(t);
  await clock.advance(100);
  let result: string | null | undefined;
  void poller.readWanted(KEY, WANTED).then((end) => {
    result = end;
  });
  await endRead();
  await clock.advance(1);
  assert.equal(result, undefined);
  assert.deepEqual(
    reads.map(({ wanted }) => wanted === WANTED),
    [false, true],
  );
  await endRead();
  assert.equal(result, null);
});

test("requested days – records that two parts want of one day are asked for one after the other", async (t) => {
  const { clock, poller, reads, endRead } = start(t);
  await clock.advance(100);
  const other: WantedRecords = { ...WANTED };
  let done = 0;
  for (const wanted of [WANTED, other]) void poller.readWanted(KEY, wanted).then(() => (done += 1));
  for (const expected of [0, 1, 2]) {
    await endRead();
    await clock.advance(1);
    assert.equal(done, expected);
  }
  assert.deepEqual(
    reads.slice(0, 3).map(({ wanted }) => wanted),
    [undefined, WANTED, other],
  );
});

test("requested days – a backfill that joins the very first read ends, although its response shows another day", async (t) => {
  const { clock, poller, reads, endRead } = start(t, ({ gatewayNow, isVoid, day }) => {
    // Our clock is three days ahead.
    gatewayNow(Date.parse("2026-11-17T12:00:00Z"));
    return isVoid?.() && day === TODAY ? { ...FAILED, failureClass: "aborted" } : GOOD_READ;
  });
  await clock.advance(100);
  const job = poller.backfill([TODAY], null);
  for (let n = 0; n < 10; n++) {
    await endRead();
    await clock.advance(1_000);
  }
  assert.deepEqual([job.done, job.failures], [1, []]);
  assert.ok(reads.some(({ day }) => day === "2026-11-17"));
});

test("requested days – today is polled although a request that failed came before the first turn", async (t) => {
  let isDown = true;
  const jobs: BackfillJob[] = [];
  const { clock, reads, endRead } = start(
    t,
    () => (isDown ? FAILED : GOOD_READ),
    (poller) => void jobs.push(poller.backfill([TODAY], null)),
  );
  await clock.advance(100);
  await endRead();
  assert.deepEqual(
    jobs.map(({ done, failures }) => [done, failures.length]),
    [[1, 1]],
  );
  isDown = false;
  for (let n = 0; n < 20; n++) {
    await clock.advance(60_000);
    await endRead();
  }
  assert.ok(reads.filter(({ day }) => day === TODAY).length >= 15, `${reads.length}`);
});

test("requested days – a day that needs no read of its own is asked for once, whether that fails or not", async (t) => {
  const { clock, poller, reads, endRead } = start(t, ({ day }) =>
    day === TODAY ? GOOD_READ : FAILED,
  );
  await clock.advance(100);
  await endRead();
  const job = poller.backfill(["2026-06-01"], null);
  for (let n = 0; n < 20; n++) {
    await clock.advance(60_000);
    await endRead();
  }
  assert.match(job.failures.join(), /^1 rpm 2026-06-01: down$/);
  assert.equal(reads.filter(({ day }) => day === "2026-06-01").length, 1);
});
