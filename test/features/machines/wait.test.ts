/** How long a reading waits for the signal of its machine while days before it are still to be read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { INTERVAL_POINTS } from "../../../src/features/machines/rules/signal.ts";
import { Wait } from "../../../src/features/machines/rules/wait.ts";
import { Transactions } from "../../support/tx.ts";
import { MINUTE, PUMP, RPM, readAt, reading, siteWith, T0 } from "../alarms/support.ts";

/** Whether a reading of T0 may be judged while the day before is to be read. @param known readings of the speed up to T0 */
function mayBeJudged(known: number): boolean {
  const tx = new Transactions();
  const wait = new Wait(siteWith([], [PUMP]), { pendingDays: () => ["2026-11-19"] });
  const speeds = Array.from({ length: known }, (_, i) =>
    reading(RPM.code, T0 - i * MINUTE, { rpm: 1480 }),
  ).reverse();
  wait.note(tx.now, RPM.code, "rpm", speeds, readAt(T0 + 30 * MINUTE));
  tx.commit();
  return wait.isOver({ purpose: "alarm", sensor: "10234" }, T0, 0);
}

test("wait – an earlier day that is to be read counts until ten readings after it are known", () => {
  assert.deepEqual([0, 1, INTERVAL_POINTS - 1, INTERVAL_POINTS].map(mayBeJudged), [
    false,
    false,
    false,
    true,
  ]);
});

test("wait – of findings that may be judged, fewer are handed out in one transaction than of alarms", () => {
  for (const [purpose, most] of [
    ["alarm", 100],
    ["finding", 20],
  ] as const) {
    const tx = new Transactions();
    const wait = new Wait(siteWith([], [PUMP]));
    const of = { purpose, sensor: "10234", kind: "accel", isLate: false } as const;
    for (let n = 0; n < 150; n++) {
      const timeMs = T0 + n;
      const text = () => JSON.stringify(reading("10234", timeMs, {}));
      assert.equal(wait.admit(tx.now, of, timeMs, text), false);
    }
    tx.commit();
    wait.note(
      tx.now,
      RPM.code,
      "rpm",
      [reading(RPM.code, T0 + 2 * MINUTE, { rpm: 1480 })],
      readAt(T0 + 60 * MINUTE),
    );
    tx.commit();
    const handedOut = () => {
      const released = [...wait.due(tx.now, purpose)].length;
      tx.commit();
      return released;
    };
    assert.equal(handedOut(), most);
    assert.equal(handedOut(), Math.min(most, 150 - most));
  }
});

test("wait – what becomes a signal while the transaction of its readings runs is known with them once they are stored", () => {
  const tx = new Transactions();
  const stored = [{ timeMs: T0 - 2 * MINUTE, value: 0 }];
  const wait = new Wait(siteWith([]), {
    newest: () => ({ points: [...stored], fromMs: stored[0]?.timeMs ?? 0 }),
    earlier: (_signal, timeMs) => stored.filter((one) => one.timeMs <= timeMs),
  });
  wait.note(tx.now, RPM.code, "rpm", [reading(RPM.code, T0 - MINUTE, { rpm: 1480 })], null);
  wait.setSite(siteWith([], [PUMP]));
  assert.equal(wait.stateOf(PUMP.id, T0), "standing");
  stored.push({ timeMs: T0 - MINUTE, value: 1480 });
  tx.commit();
  assert.equal(wait.stateOf(PUMP.id, T0), "running");
  // One that was none for a while has missed readings.
  wait.setSite(siteWith([]));
  stored.push({ timeMs: T0, value: 0 });
  wait.setSite(siteWith([], [PUMP]));
  assert.equal(wait.stateOf(PUMP.id, T0), "standing");
});
