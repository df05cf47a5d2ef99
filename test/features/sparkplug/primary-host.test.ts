import assert from "node:assert/strict";
import { test } from "node:test";
import { SparkplugInbox } from "../../../src/features/sparkplug/inbox.ts";
import { PrimaryHost } from "../../../src/features/sparkplug/primary-host.ts";
import { NodeTopics, stateTopic } from "../../../src/features/sparkplug/topics.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { CommandGate } from "../../../src/lib/command-gate.ts";
import { LogPace } from "../../../src/lib/log-pace.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const clock = new ManualClock();
const state = (online: unknown, timestamp: unknown) =>
  Buffer.from(JSON.stringify({ online, timestamp }));

test("sparkplug – a malformed STATE changes nothing", () => {
  const host = new PrimaryHost("scada", clock);
  host.apply("scada", state(true, 5));
  for (const bad of [
    Buffer.from("ONLINE"),
    Buffer.from(""),
    Buffer.from([0xff, 0xfe]),
    Buffer.from("null"),
    Buffer.from("[]"),
    Buffer.from('{"online":false}'),
    state("false", 9),
    state(false, "9"),
    state(false, null),
  ]) {
    assert.equal(host.apply("scada", bad), "ignored", bad.toString());
  }
  assert.equal(host.isOnline, true);
});

test("sparkplug – another host's STATE does not count", () => {
  const host = new PrimaryHost("scada", clock);
  assert.equal(host.apply("other", state(true, 5)), "ignored");
  assert.equal(host.isOnline, false);
});

test("sparkplug – an older STATE does not count, an equally old one does, the first always does", () => {
  const host = new PrimaryHost("scada", clock);
  assert.equal(host.apply("scada", state(true, 10)), "online");
  assert.equal(host.apply("scada", state(false, 9)), "ignored");
  assert.equal(host.isOnline, true);
  assert.equal(host.apply("scada", state(false, 10)), "offline");
  assert.equal(host.apply("scada", state(true, 9)), "ignored");
  assert.equal(host.isOnline, false);
  assert.equal(host.apply("scada", state(true, 10)), "online");
});

test("sparkplug – a new session waits for a new STATE, and remembers how old it may be", () => {
  const host = new PrimaryHost("scada", clock);
  host.apply("scada", state(true, 10));
  host.forget("");
  assert.equal(host.isOnline, false);
  assert.equal(host.apply("scada", state(true, 9)), "ignored");
  assert.equal(host.apply("scada", state(true, 10)), "online");
});

test("sparkplug – each server has its own newest STATE", () => {
  const host = new PrimaryHost("scada", clock);
  host.forget("a");
  assert.equal(host.apply("scada", state(false, 10)), "offline");
  host.forget("b");
  assert.equal(host.apply("scada", state(true, 9)), "online");
  host.forget("a");
  assert.equal(host.apply("scada", state(true, 9)), "ignored");
});

test("sparkplug – a STATE from far in the future does not lock the host out once its clock is right", () => {
  const now = clock.now();
  const host = new PrimaryHost("scada", clock);
  assert.equal(host.apply("scada", state(true, now)), "online");
  assert.equal(host.doubt, null);
  const wrong = Date.UTC(2106, 1, 7);
  assert.equal(host.apply("scada", state(false, wrong)), "offline");
  assert.match(host.doubt ?? "", /2106-02-07T00:00:00\.000Z is in the future/);
  host.forget("");
  assert.equal(host.apply("scada", state(true, now + 1000)), "online");
  assert.equal(host.doubt, null);
  // What was older before the wrong time is older still.
  assert.equal(host.apply("scada", state(false, now - 1)), "ignored");
});

test("sparkplug – a STATE that is too old to count is reported until one counts", () => {
  const now = clock.now();
  const host = new PrimaryHost("scada", clock);
  host.apply("scada", state(false, now + 3_600_000));
  assert.equal(host.doubt, null, "an hour ahead is a zone, not a broken clock");
  assert.equal(host.apply("scada", state(true, now)), "ignored");
  assert.match(host.doubt ?? "", /is ignored, because it is older than the previous one of /);
  assert.equal(host.apply("scada", state(true, 1e300)), "online");
  assert.equal(host.apply("scada", state(true, now + 3_600_000)), "online");
  assert.equal(host.doubt, null);
});

test("sparkplug – a machine that does not know the time yet does not judge a host's clock", () => {
  const host = new PrimaryHost("scada", { now: () => 60_000 });
  const time = Date.UTC(2026, 10, 20);
  assert.equal(host.apply("scada", state(true, time)), "online");
  assert.equal(host.doubt, null);
  assert.equal(host.apply("scada", state(false, time - 1)), "ignored");
});

test("sparkplug – a doubt about the host's clock is logged once, and again after it was over", () => {
  const host = new PrimaryHost("scada", clock);
  const logger = new RecordingLogger();
  const topics = new NodeTopics("plant", "box");
  const pace = new LogPace(systemClock);
  const gate = new CommandGate(clock, logger);
  const inbox = new SparkplugInbox({
    topics,
    host,
    logger,
    pace,
    gates: { ncmd: gate, dcmd: gate },
    onNews() {},
    onSettings: null,
  });
  const receive = (timestamp: number) =>
    inbox.receive({
      topic: stateTopic("scada"),
      payload: state(true, timestamp),
      retain: true,
    });
  const warnings = () => logger.lines.filter(({ level }) => level === "warn").length;
  const wrong = Date.UTC(2106, 1, 7);
  receive(clock.now());
  assert.equal(warnings(), 0);
  receive(wrong);
  receive(wrong + 1);
  assert.equal(warnings(), 1);
  host.forget("");
  receive(clock.now() + 1);
  receive(wrong);
  assert.equal(warnings(), 2);
});
