import assert from "node:assert/strict";
import { test } from "node:test";
import { PAYLOAD_BYTES_MAX } from "../../src/collect/delivery.ts";
import { parseMessage } from "../../src/collect/parse/parse-message.ts";
import { DEFAULT_TOPIC, SiteTopics } from "../../src/collect/site-topics.ts";
import { readingPayload } from "../support/collecting.ts";

const parse = (
  topic: string,
  text: string,
  options: {
    keepDays?: number;
    prefix?: string;
    topic?: string;
    dots?: "kept" | "levels";
    skewMs?: number;
  } = {},
) => {
  const payload = Buffer.from(text);
  const { dots = "kept", prefix = "gateside", topic: pattern = DEFAULT_TOPIC } = options;
  return parseMessage(
    { topic, dots, payload, bytes: payload.length, receivedMs: Date.now(), acknowledge() {} },
    {
      topics: new SiteTopics(prefix, pattern),
      keepDays: options.keepDays ?? null,
      skewMs: options.skewMs ?? 0,
    },
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
  assert.equal(outcome("gateside//1/rpm", readingPayload(1, { site: "" })), "wrong_member");
});

test("parse – RabbitMQ's dots are levels: the body tells the names, the topic proves the site", () => {
  const key = { dots: "levels" as const };
  const state = (members: object) => JSON.stringify({ state: "online", ...members });
  const named = readingPayload(1, { site: "plant.7", sensor: "a.b" });
  assert.equal(outcome("gateside/plant/7/a/b/rpm/history", named, key), "reading");
  assert.equal(outcome("gateside/plant/8/a/b/rpm/history", named, key), "site_mismatch");
  assert.equal(outcome("gateside/plant.7/a.b/rpm/history", named), "reading");
  assert.equal(outcome("gateside/plant/7/a.b/rpm/history", named), "site_mismatch");
  const prefix = "eu.west/gateside";
  assert.equal(outcome("eu/west/gateside/plant/7/1/rpm", named, { ...key, prefix }), "reading");
  const box = parse("gateside/plant/7/agent/state", state({ site: "plant.7" }), key);
  assert.deepEqual([box.type, "site" in box && box.site], ["boxState", "plant.7"]);
  const sensor = parse(
    "gateside/plant/7/area/a/b/health",
    state({ site: "plant.7", sensor: "a.b" }),
    key,
  );
  assert.deepEqual([sensor.type, "sensor" in sensor && sensor.sensor], ["sensorState", "a.b"]);
  // A box before 0.3 names neither: nothing is invented.
  assert.equal(outcome("gateside/plant/7/agent/state", state({}), key), "ambiguous_topic");
  assert.equal(outcome("gateside/plant-7/a/b/state", state({}), key), "ambiguous_topic");
  assert.equal(outcome("gateside/plant-7/100/state", state({}), key), "sensorState");
});

test("parse – a pattern says where the site stands; without it the body is believed", () => {
  const topic = "{prefix}/+/{site}/up/#";
  assert.equal(
    outcome("gateside/eu/plant-7/up/1/rpm/live", readingPayload(1), { topic }),
    "reading",
  );
  assert.equal(
    outcome("gateside/eu/plant-8/up/1/rpm", readingPayload(1), { topic }),
    "site_mismatch",
  );
  assert.equal(
    outcome("gateside/plant-7/eu/up/1/rpm", readingPayload(1), { topic }),
    "site_mismatch",
  );
  assert.equal(outcome("gateside/plant-7/1/rpm", readingPayload(1), { topic }), "foreign_topic");
  const free = { topic: "factory/#" };
  assert.equal(outcome("factory/x/y", readingPayload(1), free), "reading");
  const state = JSON.stringify({ site: "p", state: "online" });
  assert.equal(outcome("factory/x/agent/state", state, free), "boxState");
  assert.equal(outcome("factory/x/agent/state", '{"state":"online"}', free), "ambiguous_topic");
});

