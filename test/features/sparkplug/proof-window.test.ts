import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboxEntry } from "../../../src/core/delivery/delivery.ts";
import { ProofWindow } from "../../../src/features/sparkplug/proof-window.ts";
import { storedReading } from "../../support/memory-outbox.ts";

const entry = (seq: number): OutboxEntry => ({ reading: storedReading(seq), live: true });
const delivered = (window: ProofWindow, nowMs: number, isLeaving = false) =>
  (window.delivered(nowMs, isLeaving).get("sparkplug") ?? []).map((e) => e.reading.seq);

test("sparkplug – what is not proven is never delivered, and is repeated after a loss", () => {
  const window = new ProofWindow(0, 10);
  window.add("sparkplug", [entry(1), entry(2)], 0);
  window.add("sparkplug", [entry(3)], 0);
  assert.deepEqual(delivered(window, 99), []);
  window.prove(1, 0);
  assert.deepEqual(delivered(window, 0), [1, 2]);
  window.lose(false);
  assert.equal(window.isRepeat("sparkplug", entry(1)), false);
  assert.equal(window.isRepeat("sparkplug", entry(3)), true);
  assert.equal(window.isRepeat("sparkplugWaveform", entry(3)), false);
  window.add("sparkplug", [entry(3)], 1);
  window.prove(1, 1);
  assert.deepEqual(delivered(window, 1), [3]);
  assert.equal(window.isRepeat("sparkplug", entry(3)), false);
});

test("sparkplug – with a primary host, proven readings are held for a time, in limited number, and released by a stop", () => {
  const window = new ProofWindow(100, 2);
  for (const seq of [1, 2, 3]) window.add("sparkplug", [entry(seq)], 0);
  window.prove(3, 0);
  assert.deepEqual(delivered(window, 50), [1], "more than it may hold");
  assert.deepEqual(delivered(window, 99), []);
  assert.deepEqual(delivered(window, 100), [2, 3]);
  window.add("sparkplug", [entry(4)], 100);
  window.prove(1, 100);
  assert.deepEqual(delivered(window, 101, true), [4]);
});

test("sparkplug – a link that flaps does not restart the holding time, a host that died does", () => {
  for (const [hasHostLeft, expected] of [
    [false, [1]],
    [true, []],
  ] as const) {
    const window = new ProofWindow(100, 10);
    window.add("sparkplug", [entry(1)], 0);
    window.prove(1, 0);
    window.lose(hasHostLeft);
    window.add("sparkplug", [entry(1)], 90);
    window.prove(1, 90);
    assert.deepEqual(delivered(window, 110), expected);
  }
});

test("sparkplug – after a lost connection as many readings may be held as before", () => {
  const window = new ProofWindow(100, 2);
  for (let session = 0; session < 3; session++) {
    for (const seq of [1, 2]) window.add("sparkplug", [entry(seq)], 0);
    window.prove(2, 0);
    assert.deepEqual(delivered(window, 50), []);
    window.lose(false);
  }
});

test("sparkplug – a reading that was sent twice because its lease had ended holds nothing back", () => {
  const window = new ProofWindow(100, 10);
  for (const seq of [1, 1, 2]) window.add("sparkplug", [entry(seq)], 0);
  window.prove(3, 0);
  assert.deepEqual(delivered(window, 100), [1, 1, 2]);
  assert.deepEqual(delivered(window, 101), []);
});

test("sparkplug – a reading that is sent once more after its delivery is held as long as the first time", () => {
  const window = new ProofWindow(100, 10);
  for (const provenMs of [0, 200]) {
    window.add("sparkplug", [entry(1)], provenMs);
    window.prove(1, provenMs);
    assert.deepEqual(delivered(window, provenMs + 99), []);
    assert.deepEqual(delivered(window, provenMs + 100), [1]);
  }
});
