import assert from "node:assert/strict";
import { test } from "node:test";
import { hasFixedTopics } from "../../../src/config/profiles.ts";
import { sharesTopics } from "../../../src/features/alarms/boards.ts";

test("alarm topics – two uplinks share them with one prefix at one broker", () => {
  const uplink = {
    name: "cloud",
    urls: ["mqtt://a.example:1883"],
    topicPrefix: "gateside",
    formats: ["json"],
    profile: "gateside",
    retain: true,
  } as const;
  const other = { ...uplink, name: "main" };
  const alone = { hasNeighbour: false };
  assert.equal(sharesTopics(uplink, [uplink, other], alone), true);
  assert.equal(sharesTopics(uplink, [{ ...other, urls: ["mqtts://a.example:8883"] }], alone), true);
  const elsewhere = { ...other, urls: ["mqtt://same-broker-by-another-name.example:1883"] };
  assert.equal(sharesTopics(uplink, [elsewhere], { hasNeighbour: true }), true);
  for (const change of [
    { name: "cloud" },
    { urls: ["mqtt://b.example:1883"] },
    { topicPrefix: "plant" },
    ...(hasFixedTopics("azure-iot") ? [{ profile: "azure-iot" as const }] : []),
    { retain: false },
  ])
    assert.equal(
      sharesTopics(uplink, [{ ...other, ...change }], alone),
      false,
      JSON.stringify(change),
    );
});