test("parse – what need not be stored is told apart by family", () => {
  const family = (rest: string, text: string) => {
    const item = parse(`gateside/plant-7/${rest}`, text);
    return item.type === "ignored" ? item.family : item.type;
  };
  const event = { v: 1, id: "e1", site: "plant-7", sensor: "100", alarm: "high", state: "active" };
  const timed = JSON.stringify({ ...event, time: daysAgo(0) });
  assert.equal(family("100/rpm/rpm", "12.5"), "plain");
  assert.equal(family("area/100_rpm/now", "true"), "plain");
  for (const value of ["-0.5", "1e-7", "false", "B"])
    assert.equal(family("100/rpm", value), "plain");
  for (const text of ["1.2.x", "E", "yes"]) assert.equal(family("100/rpm", text), "rejected");
  assert.equal(family("agent/state", "1"), "rejected");
  assert.equal(family("agent/cmd/acknowledge", "{}"), "command");
  assert.equal(family("100/alarm/high/rpm", timed), "alarm");
  assert.equal(family("agent/event", timed), "event");
  assert.equal(family("agent/state/doctor", "{}"), "doctor");
  assert.equal(family("100/alarm/high/rpm", ""), "cleared");
  const part = { v: 1, site: "plant-7", encoding: "int16", base64: "AAAA" };
  assert.equal(family("100/waveform/channel1", JSON.stringify(part)), "other");
});

test("parse – times without a zone, years off or older than --keep-days are rejected", () => {
  const at = (time: unknown) => readingPayload(1, { time });
  const topic = "gateside/plant-7/100/rpm";
  assert.equal(outcome(topic, at("2026-11-20T10:00:00")), "wrong_member");
  assert.equal(outcome(topic, at(12)), "wrong_member");
  assert.equal(outcome(topic, at("2026-13-45T10:00:00Z")), "wrong_member");
  assert.equal(outcome(topic, at(daysAgo(1000))), "time_out_of_range");
  // Boxes keep and flag what is dated in the future: it is stored, too, unless it is a year ahead.
  assert.equal(outcome(topic, at(daysAgo(-300))), "reading");
  assert.equal(outcome(topic, at(daysAgo(-400))), "time_out_of_range");
  assert.equal(outcome(topic, at(daysAgo(1000)), { keepDays: 2000 }), "reading");
  assert.equal(outcome(topic, at(daysAgo(10)), { keepDays: 5 }), "time_out_of_range");
  // Where this machine's clock is not the database's, what either accepts: a rejected reading is gone.
  for (const days of [-3650, 3650])
    assert.equal(outcome(topic, at(daysAgo(days)), { skewMs: -days * 86_400_000 }), "reading");
  assert.equal(outcome(topic, at(daysAgo(0)), { skewMs: 1e12 }), "reading");
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
  // Of a newer box.
  assert.equal(outcome("gateside/plant-7/agent/surprise", "{}"), "ignored");
  assert.equal(outcome("gateside/plant-7/100/rpm", "null"), "not_json");
  assert.equal(outcome("gateside/plant-7/100/rpm", '"text"'), "not_an_object");
  const huge = parseMessage(
    {
      topic: "gateside/plant-7/100/rpm",
      dots: "kept",
      payload: Buffer.alloc(9),
      bytes: PAYLOAD_BYTES_MAX + 1,
      receivedMs: 0,
      acknowledge() {},
    },
    { topics: new SiteTopics("gateside", DEFAULT_TOPIC), keepDays: null },
  );
  assert.ok(huge.type === "rejected" && huge.reason === "too_large");
});

test("parse – a waveform with an inconsistent number of samples, or without a possible rate, is rejected", () => {
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
  for (const sampleRate of [0, -1])
    assert.equal(outcome(topic, JSON.stringify({ ...body, sampleRate, base64 })), "wrong_member");
});

test("parse – a gap that ends before it begins is rejected", () => {
  const gap = (from: string, to: string) =>
    outcome(
      "gateside/plant-7/agent/gap",
      JSON.stringify({
        site: "plant-7",
        sensor: "1",
        kind: "rpm",
        from,
        to,
        count: 1,
        reason: "x",
      }),
    );
  const instant = daysAgo(1);
  assert.equal(gap(instant, instant), "gap");
  assert.equal(gap(daysAgo(0), instant), "wrong_member");
});
