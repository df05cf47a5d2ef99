import assert from "node:assert/strict";
import { test } from "node:test";
import { BUILT_PROFILES, platformOf } from "../../../src/config/profiles.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { beyondAmqp, crossingTopics, topicFaults } from "../../../src/core/topics/collisions.ts";
import { publishedTopics } from "../../../src/core/topics/published.ts";
import { type TopicPlan } from "../../../src/core/topics/published-row.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";

const at = (machine: number) => ({ company: 1, area: 2, machine, point: 1 });
const sensors: Sensor[] = [
  {
    code: "1",
    type: 3,
    name: "Pump",
    kinds: ["accel"],
    channels: { channel1: { axis: "H" } },
    location: at(40),
  },
  {
    code: "2",
    type: 12,
    name: "Pump",
    kinds: ["loop", "rpm"],
    channels: { channel1: { name: "Suction", unit: "bar", low: 10, high: 0 } },
    location: at(40),
  },
];
const site: Site = { site: "plant-7", sensors };
const plan = (changes: Partial<TopicPlan> = {}): TopicPlan => ({
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
});
const OURS = () => null;
const problems = (changes: Partial<TopicPlan>) =>
  topicFaults(plan(changes), site, OURS).map(({ problem }) => problem);

test("collisions – the contract's topics have none", () => {
  assert.deepEqual(problems({}), []);
});

test("collisions – two sensors or two kinds on one topic are reported with both names", () => {
  assert.deepEqual(
    problems({ formats: ["json"], topics: { reading: "{prefix}/{machine}/{kind}x" } }),
    [],
  );
  assert.deepEqual(
    problems({ formats: ["json"], topics: { reading: "{prefix}/{sensor}" } }).slice(0, 1),
    ["live readings of 2 rpm and live readings of 2 loop would share the topic gateside/2"],
  );
  const [state] = problems({ formats: ["json"], topics: { state: "s/{name}" } });
  assert.equal(state, "state of 2 and state of 1 would share the topic s/Pump");
});

test("collisions – live against history, value against reading, waveform channels among themselves", () => {
  assert.match(
    problems({ topics: { history: "{prefix}/{site}/{sensor}/{kind}" } })[0] ?? "",
    /^history of 1 accel and live readings of 1 accel would share/,
  );
  assert.match(
    problems({ topics: { value: "{prefix}/{site}/{sensor}/{kind}" } }).join("\n"),
    /value channel1_accel_rms of 1 accel and live readings of 1 accel/,
  );
  const three: Site = { ...site, sensors: [{ ...(sensors[0] as Sensor), channels: {} }] };
  assert.match(
    topicFaults(plan({ topics: { waveform: "w/{sensor}" } }), three, OURS)[0]?.problem ?? "",
    /waveforms of 1 channel2 and waveforms of 1 channel1/,
  );
});

test("collisions – templates may not use levels of the agent or of alarms", () => {
  assert.match(
    problems({
      formats: ["json"],
      topics: { reading: "gateside/plant-7/agent/{sensor}/{kind}" },
    })[0] ?? "",
    /live readings of 1 accel and the agent's own topics would share/,
  );
  assert.match(
    problems({ formats: ["json"], topics: { state: "gateside/plant-7/{sensor}/about" } })[0] ?? "",
    /about 1 and state of 1 would share/,
  );
  assert.match(
    problems({
      formats: ["json"],
      topics: { reading: "{prefix}/{site}/{sensor}/alarm/x/{kind}" },
    })[0] ?? "",
    /live readings of 1 accel and alarms of 1 would share/,
  );
});

test("collisions – a wrong template on a large site is reported in few lines", () => {
  const many = Array.from(
    { length: 500 },
    (_, i): Sensor => ({ ...(sensors[1] as Sensor), code: `s${i}` }),
  );
  const faults = topicFaults(
    plan({ topics: { state: "state" } }),
    { ...site, sensors: many },
    OURS,
  );
  assert.equal(faults.length, 21);
  assert.match(faults.at(-1)?.problem ?? "", /479 more topics/);
});

test("published – topics that an uplink does not select, keep or retain are not listed as such", () => {
  const topics = (changes: Partial<TopicPlan>) => publishedTopics(plan(changes), site, OURS);
  const selected = topics({ select: { ...SELECT_ALL, kinds: ["loop"], values: ["channel1"] } });
  assert.deepEqual([...new Set(selected.map(({ sensor }) => sensor))], [null, "2"]);
  assert.deepEqual(
    selected
      .filter(({ path }) => path !== null)
      .map(({ path, unit, name, range }) => [path, unit, name, range]),
    [["values.channel1", "bar", "Suction", [0, 10]]],
  );
  assert.ok(!topics({ history: false }).some(({ stream }) => stream.startsWith("history")));
  assert.ok(!topics({ waveforms: "never" }).some(({ stream }) => stream.startsWith("waveforms")));
  assert.ok(!topics({ retain: false }).some(({ retained }) => retained));
  const ofAlarms = (changes: Partial<TopicPlan>) =>
    topics({ commands: true, ...changes }).filter(({ stream }) => stream.includes("alarm"));
  assert.ok(ofAlarms({ formats: ["json"] }).length >= 3);
  assert.deepEqual(ofAlarms({ formats: ["json"], alarms: false }), []);
});

test("published – node states alone, and what platforms receive, follow the selection of the uplink", () => {
  const [pump, loop] = sensors as [Sensor, Sensor];
  const battery = { from: "B", unit: "V" };
  const stateReads = [{ operation: "getState", fields: { battery, mode: { from: "M" } } }];
  const withNode: Site = { ...site, sensors: [pump, { ...loop, stateReads }] };
  const select = { ...SELECT_ALL, kinds: ["node"], values: ["battery"] } as const;
  for (const profile of BUILT_PROFILES.filter((one) => one !== "azure-iot")) {
    const rows = publishedTopics(
      plan({ profile, formats: ["json"], select }),
      withNode,
      platformOf,
    );
    assert.deepEqual(
      rows
        .filter(({ value }) => value !== null)
        .map(({ sensor, kind, value }) => [sensor, kind, value]),
      [["2", "node", "battery"]],
      profile,
    );
  }
});

test("collisions – topics that RabbitMQ accepts and cannot deliver are named once, in bytes", () => {
  const named = (code: string, changes: Partial<TopicPlan> = {}) =>
    beyondAmqp(plan(changes), { ...site, sensors: [{ ...sensors[1], code } as Sensor] }, OURS, []);
  assert.equal(named("x".repeat(64)), null);
  const history = "gateside/plant-7//loop/history".length;
  assert.equal(named("x".repeat(255 - history), { alarms: false, formats: ["json"] }), null);
  const long = named("ß".repeat((256 - history) / 2), { alarms: false, formats: ["json"] });
  assert.match(long?.problem ?? "", /^gateside\/plant-7\/ß.*… has 256 bytes: RabbitMQ cannot/);
});

test("crossing topics – two uplinks with one prefix share the topics of equal streams; another stream on one of them is a fault", () => {
  assert.deepEqual(crossingTopics(plan(), plan(), site, OURS), []);
  assert.deepEqual(crossingTopics(plan(), plan({ topicPrefix: "other" }), site, OURS), []);
  const [fault] = crossingTopics(
    plan({ topicPrefix: "other" }),
    plan({ topicPrefix: "third", topics: { reading: "other/plant-7/{sensor}/{kind}" } }),
    site,
    OURS,
  );
  assert.match(fault?.problem ?? "", /^both publish to other\/plant-7\/1\/accel, and \d+ more/);
});
