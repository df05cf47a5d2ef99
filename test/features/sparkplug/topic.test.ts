import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceId, NodeTopics, stateTopic } from "../../../src/features/sparkplug/topics.ts";

const topics = new NodeTopics("plant", "edge");

test("sparkplug – topics have the namespace, group, verb, node and for D verbs the device", () => {
  assert.equal(topics.ofNode("NBIRTH"), "spBv1.0/plant/NBIRTH/edge");
  assert.equal(topics.ofNode("NDEATH"), "spBv1.0/plant/NDEATH/edge");
  assert.equal(topics.ofDevice("DDATA", "30007"), "spBv1.0/plant/DDATA/edge/30007");
  assert.equal(stateTopic("scada"), "spBv1.0/STATE/scada");
  assert.equal(deviceId(" a/b "), "a_b");
});

test("sparkplug – STATE is subscribed after the commands, and only with a primary host", () => {
  const commands = ["spBv1.0/plant/NCMD/edge", "spBv1.0/plant/DCMD/edge/#"];
  assert.deepEqual(topics.filters(null), commands);
  assert.deepEqual(topics.filters("scada"), [...commands, "spBv1.0/STATE/scada"]);
});

test("sparkplug – inbound messages are identified by their topic levels alone", () => {
  assert.deepEqual(topics.parse("spBv1.0/plant/NCMD/edge"), { what: "ncmd" });
  assert.deepEqual(topics.parse("spBv1.0/plant/DCMD/edge/7"), { what: "dcmd", device: "7" });
  assert.deepEqual(topics.parse("spBv1.0/STATE/scada"), { what: "state", host: "scada" });
  for (const other of [
    "STATE/scada",
    "spbv1.0/STATE/scada",
    "spBv1.0/other/NCMD/edge",
    "spBv1.0/plant/NCMD/other",
    "spBv1.0/plant/NCMD/edge/7",
    "spBv1.0/plant/DCMD/edge",
    "spBv1.0/plant/DCMD/edge/7/8",
    "spBv1.0/STATE/scada/x",
    "",
  ]) {
    assert.deepEqual(topics.parse(other), { what: "other" }, other);
  }
});
