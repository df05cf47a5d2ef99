/** What is known of signals while the transaction that stores their readings runs, and after one that failed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Signal } from "../../../src/features/machines/rules/machine-signals.ts";
import { SignalLog } from "../../../src/features/machines/rules/signal-log.ts";
import { SignalReads } from "../../../src/features/machines/rules/signal-reads.ts";
import { Transactions } from "../../support/tx.ts";

const SIGNAL = { key: "50021/rpm/rpm" } as Signal;
const point = (timeMs: number) => ({ timeMs, value: 1480 });

/** A log over stored readings at these times. */
function open(storedMs: readonly number[] = []) {
  const log = new SignalLog(
    (_signal, timeMs) => storedMs.filter((one) => one <= timeMs).map((one) => point(one)),
    (_signal, afterMs, toMs) => {
      const next = storedMs.find((one) => one > afterMs && one <= toMs);
      return next === undefined ? null : point(next);
    },
  );
  const times = (untilMs: number) => log.before(SIGNAL, untilMs).map(({ timeMs }) => timeMs);
  return { log, times, tx: new Transactions() };
}

test("signals – a reading counts from its transaction on, and no more once that is rolled back", () => {
  const { log, times, tx } = open();
  log.note(tx.now, SIGNAL, point(1));
  tx.commit();
  log.note(tx.now, SIGNAL, point(2));
  assert.deepEqual(times(9), [1, 2]);
  tx.rollBack();
  assert.deepEqual(times(9), [1]);
});

test("signals – what is primed while a transaction runs keeps what that adds, and loses it with its rollback", () => {
  const { log, times, tx } = open([10]);
  log.note(tx.now, SIGNAL, point(30));
  log.prime(SIGNAL, [point(20)], 10);
  assert.deepEqual(times(90), [10, 20, 30]);
  tx.rollBack();
  assert.deepEqual(times(90), [10, 20]);
  log.note(tx.now, SIGNAL, point(30));
  log.prime(SIGNAL, [point(20)], 10);
  tx.commit();
  assert.deepEqual(times(90), [10, 20, 30]);
});

test("signals – a late reading counts until its transaction is over: from then on the store has it", () => {
  const storedMs = [10];
  const { log, times, tx } = open(storedMs);
  log.prime(SIGNAL, [point(50)], 40);
  log.note(tx.now, SIGNAL, point(20));
  assert.deepEqual(times(90), [10, 20, 50]);
  tx.rollBack();
  assert.deepEqual(times(90), [10, 50]);
  log.note(tx.now, SIGNAL, point(20));
  storedMs.push(20);
  tx.commit();
  assert.deepEqual(times(90), [10, 20, 50]);
});

test("signals – a read of a day counts from its transaction on, unless that is rolled back", () => {
  const reads = new SignalReads();
  const tx = new Transactions();
  const day = "2026-11-20";
  reads.stage(tx.now, "1/rpm", { day, atMs: 5 });
  assert.equal(reads.atMs("1/rpm", day), 5);
  tx.rollBack();
  assert.equal(reads.atMs("1/rpm", day), null);
  reads.stage(tx.now, "1/rpm", { day, atMs: 7 });
  tx.commit();
  // The gateway's clock was set back.
  reads.stage(tx.now, "1/rpm", { day, atMs: 6 });
  assert.equal(reads.atMs("1/rpm", day), 6);
  tx.rollBack();
  assert.equal(reads.atMs("1/rpm", day), 7);
  reads.note("1/rpm", { day, atMs: 6 });
  assert.equal(reads.atMs("1/rpm", day), 6);
});

test("signals – the first reading after a time that memory no longer holds is the stored one, not the oldest in memory", () => {
  const { log } = open([10, 20, 30]);
  log.prime(SIGNAL, [point(90)], 80);
  assert.equal(log.firstAfter(SIGNAL, 12)?.timeMs, 20);
  assert.equal(log.firstAfter(SIGNAL, 30)?.timeMs, 90);
  assert.equal(log.firstAfter(SIGNAL, 85)?.timeMs, 90);
  assert.equal(log.firstAfter(SIGNAL, 90), null);
});
