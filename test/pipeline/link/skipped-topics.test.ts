import assert from "node:assert/strict";
import { test } from "node:test";
import type { Subscription } from "../../../src/core/delivery/link.ts";
import { SkippedTopics } from "../../../src/pipeline/link/skipped-topics.ts";
import { ManualClock } from "../../support/manual-clock.ts";

test("skipped topics – where each try ends a session, the next comes after twice the time, an hour at most; after a quiet time all is as before", async () => {
  const clock = new ManualClock();
  const skipped = new SkippedTopics(clock);
  const minutes = async () => {
    skipped.note({ topic: "g/p/cmd", bytes: 2_000_000 });
    const told = skipped.state("mqtt://broker")?.text ?? "";
    let count = 0;
    for (; skipped.isSkipped("g/p/#"); count += 1) await clock.advance(60_000);
    assert.match(told, new RegExp(`there for ${count} minutes`));
    return count;
  };
  const pauses: number[] = [];
  for (let n = 0; n < 5; n += 1) pauses.push(await minutes());
  assert.deepEqual(pauses, [10, 20, 40, 60, 60]);
  await clock.advance(3_600_000);
  assert.equal(await minutes(), 10);
});

test("skipped topics – a filter is subscribed to ten minutes after the message, also by a session that began in between", async () => {
  const clock = new ManualClock();
  const skipped = new SkippedTopics(clock);
  skipped.note({ topic: "g/p/cmd", bytes: 2_000_000 });
  const subscribed: string[] = [];
  const session = {
    subscribe(filters: readonly Subscription[]) {
      subscribed.push(...filters.map(({ topic }) => topic));
      return Promise.resolve([]);
    },
  };
  await clock.advance(590_000);
  const filters = [
    { topic: "g/p/cmd", qos: 1 },
    { topic: "g/p/other", qos: 1 },
  ] as const;
  await skipped.subscribe(session, filters, new AbortController().signal);
  assert.deepEqual(subscribed, ["g/p/other"]);
  await clock.advance(10_000);
  assert.equal(skipped.state("mqtt://broker"), null);
  assert.deepEqual(subscribed, ["g/p/other", "g/p/cmd"]);
});
