/** What publishers rely on, shown for the store's outbox and for the one in memory that other tests use. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { DeliveryOutcome, OutboxEntry } from "../../../../src/core/delivery/delivery.ts";
import type { Outbox } from "../../../../src/core/ports.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { MemoryOutbox, storedReading } from "../../../support/memory-outbox.ts";
import { append, readingOf, START_MS, tempStore } from "../../../support/temp-database.ts";

interface Subject {
  readonly outbox: Outbox;
  readonly clock: ManualClock;
  add(sensor: string, ...minutes: number[]): Promise<void>;
}

const timeMs = (minute: number) => START_MS + minute * 60_000;

function inStore(t: TestContext): Subject {
  const clock = new ManualClock();
  const store = tempStore(t, { clock });
  const add = async (sensor: string, ...minutes: number[]) => {
    await append(
      store,
      minutes.map((minute) => readingOf(sensor, timeMs(minute))),
    );
  };
  return { outbox: store.outbox, clock, add };
}

function inMemory(): Subject {
  const clock = new ManualClock();
  const outbox = new MemoryOutbox(clock);
  let seq = 0;
  const add = (sensor: string, ...minutes: number[]) => {
    const readings = minutes.map((minute) =>
      storedReading(++seq, { sensor, kind: "rpm", timeMs: timeMs(minute) }),
    );
    outbox.add("json", readings);
    return Promise.resolve();
  };
  return { outbox, clock, add };
}

/** Minutes of what is leased, as `sensor:minute`. */
const shown = (entries: readonly OutboxEntry[]) =>
  entries.map(({ reading }) => `${reading.sensor}:${(reading.timeMs - START_MS) / 60_000}`);
const live = ({ outbox }: Subject, max = 9) => outbox.lease("json", "live", max);
const backlog = ({ outbox }: Subject, max = 9) => outbox.lease("json", "backlog", max);

async function settle(
  { outbox }: Subject,
  entries: readonly OutboxEntry[],
  outcome: DeliveryOutcome,
): Promise<void> {
  const done = outbox.settle(
    "json",
    entries.map((entry) => ({ entry, outcome })),
  );
  await outbox.flush();
  await done;
}

