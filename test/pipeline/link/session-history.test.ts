import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionEnd } from "../../../src/pipeline/link/session-events.ts";
import { SessionHistory } from "../../../src/pipeline/link/session-history.ts";

const MINUTE = 60_000;

const TAKEN_OVER: SessionEnd = {
  failure: { text: "taken over", needsHands: true },
  wasOpen: true,
  connectSent: true,
  isConnectUnanswered: false,
  code: 0x8e,
  brokeWithInflight: false,
  byPeer: true,
  largestInflight: 0,
  largestUnproven: 0,
  acks: 1,
};
const CLOSED: SessionEnd = {
  ...TAKEN_OVER,
  failure: { text: "closed", needsHands: false },
  code: null,
};

function historyAt(now: { ms: number }, uplink?: string) {
  const options = {
    name: "mqtt",
    urls: ["mqtt://b"],
    version: 5,
    clientId: "box",
    inflight: 1,
  } as const;
  const clock = { monotonic: () => now.ms };
  return new SessionHistory(uplink === undefined ? options : { ...options, uplink }, clock);
}

test("session history – a session that is taken over again and again is a fault at every look until ten minutes after the last time", () => {
  const now = { ms: 0 };
  const history = historyAt(now, "cloud");
  history.judge(TAKEN_OVER, 40_000, false);
  // One is a restart that overlaps.
  assert.equal(history.stolen, null);
  now.ms = 9 * MINUTE;
  history.judge(TAKEN_OVER, 40_000, false);
  for (let look = 0; look < 10; look++) {
    assert.match(history.stolen ?? "", /another client uses the client id "box".*"clientId"/);
    now.ms += 59_000;
  }
  history.judge(TAKEN_OVER, 40_000, false);
  now.ms += 10 * MINUTE - 1;
  assert.notEqual(history.stolen, null);
  now.ms += 1;
  assert.equal(history.stolen, null);
});

test("session history – two thefts ten minutes apart are no series, and with MQTT 3.1.1 a series shows by its short sessions", () => {
  const now = { ms: 0 };
  const history = historyAt(now);
  history.judge(TAKEN_OVER, 40_000, false);
  now.ms = 10 * MINUTE;
  history.judge(TAKEN_OVER, 40_000, false);
  assert.equal(history.stolen, null);
  const older = historyAt(now);
  // Three short sessions are suspicious; the next one makes a series.
  for (let n = 0; n < 4; n++) {
    assert.equal(older.stolen, null);
    older.judge(CLOSED, 1_000, false);
  }
  assert.match(older.stolen ?? "", /another client uses the client id "box"/);
  now.ms += 10 * MINUTE;
  assert.equal(older.stolen, null);
});

test("session history – where sessions end over QoS 0, nobody knows whether a publish is refused or another client takes them: both are said", () => {
  const history = historyAt({ ms: 0 });
  const topic = "spBv1.0/plant/NBIRTH/gateside";
  const births = { ...CLOSED, largestUnproven: 900, unprovenTopic: topic };
  for (let n = 0; n < 4; n++) {
    assert.equal(history.stolen, null);
    const text = history.judge(births, 1_000, false)?.text ?? "";
    if (n >= 2)
      assert.match(text, /refuses a publish \(the first went to spBv1.*, or another client/);
  }
  assert.match(
    history.stolen ?? "",
    /^closed by the broker soon.*NBIRTH.*, or another client uses/,
  );
  history.judge(TAKEN_OVER, 1_000, false);
  assert.match(history.stolen ?? "", /^taken over again and again: another client uses/);
});

test("session history – two agents that take one session from each other in turn, each after its longest pause, never stop being a fault", () => {
  const now = { ms: 0 };
  const agents = [historyAt(now), historyAt(now)];
  for (let theft = 0; theft < 60; theft++) {
    const robbed = agents[theft % 2];
    robbed?.judge(TAKEN_OVER, 40_000, false);
    if (theft >= 4) assert.notEqual(robbed?.stolen, null, `theft ${theft}`);
    now.ms += robbed?.pauseMs(TAKEN_OVER) ?? 0;
    if (theft >= 4) assert.notEqual(robbed?.stolen, null, `back after theft ${theft}`);
  }
});

test("session history – only a session that was open ends soon after its connect: a broker that is away says nothing of other clients", () => {
  const history = historyAt({ ms: 0 });
  const texts = [1_000, 1_000, 1_000, null].map((livedMs) =>
    history.judge({ ...CLOSED, wasOpen: livedMs !== null }, livedMs, false)?.text.slice(0, 40),
  );
  assert.deepEqual(texts, [
    "closed",
    "closed",
    "closed; this happens soon after each con",
    "closed",
  ]);
});

test("session history – the size of a packet that a broker ends sessions for is told, with what follows", () => {
  const history = historyAt({ ms: 0 });
  const tooLarge = { ...CLOSED, code: 0x95, largestInflight: 5_000 };
  assert.equal(
    history.judge(tooLarge, 40_000, false)?.text,
    "closed; packets of 5000 bytes are not sent for an hour",
  );
  assert.equal(history.packetBytesMax, 4_999);
});
