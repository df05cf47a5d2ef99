import assert from "node:assert/strict";
import { test } from "node:test";
import { FORMAT_TOPICS } from "../../../src/config/formats.ts";
import type { Site } from "../../../src/core/site.ts";
import { publishedTopics } from "../../../src/core/topics/published.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";
import { sparkplugTopics } from "../../../src/features/sparkplug/topics.ts";

const SITE: Site = {
  site: "plant-7",
  sensors: [
    { code: "1", type: 3, kinds: ["accel"], channels: { channel1: { axis: "H" } } },
    { code: "2", type: 12, kinds: ["loop"], channels: { channel1: { unit: "bar" } } },
  ],
};
const PLAN = {
  formats: ["sparkplug"],
  profile: "gateside",
  topicPrefix: "gateside",
  topics: {},
  select: SELECT_ALL,
  history: true,
  waveforms: "alarm",
  retain: true,
  commands: false,
  sparkplug: { group: "g", node: "n", host: null, historyBatch: 1 },
  clientId: "c",
} as const;

test("published – Sparkplug births, data and deaths of node and devices, with a row per metric", () => {
  const rows = publishedTopics(PLAN, SITE, () => null, FORMAT_TOPICS);
  const topics = new Set(rows.map(({ topic }) => topic));
  assert.ok(topics.has("spBv1.0/g/NBIRTH/n") && topics.has("spBv1.0/g/DDATA/n/2"));
  const metric = rows.find(({ path }) => path === "loop/channel1");
  assert.deepEqual(
    [metric?.type, metric?.unit, metric?.qos, metric?.retained],
    ["number", "bar", 0, false],
  );
});

test("published – an uplink without the format has no topics of Sparkplug", () => {
  assert.deepEqual(sparkplugTopics({ ...PLAN, sparkplug: null }, SITE, SITE.sensors), []);
});
