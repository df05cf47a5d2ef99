import assert from "node:assert/strict";
import { test } from "node:test";
import { platformOf } from "../../../src/config/profiles.ts";
import { topicFaults } from "../../../src/core/topics/collisions.ts";
import type { TopicPlan } from "../../../src/core/topics/published-row.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";
import { SITE } from "../../pipeline/publish/formats/profiles.ts";

const problems = (changes: Partial<TopicPlan>) =>
  topicFaults(
    {
      formats: ["json", "plain"],
      profile: "gateside",
      topicPrefix: "gateside",
      topics: {},
      select: SELECT_ALL,
      history: true,
      waveforms: "alarm",
      retain: true,
      commands: false,
      sparkplug: null,
      clientId: "c",
      ...changes,
    },
    SITE.current,
    platformOf,
  ).map(({ problem }) => problem);

test("aws-iot – no more than 7 slashes and 256 bytes a topic (AWS IoT Core quotas, Message broker)", () => {
  const deep = { profile: "aws-iot", formats: ["json"] } as const;
  assert.deepEqual(problems({ ...deep, topicPrefix: "a/b/c" }), []);
  assert.match(problems({ ...deep, topicPrefix: "a/b/c/d" })[0] ?? "", /has 8 slashes/);
  assert.match(
    problems({ ...deep, topicPrefix: "a".repeat(250) })[0] ?? "",
    /bytes, but the limit is 256/,
  );
  assert.deepEqual(problems({ formats: ["json"], topicPrefix: "a/b/c/d/e" }), []);
});
