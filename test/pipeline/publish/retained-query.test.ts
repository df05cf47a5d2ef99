import assert from "node:assert/strict";
import { test } from "node:test";
import {
  RetainedQuery,
  type RetainedReader,
} from "../../../src/pipeline/publish/retained-query.ts";
import { FakeLink } from "../../support/fake-link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

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
  const logger = new RecordingLogger();
  const query = new RetainedQuery({ link, clock, logger, readers });
  const look = async (ms = 3000) => {
    await clock.advance(ms);
    await query.look();
  };
  return { clock, link, logger, look, query };
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
  query.received("a", Buffer.of(), true);
  query.received("b", Buffer.of(), false);
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

/** Sessions of these lengths, ms; how many queries they made. */
async function sessions({ link, query, clock }: ReturnType<typeof start>, ...livesMs: number[]) {
  const before = link.subscribed.length;
  for (const ms of livesMs) {
    link.session += 1;
    query.begin();
    await clock.advance(ms);
    query.ended();
  }
  return link.subscribed.length - before;
}

test("retained query – a broker that ends two sessions in a row during the wait is not queried for an hour, and says so", async () => {
  const parts = start([new Reader("a")]);
  assert.equal(await sessions(parts, 2000, 2000, 600_000, 600_000), 2);
  assert.equal(parts.logger.lines.length, 1);
  assert.match(parts.logger.text, /2 sessions ended while retained messages/);
  await parts.clock.advance(3_600_000);
  assert.equal(await sessions(parts, 600_000, 600_000), 2);
});

test("retained query – a session that lived past the wait is none that the query ended, looked at or not", async () => {
  const parts = start([new Reader("a")]);
  assert.equal(await sessions(parts, 2000, 3500, 2000, 3500, 2000, 3500), 6);
  assert.deepEqual(parts.logger.lines, []);
});

test("retained query – a link that drops sessions without a query as soon gets its queries again", async () => {
  const parts = start([new Reader("a")]);
  assert.equal(await sessions(parts, 2000, 2000, 2000, 86_400_000), 3);
});

test("retained query – a broker that never answers SUBSCRIBE before it ends the session is not queried either", async () => {
  const parts = start([new Reader("a")]);
  parts.link.subscribe = (topics) => {
    parts.link.subscribed.push(topics);
    return new Promise(() => {});
  };
  assert.equal(await sessions(parts, 20_000, 20_000, 20_000), 2);
});
