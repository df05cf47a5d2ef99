/** Vectors after the platforms' public documentation, as in pipeline/publish/formats. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { machineFaults, siteMachines } from "../../../src/core/site-machines.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { topicFaults } from "../../../src/core/topics/collisions.ts";
import type { TopicPlan } from "../../../src/core/topics/published-row.ts";
import { templateFaults } from "../../../src/core/topics/template.ts";
import { createTopics } from "../../../src/core/topics/topics.ts";
import { SELECT_ALL, type Uplink } from "../../../src/core/uplink.ts";
import { createMachineMessages } from "../../../src/features/condition/machine-messages.ts";
import type { PublishedMachine } from "../../../src/features/condition/rules/machine-payload.ts";

const sensor = (code: string, machine: number, name?: string): Sensor => ({
  code,
  type: 3,
  kinds: ["accel"],
  channels: {},
  location: {
    company: 1,
    area: 2,
    machine,
    point: 1,
    names: { area: "Boiler house", ...(name !== undefined && { machine: name }) },
  },
});
const SITE = { site: "plant-7", sensors: [sensor("1", 40, "Pump 4"), sensor("2", 41)] };
const [pump, nameless] = siteMachines(SITE);
assert.ok(pump && nameless);
const PUBLISHED: PublishedMachine = {
  machine: pump,
  outlook: { sensor: "1", value: "channel1_vel_rms", from: "2026-12-01T00:00:00.000Z", to: null },
  members: {
    id: 40,
    sensor: null,
    name: "Pump 4",
    area: "Boiler house",
    state: "running",
    running: true,
    speedRpm: 1480,
    sensors: ["1"],
    findings: 1,
    worstStage: 2,
    condition: "warning",
    reason: "Outer race of bearing 6205.",
    unknown: null,
    since: "2026-11-20T10:00:00.000Z",
    sinceAtLeast: false,
    acknowledged: false,
    stage: 2,
    zone: null,
    outlook: "2026-12-01T00:00:00.000Z",
    changed: {
      sensor: "1",
      value: "channel1_vel_rms",
      unit: "mm/s",
      now: 2,
      before: 1,
      against: "month",
      text: "Twice as much.",
    },
    zoneSince: null,
    alarmCount: { alarm: 0, warning: 1 },
    activeFindings: [
      {
        finding: "bearing_outer_race",
        bearing: "6205",
        shaft: null,
        sensor: "1",
        stage: 2,
        since: "2026-11-20T10:00:00.000Z",
        text: "Lines at 3.58x.",
      },
    ],
    marks: [],
    alarms: [],
  },
};
const AT = Date.parse("2026-11-20T12:00:00Z");
const of = (change: Partial<Uplink>) =>
  createMachineMessages(
    {
      clientId: "box-7",
      compact: false,
      formats: ["json"],
      profile: "gateside",
      retain: true,
      ...change,
    },
    { topics: createTopics("gateside", "plant-7"), site: fixedSite(SITE), version: "0.4.0" },
  );
const json = (payload: string | Uint8Array | undefined): Record<string, unknown> =>
  JSON.parse(String(payload));

test("machine messages – compact leaves out names and every text", () => {
  const payload = json(of({ compact: true }).state(PUBLISHED, AT)[0]?.payload);
  assert.ok(!JSON.stringify(payload).includes("text"));
  for (const name of ["name", "area", "reason"]) assert.ok(!(name in payload), name);
  assert.equal(payload["condition"], "warning");
});

test("machine messages – plain words beside the topic; empty where there is no zone, stage 0 where nothing stands", () => {
  const plain = of({ formats: ["plain"] });
  const words = new Map(
    plain.state(PUBLISHED, AT).map(({ topic, payload }) => [topic.split("/").at(-1), payload]),
  );
  assert.deepEqual(
    [...words],
    [
      ["condition", "warning"],
      ["zone", ""],
      ["running", "true"],
      ["stage", "2"],
    ],
  );
  const members = { ...PUBLISHED.members, stage: null, running: null };
  const none = plain.state({ ...PUBLISHED, members }, AT).map(({ payload }) => payload);
  assert.deepEqual(none, ["warning", "", "", "0"]);
  assert.deepEqual(of({ formats: ["plain"], retain: false }).retained(pump), []);
});

test("machine messages – Home Assistant: a device behind the box, an enum of the six words, running that may be unknown", () => {
  const messages = of({ profile: "homeassistant" });
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
  const forgetful = of({ profile: "homeassistant", retain: false });
  assert.deepEqual(forgetful.retained(pump), [...configs.keys()]);
});

test("machine messages – ThingsBoard: a device of the gateway, telemetry by the message's time without null; Azure: properties", () => {
  const board = of({ profile: "thingsboard" });
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
  const [azure] = of({ profile: "azure-iot" }).state(PUBLISHED, AT);
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
    const all = [...of({ profile }).describe(pump), ...of({ profile }).state(large, AT)];
    assert.ok(bytes(all) < bytesMax, profile);
  }
  const [told] = of({ profile: "aws-iot" }).state(large, AT);
  assert.ok(told && told.topic.length <= 256 && told.topic.split("/").length <= 8);
  for (const compact of [false, true]) {
    const [topic] = of({ compact }).state(large, AT);
    const [azure] = of({ profile: "azure-iot", compact }).state(large, AT);
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

test("machine topics – a template must tell machines apart, and two that share a topic are a fault with both", () => {
  assert.deepEqual(templateFaults({ machine: "{prefix}/{site}/{area}/{machine}" }), []);
  assert.match(templateFaults({ machine: "{prefix}/m" })[0]?.problem ?? "", /same topic/);
  assert.match(templateFaults({ machine: "{sensor}/{id}" })[0]?.problem ?? "", /\{sensor\}/);
  const plan: TopicPlan = {
    formats: ["json"],
    profile: "gateside",
    topicPrefix: "gateside",
    topics: { machine: "{prefix}/{site}/m/{machine}" },
    select: SELECT_ALL,
    history: true,
    waveforms: "never",
    retain: true,
    commands: false,
    sparkplug: null,
    clientId: "x",
    machines: true,
  };
  assert.deepEqual(topicFaults(plan, SITE), []);
  const deep = { ...plan, topics: { machine: "a/b/c/d/e/f/{site}/{machine}/{id}" } };
  assert.match(
    topicFaults({ ...deep, profile: "aws-iot" }, SITE)[0]?.problem ?? "",
    /a\/b\/c.* has 8 slashes/,
  );
  const twins = { ...SITE, sensors: [sensor("1", 40, "Pump"), sensor("2", 41, "Pump")] };
  assert.match(topicFaults(plan, twins)[0]?.problem ?? "", /machine 41 and machine 40/);
  const many = Array.from({ length: 1001 }, (_, id) => sensor(`${id}`, id));
  const uplink = { machines: true, select: SELECT_ALL, sparkplug: null };
  assert.equal(machineFaults(uplink, { ...SITE, sensors: many })[0]?.member, "machines");
  assert.deepEqual(
    machineFaults(
      { ...uplink, select: { ...SELECT_ALL, machines: [1] } },
      { ...SITE, sensors: many },
    ),
    [],
  );
  const node = { group: "g", node: "n", host: null, historyBatch: 1, machines: true };
  const taken = { ...SITE, sensors: [sensor("machine-40", 40)] };
  assert.match(
    machineFaults({ ...uplink, sparkplug: node }, taken)[0]?.problem ?? "",
    /machine-40 would have the Sparkplug device/,
  );
});
