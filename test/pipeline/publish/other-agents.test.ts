/** Two agents with one site name: each learns of the other, and whose state the topic holds at the end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../../src/core/message.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { OtherAgents, SentStates } from "../../../src/pipeline/publish/other-agents.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const TOPIC = "gateside/plant-7/agent/state";
const STATS = "gateside/plant-7/agent/stats";
const MINUTE_MS = 60_000;

function agent(
  clock: ManualClock,
  instance: string,
  { uplink = "main", states = new SentStates() } = {},
) {
  const others = new OtherAgents({
    marker: TOPIC,
    statsTopic: STATS,
    site: "plant-7",
    instance,
    run: "0a0a0a0a",
    clock,
    logger: silentLogger,
    states,
    uplink,
  });
  const text = (state: string) => JSON.stringify({ state, time: clock.now(), instance });
  const send = (state = "online"): Buffer => {
    const payload = text(state);
    const message: Message = { topic: TOPIC, payload, qos: 1, retain: true };
    others.sending([message]);
    return Buffer.from(payload);
  };
  const hear = (payload: Buffer, isRetained = false) => others.heard(TOPIC, payload, isRetained);
  return { others, send, hear };
}

test("other agents – both are told, as long as both repeat their states; one that leaves is followed by our own state", async () => {
  const clock = new ManualClock();
  const a = agent(clock, "aaaaaaaaaaaa");
  const b = agent(clock, "bbbbbbbbbbbb");
  a.others.begin();
  const first = a.send();
  a.hear(first);
  assert.equal(a.others.current, null);
  // The broker has the state of A when B subscribes; then B publishes its own.
  b.others.begin();
  b.hear(first, true);
  const second = b.send();
  for (const one of [a, b]) one.hear(second);
  assert.match(a.others.current ?? "", /instance bbbbbbbbbbbb\) publishes as site plant-7/);
  assert.match(b.others.current ?? "", /instance aaaaaaaaaaaa/);
  for (let minute = 0; minute < 5; minute++) {
    await clock.advance(MINUTE_MS);
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      assert.equal(one.others.isRepeatDue, true);
      const again = one.send();
      for (const each of [one, other]) each.hear(again);
      assert.equal(one.others.isRepeatDue, false);
    }
  }
  assert.notEqual(a.others.current, null);
  a.hear(b.send("offline"));
  assert.equal(a.others.current, null);
  assert.equal(a.others.isRepeatDue, true, "the topic says offline now");
  a.send();
  assert.equal(a.others.isRepeatDue, false);
  // B heard nothing more of A.
  await clock.advance(3 * MINUTE_MS + 1);
  assert.equal(b.others.current, null);
});

test("other agents – a former installation that is offline is none, one that used our client id between two sessions is", () => {
  const clock = new ManualClock();
  const a = agent(clock, "aaaaaaaaaaaa");
  const old = agent(clock, "bbbbbbbbbbbb").send("offline");
  a.others.begin();
  a.hear(old, true);
  assert.equal(a.others.current, null);
  a.send();
  a.others.begin();
  a.hear(old, true);
  assert.notEqual(a.others.current, null);
});

test("other agents – a copied data directory has our instance, but publishes what we did not", async () => {
  const clock = new ManualClock();
  const a = agent(clock, "aaaaaaaaaaaa");
  a.others.begin();
  a.hear(agent(clock, "aaaaaaaaaaaa").send(), true);
  assert.equal(a.others.current, null, "our own last session");
  a.send();
  await clock.advance(1);
  a.hear(agent(clock, "aaaaaaaaaaaa").send());
  assert.notEqual(a.others.current, null);
});

test("other agents – uplinks at two brokers that say the same in the same millisecond are no neighbours", () => {
  const clock = new ManualClock();
  const states = new SentStates();
  const all = ["main", "cloud"].map((uplink) => agent(clock, "aaaaaaaaaaaa", { states, uplink }));
  const sent = all.map((one) => one.send());
  for (const [i, { hear, others }] of all.entries()) {
    hear(sent[i] as Buffer);
    assert.equal(others.hasNeighbour, false);
  }
});

test("other agents – another uplink of the same agent at the same broker is no other agent", () => {
  const clock = new ManualClock();
  const states = new SentStates();
  const main = agent(clock, "aaaaaaaaaaaa", { states });
  const cloud = agent(clock, "aaaaaaaaaaaa", { states, uplink: "cloud" });
  main.others.begin();
  const first = main.send();
  assert.equal(cloud.others.hasNeighbour, false);
  cloud.others.begin();
  cloud.hear(first, true);
  for (const { others } of [main, cloud]) {
    assert.equal(others.current, null);
    assert.equal(others.hasNeighbour, true, "both know");
  }
  main.hear(cloud.send("offline"));
  assert.equal(main.others.isRepeatDue, true, "the topic says offline, and one of the two is not");
});

test("other agents – what is no state of an agent is not taken for one", () => {
  const a = agent(new ManualClock(), "aaaaaaaaaaaa");
  const texts = ["", "null", "[]", "{", '{"state":"online"}', '{"state":"online","instance":7}'];
  for (const text of [...texts, '{"state":"online","instance":"x"}', "x".repeat(70_000)])
    a.hear(Buffer.from(text));
  assert.equal(a.others.current, null);
});

test("other agents – one with a copy of our data directory is told apart by its run", async () => {
  const clock = new ManualClock();
  const instance = "0123456789ab";
  const others = new OtherAgents({
    marker: TOPIC,
    statsTopic: STATS,
    site: "plant-7",
    instance,
    run: "0a0a0a0a",
    clock,
    logger: silentLogger,
    states: new SentStates(),
    uplink: "main",
  });
  const state = (run: string) =>
    Buffer.from(JSON.stringify({ state: "online", time: clock.now(), instance, run }));
  // Our own, retained since before.
  others.heard(TOPIC, state("0b0b0b0b"), true);
  assert.equal(others.current, null);
  others.heard(TOPIC, state("0b0b0b0b"), false);
  assert.match(
    others.current ?? "",
    /copy of this data directory .*run 0b0b0b0b; this is run 0a0a0a0a/,
  );
  await clock.advance(181_000);
  assert.equal(others.current, null);
});

test("other agents – statistics of another run tell of it, whatever rights its state needs", async () => {
  const clock = new ManualClock();
  const { others, hear } = agent(clock, "aaaaaaaaaaaa");
  assert.equal(others.statistics.begin(), STATS);
  const stats = (run: unknown, isRetained = false) =>
    others.heard(STATS, Buffer.from(JSON.stringify({ v: 1, site: "plant-7", run })), isRetained);
  stats("0a0a0a0a");
  for (const nothing of [undefined, 7, "x", null]) stats(nothing);
  stats("0b0b0b0b", true);
  assert.equal(
    others.current,
    null,
    "our own, of an agent before 0.4, and of one that may have left",
  );
  stats("0b0b0b0b");
  assert.match(others.current ?? "", /another agent \(run 0b0b0b0b\) publishes as site plant-7/);
  hear(Buffer.from(JSON.stringify({ state: "online", instance: "bbbbbbbbbbbb", run: "0b0b0b0b" })));
  stats("0b0b0b0b");
  assert.match(others.current ?? "", /instance bbbbbbbbbbbb/, "the statistics name none");
  await clock.advance(181_000);
  assert.equal(others.current, null);
});
