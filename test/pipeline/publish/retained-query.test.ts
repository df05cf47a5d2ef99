import assert from "node:assert/strict";
import { test } from "node:test";
import {
  RetainedQuery,
  type RetainedReader,
} from "../../../src/pipeline/publish/retained-query.ts";
import { FakeLink } from "../../support/fake-link.ts";
import { ManualClock } from "../../support/manual-clock.ts";

/** Records what a query hands it. */
class Reader implements RetainedReader {
  topic: string | null;
  readonly topics: string[] = [];
  readonly looks: boolean[] = [];
  constructor(topic: string | null) {
    this.topic = topic;
  }
  begin(): string | null {
    return this.topic;
  }
  received(topic: string): void {
    this.topics.push(topic);
  }
  look(isGranted: boolean): Promise<void> {
    this.looks.push(isGranted);
    return Promise.resolve();
  }
}

function start(readers: readonly Reader[]) {
  const clock = new ManualClock();
  const link = new FakeLink();
  const query = new RetainedQuery({ link, clock, readers });
  const look = async (ms = 3000) => {
    await clock.advance(ms);
    await query.look();
  };
  return { link, look, query };
}

test("retained query – one SUBSCRIBE per session for all readers, and none if no reader needs one", () => {
  const [a, b, idle] = [new Reader("a"), new Reader("b"), new Reader(null)];
  const { link, query } = start([a, b, idle]);
  query.begin();
  assert.deepEqual(link.subscribed, [["a", "b"]]);
  a.topic = null;
  b.topic = null;
  link.session = 2;
  query.begin();
  assert.equal(link.subscribed.length, 1);
});

test("retained query – readers get what was retained before, not our own messages of this session", () => {
  const [reader, idle] = [new Reader("a"), new Reader(null)];
  const { query } = start([reader, idle]);
  query.begin();
  query.received("a", true);
  query.received("b", false);
  assert.deepEqual([reader.topics, idle.topics], [["a"], []]);
});

test("retained query – readers look once the broker has had its time, with what it granted to each", async () => {
  const [granted, refused, idle] = [new Reader("a"), new Reader("b"), new Reader(null)];
  const { link, look, query } = start([granted, refused, idle]);
  link.granted = () => ["a"];
  query.begin();
  await look(2999);
  assert.deepEqual(granted.looks, []);
  await look(1);
  await look();
  assert.deepEqual([granted.looks, refused.looks, idle.looks], [[true, true], [false, false], []]);
  // The next session has opened, and its query has not begun.
  link.session = 2;
  await look();
  assert.equal(granted.looks.length, 2);
});

test("retained query – a broker that ends two sessions in a row during the wait is not queried again", async () => {
  const { link, query } = start([new Reader("a")]);
  for (link.session = 1; link.session <= 5; link.session++) query.begin();
  assert.equal(link.subscribed.length, 2);
  const patient = start([new Reader("a")]);
  for (patient.link.session = 1; patient.link.session <= 5; patient.link.session++) {
    patient.query.begin();
    if (patient.link.session % 2 === 0) await patient.look();
  }
  assert.equal(patient.link.subscribed.length, 5);
});
