/** Payloads that the documents show, and what they configure of programs that subscribe, against what an agent really publishes. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { compileFunction } from "node:vm";
import { parse } from "yaml";
import { deadlineMs } from "../support/deadline.ts";
import { codeBlocks, DOCUMENTS, only, textOf, titleOf } from "../support/documents.ts";
import { type RecordingSubscriber, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { openPlant, skipWithoutBuild } from "../support/plant.ts";

type Members = Readonly<Record<string, unknown>>;

const blocks = DOCUMENTS.flatMap(codeBlocks);
const skip = skipWithoutMosquitto || skipWithoutBuild;
let seen: RecordingSubscriber;
let close: () => Promise<void> = async () => {};

/** What the agent publishes, by the member that tells what it is. */
const sortOf = (shown: Members): string =>
  ["base64", "kinds", "alarm", "alarmCount", "values"].find((name) => name in shown) ?? "";
const published = (sort: string) =>
  seen.messages
    .filter(({ topic, text }) => !topic.startsWith("$") && text.startsWith("{"))
    .map(({ topic, text }) => ({ topic, payload: JSON.parse(text) as Members }))
    .filter(({ payload }) => sortOf(payload) === sort);

before(
  async () => {
    if (skip) return;
    const opened = await openPlant({
      site: "plant-7",
      env: { PUBLISH_WAVEFORMS: "always", PUBLISH_MACHINES: "true" },
    });
    close = opened.close;
    const { plant } = opened;
    const written = JSON.parse(readFileSync(plant.siteFile, "utf8")) as Members;
    const rule = { name: "speed", select: { kinds: ["rpm"], values: ["rpm"] }, high: 1 };
    writeFileSync(plant.siteFile, JSON.stringify({ ...written, alarms: [rule] }));
    seen = await plant.subscribe();
    plant.startAgent();
    const topics = [
      "/about",
      "/agent/event",
      "/waveform/channel1",
      "/accel/history",
      "/loop/history",
    ];
    await seen.waitUntil(
      (messages) =>
        messages.some(({ topic }) => topic.includes("/machine/")) &&
        topics.every((end) => messages.some(({ topic }) => topic.endsWith(end))),
      30_000,
    );
  },
  { timeout: deadlineMs(60_000) },
);
after(() => close());

for (const block of blocks.filter(({ language }) => language === "json")) {
  const shown = JSON.parse(textOf(block)) as Members;
  if (!("v" in shown)) continue;
  test(`${titleOf(block)} – has the members that the agent publishes`, { skip }, () => {
    const real = published(sortOf(shown)).map(({ payload }) => Object.keys(payload));
    const known = new Set(real.flat());
    const always = [...known].filter((name) => real.every((names) => names.includes(name)));
    assert.ok(real.length > 0);
    assert.deepEqual(
      Object.keys(shown).filter((name) => !known.has(name)),
      [],
    );
    assert.deepEqual(
      always.filter((name) => !(name in shown)),
      [],
    );
  });
}

/** Whether a topic of the documents' plant is under a filter; serial numbers are the simulator's here. */
const isUnder = (topic: string, filter: string) =>
  new RegExp(
    `^${filter
      .replace(/\b\d{5}\b/, "+")
      .replaceAll("+", "[^/]+")
      .replace(/#$/, ".*")}$`,
  ).test(topic);
const under = (filter: string) =>
  seen.messages.filter(({ topic }) => isUnder(topic, filter)).map(({ text }) => text);
const at = (payload: unknown, path: readonly string[]) =>
  path.reduce<unknown>((value, name) => (value as Members)[name], payload);

const skipWithoutPython =
  skip ||
  (spawnSync("python3", ["-c", "import tomllib"]).status === 0 ? false : "needs Python 3.11");

