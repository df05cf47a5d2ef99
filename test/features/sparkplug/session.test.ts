import assert from "node:assert/strict";
import { test } from "node:test";
import type { Metric } from "../../../src/features/sparkplug/payload.ts";
import { NodeSession, type Outgoing, will } from "../../../src/features/sparkplug/session.ts";
import { NodeTopics } from "../../../src/features/sparkplug/topics.ts";
import { decode } from "./peer.ts";

const topics = new NodeTopics("plant", "edge");
const speed: Metric = { name: "rpm/rpm", type: "Double", timeMs: 1, value: 1 };
const seqOf = (message: Outgoing) => decode(message.payload).seq;
const sendAll = (...messages: (() => Outgoing)[]) =>
  messages.map((make) => {
    const message = make();
    message.spend();
    return seqOf(message);
  });

test("sparkplug – nothing of a device is sent before the NBIRTH, and no data before its birth", () => {
  const session = new NodeSession(topics, 0);
  assert.throws(() => session.dbirth(1, "7", [speed]));
  assert.throws(() => session.ndata(1, [speed]));
  session.nbirth(1, []).spend();
  assert.throws(() => session.ddata(1, "7", [speed]));
  assert.throws(() => session.ddeath(1, "7"));
  session.dbirth(1, "7", [speed]).spend();
  assert.throws(() => session.ddata(1, "7", [{ ...speed, name: "rpm/unborn" }]));
  session.ddata(1, "7", [speed]).spend();
  session.ddeath(1, "7").spend();
  assert.throws(() => session.ddata(1, "7", [speed]));
});

test("sparkplug – seq is one counter over node and devices, wraps after 255, and restarts with an NBIRTH", () => {
  const session = new NodeSession(topics, 3);
  assert.deepEqual(
    sendAll(
      () => session.nbirth(1, []),
      () => session.dbirth(1, "7", [speed]),
      () => session.dbirth(1, "8", [speed]),
      () => session.ddata(1, "7", [speed]),
      () => session.ddeath(1, "8"),
    ),
    [0, 1, 2, 3, 4],
  );
  const more = sendAll(...Array.from({ length: 253 }, () => () => session.ddata(1, "7", [speed])));
  assert.deepEqual(more.slice(-3), [255, 0, 1]);
  assert.deepEqual(
    sendAll(() => session.nbirth(1, [])),
    [0],
  );
  assert.equal(session.isDeviceBorn("7"), false);
});

test("sparkplug – a message that was not sent leaves no gap", () => {
  const session = new NodeSession(topics, 0);
  session.nbirth(1, []).spend();
  session.dbirth(1, "7", [speed]).spend();
  assert.equal(seqOf(session.ddata(1, "7", [speed])), 2);
  assert.equal(seqOf(session.ddata(1, "7", [speed])), 2);
});

test("sparkplug – the will, the births and the node's own NDEATH carry one bdSeq, Int64, and the NDEATH nothing else", () => {
  const session = new NodeSession(topics, 255);
  for (const message of [will(topics, 255, 1), session.ndeath(1)]) {
    assert.equal(message.topic, "spBv1.0/plant/NDEATH/edge");
    const { seq, metrics } = decode(message.payload);
    assert.equal(seq, undefined);
    assert.deepEqual(metrics, [{ name: "bdSeq", timestamp: 1, datatype: 4, longValue: 255 }]);
  }
  const birth = decode(session.nbirth(1, []).payload);
  assert.deepEqual(birth.metrics, [
    { name: "bdSeq", timestamp: 1, datatype: 4, longValue: 255 },
    { name: "Node Control/Rebirth", timestamp: 1, datatype: 11, booleanValue: false },
  ]);
});
