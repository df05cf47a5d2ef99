import assert from "node:assert/strict";
import { test } from "node:test";
import { machineFaults } from "../../../src/core/site-machines.ts";
import { topicFaults } from "../../../src/core/topics/collisions.ts";
import type { TopicPlan } from "../../../src/core/topics/published-row.ts";
import { templateFaults } from "../../../src/core/topics/template.ts";
import { SELECT_ALL } from "../../../src/core/uplink.ts";
import { AT, json, messagesOf, PUBLISHED, pump, SITE, sensor } from "./published-machine.ts";

const OURS = () => null;

test("machine messages – compact leaves out names and every text", () => {
  const payload = json(messagesOf({ compact: true }).state(PUBLISHED, AT)[0]?.payload);
  assert.ok(!JSON.stringify(payload).includes("text"));
  for (const name of ["name", "area", "reason"]) assert.ok(!(name in payload), name);
  assert.equal(payload["condition"], "warning");
});

test("machine messages – plain words beside the topic; empty where there is no zone, stage 0 where nothing stands", () => {
  const plain = messagesOf({ formats: ["plain"] });
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
  assert.deepEqual(messagesOf({ formats: ["plain"], retain: false }).retained(pump), []);
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
  assert.deepEqual(topicFaults(plan, SITE, OURS), []);
  const twins = { ...SITE, sensors: [sensor("1", 40, "Pump"), sensor("2", 41, "Pump")] };
  assert.match(topicFaults(plan, twins, OURS)[0]?.problem ?? "", /machine 41 and machine 40/);
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