for (const [name, open] of [
  ["store", inStore],
  ["memory", inMemory],
] as const) {
  test(`outbox port, ${name} – the newest goes live, the rest follows oldest first`, async (t) => {
    const subject = open(t);
    await subject.add("1", 30, 1, 70, 0);
    assert.deepEqual(shown(backlog(subject)), ["1:0", "1:1", "1:30"]);
    const entries = live(subject);
    assert.deepEqual(shown(entries), ["1:70"]);
    assert.ok(entries.every((entry) => entry.live));
    assert.equal(subject.outbox.depth("json").readings, 4, "leased ones are owed still");
    assert.equal(subject.outbox.depth("json").oldestTimeMs, timeMs(0));
    await subject.add("2", 0, 1);
    assert.deepEqual(shown(backlog(subject)), ["2:0"]);
  });

  test(`outbox port, ${name} – a leased reading is not leased again until it is released`, async (t) => {
    const subject = open(t);
    await subject.add("1", 0, 1, 2);
    assert.deepEqual(shown([...backlog(subject, 1), ...backlog(subject)]), ["1:0", "1:1"]);
    assert.deepEqual(shown(live(subject)), ["1:2"]);
    assert.deepEqual([...backlog(subject), ...live(subject)], []);
    subject.outbox.release("json");
    assert.deepEqual(shown(backlog(subject)), ["1:0", "1:1"]);
    assert.deepEqual(shown(live(subject)), ["1:2"]);
  });

  test(`outbox port, ${name} – a lease has no more entries than asked for, whoever has most`, async (t) => {
    const subject = open(t);
    await subject.add("1", 0, 1, 2);
    await subject.add("2", ...Array(8).keys());
    assert.deepEqual(shown(backlog(subject, 4)).sort(), ["1:0", "1:1", "2:0", "2:1"]);
    assert.equal(live(subject, 1).length, 1);
  });

  test(`outbox port, ${name} – what is sent is removed, what is kept comes again in order`, async (t) => {
    const subject = open(t);
    await subject.add("1", ...Array(8).keys());
    const page = backlog(subject, 5);
    await settle(subject, [page[0], page[2]] as OutboxEntry[], "sent");
    await settle(subject, [page[4], page[1], page[3]] as OutboxEntry[], "kept");
    assert.deepEqual(shown(backlog(subject)), ["1:1", "1:3", "1:4", "1:5", "1:6"]);
    assert.equal(subject.outbox.depth("json").readings, 6);
  });

  test(`outbox port, ${name} – an acknowledgement after the release counts`, async (t) => {
    const subject = open(t);
    await subject.add("1", 0, 1);
    const late = live(subject);
    subject.outbox.release("json");
    await settle(subject, late, "sent");
    assert.deepEqual(live(subject), []);
    assert.equal(subject.outbox.depth("json").readings, 1);
  });

  test(`outbox port, ${name} – live only moves forward`, async (t) => {
    const subject = open(t);
    await subject.add("1", 10);
    await settle(subject, live(subject), "sent");
    assert.equal(subject.outbox.liveMark("json", "1", "rpm"), timeMs(10));
    await subject.add("1", 5);
    assert.deepEqual(live(subject), []);
    assert.deepEqual(shown(backlog(subject)), ["1:5"]);
    await subject.add("1", 11);
    assert.deepEqual(shown(live(subject)), ["1:11"]);
  });

  test(`outbox port, ${name} – a newer reading takes the live place of one that was kept`, async (t) => {
    const subject = open(t);
    await subject.add("1", 1);
    const old = live(subject);
    await subject.add("1", 2);
    await settle(subject, old, "kept");
    assert.deepEqual(shown(live(subject)), ["1:2"]);
    assert.deepEqual(shown(backlog(subject)), ["1:1"]);
  });

  test(`outbox port, ${name} – a refused sensor backs off, the others continue`, async (t) => {
    const subject = open(t);
    await subject.add("1", 0, 1, 2, 3);
    await subject.add("2", 0, 1, 2, 3);
    const page = backlog(subject, 100);
    const of = (sensor: string) => page.filter(({ reading }) => reading.sensor === sensor);
    await settle(subject, of("1"), "refused");
    await settle(subject, of("2"), "sent");
    assert.deepEqual(backlog(subject), []);
    assert.deepEqual(shown(live(subject)).sort(), ["1:3", "2:3"], "its live topic may be allowed");
    const news = subject.outbox.changed("json", new AbortController().signal);
    await subject.clock.advance(5_000);
    await news;
    assert.deepEqual(shown(backlog(subject)), ["1:0", "1:1", "1:2"]);
  });

  test(`outbox port, ${name} – an oversize reading waits for a new limit, as does a refused one`, async (t) => {
    const subject = open(t);
    await subject.add("1", 0, 1, 2);
    await subject.add("2", 0, 1);
    await settle(subject, backlog(subject, 1), "oversize");
    await settle(subject, backlog(subject).slice(1), "refused");
    await settle(subject, live(subject), "oversize");
    assert.deepEqual(live(subject), []);
    await subject.clock.advance(600_000);
    assert.equal(backlog(subject).length, 1, "only what was refused comes again by itself");
    subject.outbox.release("json");
    for (const _time of ["after oversize", "after a refusal"]) {
      subject.outbox.unpark("json");
      const [newest, history] = [live(subject), backlog(subject)];
      assert.deepEqual(shown(newest).sort(), ["1:2", "2:1"]);
      assert.deepEqual(shown(history).sort(), ["1:0", "1:1", "2:0"]);
      await settle(subject, [...newest, ...history], "refused");
      assert.deepEqual([...live(subject), ...backlog(subject)], []);
    }
  });

  test(`outbox port, ${name} – changed resolves for new entries and on abort`, async (t) => {
    const subject = open(t);
    const aborting = new AbortController();
    const news = subject.outbox.changed("json", aborting.signal);
    await subject.add("1", 0);
    await news;
    const ended = subject.outbox.changed("json", aborting.signal);
    aborting.abort();
    await ended;
  });
}
