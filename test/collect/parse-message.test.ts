import assert from "node:assert/strict";
import { test } from "node:test";
import { PAYLOAD_BYTES_MAX } from "../../src/collect/delivery.ts";
import { parseMessage } from "../../src/collect/parse/parse-message.ts";
import { readingPayload } from "../support/collecting.ts";

const parse = (
  topic: string,
  text: string,
  options: { keepDays?: number; prefix?: string } = {},
) => {
  const payload = Buffer.from(text);
  return parseMessage(
    { topic, payload, bytes: payload.length, receivedMs: Date.now(), acknowledge() {} },
    { prefix: options.prefix ?? "gateside", keepDays: options.keepDays ?? null },
  );
};
const outcome = (...args: Parameters<typeof parse>) => {
  const item = parse(...args);
  return item.type === "rejected" ? item.reason : item.type;
};
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

test("parse – a reading is recognised on any topic that its box uses below its site", () => {
  for (const rest of ["100/rpm", "100/rpm/history", "2/40/100/rpm", "a/b/c/d/history"])
    assert.equal(outcome(`gateside/plant-7/${rest}`, readingPayload(1)), "reading", rest);
  assert.equal(outcome("x/y/plant-7/100/rpm", readingPayload(1), { prefix: "x/y" }), "reading");
});

test("parse – a site may publish only as itself; a name is compared in the form that it has in a topic", () => {
  const topic = "gateside/plant-8/100/rpm";
  assert.equal(outcome(topic, readingPayload(1)), "site_mismatch");
  assert.equal(outcome("gateside/a_b/1/rpm", readingPayload(1, { site: "a/b" })), "reading");
});

test("parse – times without a zone, years off or older than --keep-days are rejected", () => {
  const at = (time: unknown) => readingPayload(1, { time });
  const topic = "gateside/plant-7/100/rpm";
  assert.equal(outcome(topic, at("2026-11-20T10:00:00")), "wrong_member");
  assert.equal(outcome(topic, at(12)), "wrong_member");
  assert.equal(outcome(topic, at("2026-13-45T10:00:00Z")), "wrong_member");
  assert.equal(outcome(topic, at(daysAgo(1000))), "time_out_of_range");
  assert.equal(outcome(topic, at(daysAgo(-2))), "time_out_of_range");
  assert.equal(outcome(topic, at(daysAgo(1000)), { keepDays: 2000 }), "reading");
  assert.equal(outcome(topic, at(daysAgo(10)), { keepDays: 5 }), "time_out_of_range");
});

test("parse – unknown members are accepted, members of the wrong type are named", () => {
  const topic = "gateside/plant-7/100/rpm";
  assert.equal(outcome(topic, readingPayload(1, { channels: {}, later: [1] })), "reading");
  for (const members of [
    { values: [] },
    { units: "A" },
    { quality: 1 },
    { sensor: 5 },
    { sensor: "" },
    { sensor: "a\0b" },
    { kind: "x".repeat(600) },
    { id: 7 },
    { id: "" },
  ]) {
    const item = parse(topic, readingPayload(1, members));
    assert.equal(item.type, "rejected");
    const name = Object.keys(members)[0] ?? "";
    assert.ok(item.type === "rejected" && item.detail.includes(name), name);
  }
});

test("parse – an id of another form is accepted as an identity", () => {
  const idOf = (id: string) => {
    const item = parse("gateside/plant-7/100/rpm", readingPayload(1, { id }));
    return item.type === "reading" ? item.id : item.type;
  };
  assert.equal(idOf("AB".repeat(16)), "ab".repeat(16));
  const ids = ["12", "13", "a".repeat(64), "5f0c6d1e-2222-4333-8444-555566667777"].map(idOf);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(idOf("12"), ids[0]);
});

test("parse – plain values, commands and cleared topics are recognised, and not stored", () => {
  assert.equal(outcome("gateside/plant-7/100/rpm/rpm", "12.5"), "ignored");
  assert.equal(outcome("gateside/plant-7/100/loop/channel1", ""), "ignored");
  assert.equal(outcome("gateside/plant-7/agent/cmd/saveSettings", "{}"), "ignored");
  assert.equal(outcome("gateside/plant-7/100/rpm", ""), "ignored");
  assert.equal(outcome("gateside/plant-7/100/state", ""), "sensorState");
});

test("parse – a message that is not ours is rejected with the reason", () => {
  assert.equal(outcome("other/plant-7/100/rpm", readingPayload(1)), "foreign_topic");
  assert.equal(outcome("gateside/plant-7/agent/surprise", "{}"), "unknown_message");
  assert.equal(outcome("gateside/plant-7/100/rpm", "null"), "not_json");
  assert.equal(outcome("gateside/plant-7/100/rpm", '"text"'), "not_an_object");
  const huge = parseMessage(
    {
      topic: "gateside/plant-7/100/rpm",
      payload: Buffer.alloc(9),
      bytes: PAYLOAD_BYTES_MAX + 1,
      receivedMs: 0,
      acknowledge() {},
    },
    { prefix: "gateside", keepDays: null },
  );
  assert.ok(huge.type === "rejected" && huge.reason === "too_large");
});

test("parse – a waveform with an inconsistent number of samples is rejected", () => {
  const body = {
    v: 1,
    id: "a".repeat(32),
    site: "plant-7",
    sensor: "1",
    time: daysAgo(0),
    channel: "channel1",
  };
  const topic = "gateside/plant-7/1/waveform/channel1";
  const base64 = Buffer.alloc(8).toString("base64");
  assert.equal(outcome(topic, JSON.stringify({ ...body, samples: 2, base64 })), "waveform");
  assert.equal(outcome(topic, JSON.stringify({ ...body, samples: 3, base64 })), "wrong_member");
});
