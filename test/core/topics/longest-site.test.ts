import assert from "node:assert/strict";
import { test } from "node:test";
import { FORMAT_TOPICS } from "../../../src/config/formats.ts";
import { platformOf } from "../../../src/config/profiles.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { longestSite } from "../../../src/core/topics/longest-site.ts";
import { publishedTopics } from "../../../src/core/topics/published.ts";
import type { TopicPlan } from "../../../src/core/topics/published-row.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";

const place = { company: 1, area: 20, machine: 3000, point: 1 };
const registers = [{ address: 1, type: "uint16", value: "a_long_value_of_the_node" }] as const;
const sensors: Sensor[] = [
  { code: "1", type: 3, kinds: ["accel"], channels: {}, name: "Pümpe #1", location: place },
  { code: "1000000000", type: 40, kinds: ["rpm"], channels: {} },
  {
    code: "7",
    type: 40,
    kinds: ["rpm"],
    channels: {},
    location: { ...place, names: { area: "Ü" } },
  },
  {
    code: "2",
    type: 12,
    kinds: ["loop", "currentV2"],
    channels: { channel1: { unit: "bar" }, current1: { clamp: 50 } },
    location: { ...place, names: { company: "Company", machine: "東京".repeat(9), point: "p/+q" } },
  },
  {
    code: "3",
    type: 1,
    kinds: [],
    channels: {},
    stateReads: [{ via: "modbus", url: "", registers }],
  },
];
const everywhere = "{prefix}/{site}/{sensor}/{name}/{company}/{area}/{machine}/{point}";
const plans: Partial<TopicPlan>[] = [
  {},
  { profile: "homeassistant", formats: ["json"] },
  { formats: ["sparkplug"], sparkplug: { group: "g", node: "n", host: null, historyBatch: 1 } },
  { topics: { reading: `${everywhere}/{kind}`, value: `${everywhere}/{kind}/{value}` } },
  { topics: { state: `{name}/{area}`, waveform: `${everywhere}/{channel}` } },
];

for (const [i, changes] of plans.entries())
  test(`longest site – its longest topic is at least that of the site, and not without need (${i})`, () => {
    const plan: TopicPlan = {
      formats: ["json", "plain"],
      profile: "gateside",
      topicPrefix: "gateside",
      topics: {},
      select: SELECT_ALL,
      history: true,
      waveforms: "alarm",
      retain: true,
      commands: true,
      sparkplug: null,
      clientId: "c",
      ...changes,
    };
    const longest = (of: readonly Sensor[]) => {
      const site = { site: "plant", sensors: of };
      const bytes = (one: typeof site) =>
        Math.max(
          ...publishedTopics(plan, one, platformOf, FORMAT_TOPICS).map(({ topic }) =>
            Buffer.byteLength(topic),
          ),
        );
      return { own: bytes(site), bound: bytes(longestSite(site)) };
    };
    const all = longest(sensors);
    assert.ok(all.own <= all.bound, JSON.stringify(all));
    // Of one sensor with plain names there is nothing to estimate.
    const alone = longest([{ ...sensors[1], location: place } as Sensor]);
    assert.equal(alone.own, alone.bound);
    assert.equal(
      longestSite({ site: "plant", sensors: [...sensors, ...sensors] }).sensors.length,
      4,
    );
  });