/** A program of Python's, its input as JSON on standard input. */
function python(program: string, input: string): unknown {
  const { stdout, stderr, status } = spawnSync("python3", ["-c", program], {
    input,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

test("Telegraf – its topics are published, with the members that its parser reads, and nothing else is under them", {
  skip: skipWithoutPython,
}, () => {
  const block = only("docs/consumers.md", "toml", "mqtt_consumer");
  const read = "import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))";
  const file = python(read, textOf(block)) as {
    inputs: {
      mqtt_consumer: {
        topics: string[];
        json_v2: { timestamp_path: string; tag: { path: string }[]; object: { path: string }[] }[];
      }[];
    };
  };
  const [input] = file.inputs.mqtt_consumer;
  const [parser] = input?.json_v2 ?? [];
  assert.ok(input && parser);
  for (const topic of input.topics) {
    const texts = under(topic);
    assert.ok(texts.length > 0, topic);
    for (const text of texts) {
      const payload: unknown = JSON.parse(text);
      for (const path of [parser.timestamp_path, ...parser.tag.map((tag) => tag.path)])
        assert.equal(typeof at(payload, [path]), "string", `${topic}: ${path}`);
      for (const { path } of parser.object) assert.equal(typeof at(payload, [path]), "object");
    }
  }
});

test("Home Assistant by hand – its topics are published, with the members of its templates", {
  skip,
}, () => {
  const block = only("docs/consumers.md", "yaml", "state_topic");
  const { mqtt } = parse(textOf(block)) as {
    mqtt: {
      sensor: (Members & {
        state_topic: string;
        value_template: string;
        availability: { topic: string; value_template: string }[];
      })[];
    };
  };
  for (const { state_topic, value_template, availability } of mqtt.sensor) {
    for (const each of [{ topic: state_topic, value_template }, ...availability]) {
      const texts = under(each.topic);
      assert.ok(texts.length > 0, each.topic);
      const [, path = ""] = /value_json((?:\['\w+'\])+)/.exec(each.value_template) ?? [];
      const names = [...path.matchAll(/'(\w+)'/g)].map(([, name = ""]) => name);
      for (const text of texts) assert.notEqual(at(JSON.parse(text), names), undefined, each.topic);
    }
  }
});

test("mqtt2prometheus – its topics, device ids and members are those of readings", { skip }, () => {
  const block = only("docs/consumers.md", "yaml", "topic_path");
  const file = parse(textOf(block)) as {
    mqtt: { topic_path: string; device_id_regex: string };
    json_parsing: { separator: string };
    metrics: { mqtt_name: string }[];
  };
  // Go writes (?P<name>…) where JavaScript writes (?<name>…).
  const device = new RegExp(file.mqtt.device_id_regex.replaceAll("?P<", "?<"));
  const topics = seen.messages.filter(({ topic }) => isUnder(topic, file.mqtt.topic_path));
  assert.ok(topics.length > 0);
  for (const { topic, text } of topics) {
    const payload = JSON.parse(text) as Members;
    assert.equal(device.exec(topic)?.groups?.["deviceid"], payload["sensor"]);
    for (const { mqtt_name } of file.metrics)
      assert.equal(typeof at(payload, mqtt_name.split(file.json_parsing.separator)), "number");
  }
});

test("Node-RED – the function makes a message of each value, and none of states", { skip }, () => {
  const block = only("docs/consumers.md", "js", "msg.payload");
  const flow = compileFunction(textOf(block), ["msg"]) as (msg: object) => Members[][] | null;
  const [reading] = published("values");
  const [state] = published("kinds");
  const [made = []] = flow(reading ?? {}) ?? [];
  assert.equal(made.length, Object.keys(reading?.payload["values"] ?? {}).length);
  for (const message of made) assert.equal(message["time"], reading?.payload["time"]);
  assert.equal(flow(state ?? {}), null);
});

test("waveforms – the lines of Python give the samples of a published one", {
  skip: skipWithoutPython,
}, () => {
  const block = only("docs/mqtt.md", "python", "struct.unpack");
  const [waveform] = published("base64");
  const program = `import sys\npayload = sys.stdin.read()\n${textOf(block)}\nprint(json.dumps([g[0], len(g), t[1] * w["sampleRate"]]))`;
  const [first, samples, index] = python(program, JSON.stringify(waveform?.payload)) as number[];
  const bytes = Buffer.from(String(waveform?.payload["base64"]), "base64");
  assert.deepEqual([first, samples, index], [bytes.readFloatLE(0), bytes.length / 4, 1]);
});
