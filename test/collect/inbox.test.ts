import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedPayload, type PendingDelivery, type Source } from "../../src/collect/delivery.ts";
import { Inbox } from "../../src/collect/inbox.ts";
import { deliveryOf } from "../support/collecting.ts";

function openInbox() {
  const inbox = new Inbox();
  const state = { isPaused: false };
  inbox.add({
    pause: () => void (state.isPaused = true),
    resume: () => void (state.isPaused = false),
  } as Source);
  const push = (topic: string, bytes: number, session: object | null = null) => {
    const delivery: PendingDelivery = { ...deliveryOf(topic, Buffer.alloc(bytes)), session };
    inbox.push(delivery);
  };
  return { inbox, state, push };
}

test("inbox – topics and the messages themselves count: empty ones pause a source, too", () => {
  for (const [topic, count] of [
    ["gateside/plant-7/1/x", 32_000],
    ["x".repeat(60_000), 300],
  ] as const) {
    const { state, push } = openInbox();
    for (let n = 0; n < count && !state.isPaused; n++) push(topic, 0);
    assert.ok(state.isPaused, topic.slice(0, 20));
  }
});

test("inbox – what an ended connection delivered is dropped, for it comes again; what is being written stays counted", async () => {
  const { inbox, state, push } = openInbox();
  const [first, second] = [{}, {}];
  push("taken", 20 << 20, first);
  const batch = await inbox.take(1, 1, new AbortController().signal);
  push("first", 10 << 20, first);
  push("second", 10 << 20, second);
  push("kept", 1, null);
  assert.ok(state.isPaused);
  inbox.drop(first);
  assert.equal(inbox.length, 2);
  assert.ok(state.isPaused, "20 MB are being written");
  inbox.release(batch);
  assert.ok(!state.isPaused);
  const rest = await inbox.take(10, 1 << 30, new AbortController().signal);
  assert.deepEqual(
    rest.map(({ topic }) => topic),
    ["second", "kept"],
  );
});

test("inbox – a payload does not hold the buffer that it arrived in", () => {
  const chunk = Buffer.alloc(65_536, 1);
  const small = boundedPayload(chunk.subarray(10, 12));
  assert.deepEqual([...small], [1, 1]);
  assert.notEqual(small.buffer, chunk.buffer);
  const large = boundedPayload(Buffer.alloc(5 << 20, 2));
  assert.equal(large.length, 4096);
  assert.ok(large.buffer.byteLength < 1 << 20);
});
