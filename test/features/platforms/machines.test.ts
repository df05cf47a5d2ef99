/** Vectors after the platforms' public documentation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { platformOf } from "../../../src/config/profiles.ts";
import { topicFaults } from "../../../src/core/topics/collisions.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";
import { AT, json, messagesOf, PUBLISHED, pump, SITE } from "../condition/published-machine.ts";

test("machine messages – Home Assistant: a device behind the box, an enum of the six words, running that may be unknown", () => {
  const messages = messagesOf({ profile: "homeassistant" });
  const configs = new Map(
    messages.describe(pump).map(({ topic, payload }) => [topic, json(payload)]),
  );
  const node = "gateside_plant-7_machine_40";
  const condition = configs.get(`homeassistant/sensor/${node}/condition/config`);
  assert.deepEqual(condition?.["options"], [
    "alarm",
    "warning",
    "watch",
    "unknown",
    "standing",
    "ok",
  ]);
  assert.equal(condition?.["device_class"], "enum");
  assert.equal(condition["state_topic"], "gateside/plant-7/machine/40");
  assert.deepEqual(condition["device"], {
    identifiers: [node],
    name: "Pump 4",
    suggested_area: "Boiler house",
    via_device: "gateside_plant-7",
  });
  const running = configs.get(`homeassistant/binary_sensor/${node}/running/config`);
  assert.match(String(running?.["value_template"]), /'None' if value_json\['running'\] is none/);
  assert.equal(configs.size, 4);
  assert.deepEqual(
    messages.retained(pump).filter((topic) => topic.startsWith("homeassistant/")),
    [...configs.keys()],
  );
  // What Home Assistant made of them has to go, whatever the broker keeps.
  const forgetful = messagesOf({ profile: "homeassistant", retain: false });
  assert.deepEqual(forgetful.retained(pump), [...configs.keys()]);
});

test("machine messages – ThingsBoard: a device of the gateway, telemetry by the message's time without null; Azure: properties", () => {
  const board = messagesOf({ profile: "thingsboard" });
  const device = "plant-7 machine 40";
  assert.deepEqual(
    board.describe(pump).map(({ topic, payload }) => [topic, json(payload)]),
    [
      ["v1/gateway/connect", { device }],
      [
        "v1/gateway/attributes",
        { [device]: { site: "plant-7", machine: 40, name: "Pump 4", area: "Boiler house" } },
      ],
    ],
  );
  const values = { condition: "warning", running: true, stage: 2, alarms: 0, warnings: 1 };
  const [sent] = board.state(PUBLISHED, AT);
  assert.deepEqual(json(sent?.payload), { [device]: [{ ts: AT, values }] });
  assert.deepEqual(json(board.farewell(40)[0]?.payload), { device });
  const [azure] = messagesOf({ profile: "azure-iot" }).state(PUBLISHED, AT);
  assert.match(azure?.topic ?? "", /^devices\/box-7\/messages\/events\/.*kind=machine&machine=40$/);
  assert.equal(azure?.retain, false);
});

test("machine messages – Azure says all that the topic says, with the machine as property; within the platforms' documented sizes", () => {
  const [finding] = PUBLISHED.members.activeFindings;
  assert.ok(finding);
  // More than stands on any machine: every finding of ten bearings, with long sentences.
  const activeFindings = Array.from({ length: 40 }, (_, n) => ({
    ...finding,
    bearing: `NU ${n}`,
    text: "x".repeat(800),
  }));
  const large = { ...PUBLISHED, members: { ...PUBLISHED.members, activeFindings } };
  const bytes = (messages: readonly { readonly topic: string; readonly payload: unknown }[]) =>
    Math.max(...messages.map(({ topic, payload }) => topic.length + String(payload).length));
  // AWS IoT: 128 KB, 256 bytes and 7 slashes of topic; IoT Hub: 256 KB; ThingsBoard: NETTY_MAX_PAYLOAD_SIZE.
  for (const [profile, bytesMax] of [
    ["aws-iot", 128 * 1024],
    ["azure-iot", 256 * 1024],
    ["thingsboard", 65_536],
  ] as const) {
    const all = [
      ...messagesOf({ profile }).describe(pump),
      ...messagesOf({ profile }).state(large, AT),
    ];
    assert.ok(bytes(all) < bytesMax, profile);
  }
  const [told] = messagesOf({ profile: "aws-iot" }).state(large, AT);
  assert.ok(told && told.topic.length <= 256 && told.topic.split("/").length <= 8);
  for (const compact of [false, true]) {
    const [topic] = messagesOf({ compact }).state(large, AT);
    const [azure] = messagesOf({ profile: "azure-iot", compact }).state(large, AT);
    assert.deepEqual(json(azure?.payload), json(topic?.payload));
    const bag = new URLSearchParams(azure?.topic.split("/").at(-1));
    assert.deepEqual(Object.fromEntries(bag), {
      "$.ct": "application/json",
      "$.ce": "utf-8",
      kind: "machine",
      machine: "40",
    });
    assert.deepEqual([azure?.qos, azure?.retain, azure?.contentType], [1, false, undefined]);
  }
});

test("machine topics – no more slashes than AWS IoT allows", () => {
  const [fault] = topicFaults(
    {
      formats: ["json"],
      profile: "aws-iot",
      topicPrefix: "gateside",
      topics: { machine: "a/b/c/d/e/f/{site}/{machine}/{id}" },
      select: SELECT_ALL,
      history: true,
      waveforms: "never",
      retain: true,
      commands: false,
      sparkplug: null,
      clientId: "x",
      machines: true,
    },
    SITE,
    platformOf,
  );
  assert.match(fault?.problem ?? "", /a\/b\/c.* has 8 slashes/);
});
