import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Digest, WAITING_MAX } from "../../../src/features/notify/digest.ts";
import type { Notice } from "../../../src/features/notify/notice.ts";

const MINUTE = 60_000;
const LENGTH = 15 * MINUTE;
const WARNING = 1;
const ALARM = 2;

function notice(key: string, isActive = true, rank = WARNING): Notice {
  const text = `${key} ${isActive ? "raised" : "cleared"}`;
  return { key, rank, isActive, timeMs: 0, text, sensor: null, payload: () => "{}" };
}
const texts = (notices: readonly Notice[]) => notices.map(({ text }) => text);

describe("digest", () => {
  test("the first at once, what follows in one a digest's length later, and so on while events come", () => {
    const digest = new Digest(LENGTH);
    digest.add(notice("a"), 0);
    assert.deepEqual(texts(digest.take(0)), ["a raised"]);
    digest.add(notice("b"), MINUTE);
    digest.add(notice("a", false), 2 * MINUTE);
    assert.deepEqual(digest.take(LENGTH - 1), []);
    assert.equal(digest.dueMs(), LENGTH);
    assert.deepEqual(texts(digest.take(LENGTH)), ["b raised", "a cleared"]);
    digest.add(notice("c"), LENGTH + MINUTE);
    assert.deepEqual(digest.take(2 * LENGTH - 1), []);
    assert.deepEqual(texts(digest.take(2 * LENGTH)), ["c raised"]);
    // Nothing for a digest's length: what comes then is a first message again.
    digest.add(notice("d"), 3 * LENGTH);
    assert.deepEqual(texts(digest.take(3 * LENGTH)), ["d raised"]);
  });

  test("the first of a higher severity at once, the second one not", () => {
    const digest = new Digest(LENGTH);
    digest.add(notice("a"), 0);
    digest.take(0);
    digest.add(notice("b"), MINUTE);
    digest.add(notice("c", true, ALARM), 2 * MINUTE);
    assert.deepEqual(texts(digest.take(2 * MINUTE)), ["b raised", "c raised"]);
    digest.add(notice("d", true, ALARM), 3 * MINUTE);
    digest.add(notice("c", false, ALARM), 3 * MINUTE);
    assert.deepEqual(digest.take(3 * MINUTE), []);
    assert.deepEqual(texts(digest.take(2 * MINUTE + LENGTH)), ["d raised", "c cleared"]);
  });

  test("a value that changes more than six times in ten minutes is muted for an hour, then its state is told", () => {
    const digest = new Digest(LENGTH);
    for (let change = 0; change < 20; change += 1)
      digest.add(notice("a", change % 2 === 0), change * 30_000);
    const told = [...digest.take(0), ...digest.take(LENGTH)];
    assert.equal(told.length, 7);
    assert.match(told.at(-1)?.text ?? "", /muted for an hour/);
    const mutedAtMs = 6 * 30_000;
    assert.deepEqual(digest.take(mutedAtMs + 59 * MINUTE), []);
    assert.equal(digest.dueMs(), mutedAtMs + 60 * MINUTE);
    assert.deepEqual(texts(digest.take(mutedAtMs + 60 * MINUTE)), ["After an hour: a cleared"]);
    assert.equal(digest.dueMs(), null);
  });

  test("one that goes to and fro between warning and alarm changes, too", () => {
    const digest = new Digest(LENGTH);
    for (let change = 0; change < 20; change += 1)
      digest.add(notice("a", true, change % 2 === 0 ? WARNING : ALARM), change);
    const told = digest.take(20);
    assert.equal(told.length, 7);
    assert.match(told.at(-1)?.text ?? "", /muted for an hour/);
  });

  test("six changes in ten minutes, or more in a longer time, are told", () => {
    const digest = new Digest(LENGTH);
    for (let change = 0; change < 30; change += 1)
      digest.add(notice("a", change % 2 === 0), change * 101_000);
    assert.equal(digest.take(100 * MINUTE).length, 30);
  });

  test("an acknowledgement is no change of the value", () => {
    const digest = new Digest(LENGTH);
    for (let at = 0; at < 20; at += 1) digest.add(notice("a"), at);
    assert.equal(digest.take(MINUTE).length, 20);
  });

  test("one that gets worse while it is muted is told all the same", () => {
    const digest = new Digest(LENGTH);
    for (let change = 0; change < 8; change += 1) digest.add(notice("a", change % 2 === 0), change);
    digest.take(8);
    digest.add(notice("a", true, ALARM), MINUTE);
    digest.add(notice("a", true, ALARM), MINUTE);
    assert.deepEqual(texts(digest.take(MINUTE)), ["a raised"]);
  });

  test("without a length everything is told at once", () => {
    const digest = new Digest(0);
    for (let change = 0; change < 20; change += 1) {
      digest.add(notice("a", change % 2 === 0), change);
      assert.equal(digest.take(change).length, 1);
    }
  });

  test("what waits is limited, and what is dropped is counted", () => {
    const digest = new Digest(LENGTH);
    for (let at = 0; at < WAITING_MAX + 7; at += 1) digest.add(notice(`${at}`), 0);
    assert.equal(digest.take(0).length, WAITING_MAX);
    assert.deepEqual([digest.takeDropped(), digest.takeDropped()], [7, 0]);
  });
});
