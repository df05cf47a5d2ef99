import assert from "node:assert/strict";
import { test } from "node:test";
import { READ_OPERATIONS, RECORD_FIELDS } from "../../../src/pipeline/wire/names.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";

const acme = createWireNames({ word: "acme", service: "/AcmeService.svc/" });

test("wire names – the vendor's word follows the letter case of ours", () => {
  const spelled = ["sensorType", "sensor_code", "SensorName", "SensorCode", "sensorCodes", "RPM"];
  assert.deepEqual(
    spelled.map((name) => acme.wire(name)),
    ["acmeType", "acme_code", "AcmeName", "AcmeCode", "acmeCodes", "RPM"],
  );
  const shouted = createWireNames({ word: "ACME", service: "x" });
  assert.deepEqual(
    [shouted.wire("sensorType"), shouted.wire("SensorName")],
    ["acmeType", "AcmeName"],
  );
});

test("wire names – GetDataBySensor keeps its name; paths contain the configured service", () => {
  assert.equal(acme.wire("GetDataBySensor"), "GetDataBySensor");
  assert.equal(acme.apiPath("GetDataBySensor"), "ApiWeb.svc/GetDataBySensor");
  assert.equal(acme.gatewayPath(READ_OPERATIONS.loop), "AcmeService.svc/get4_20GPData");
});

test("wire names – a vendor's word that contains ours is inserted once", () => {
  const smart = createWireNames({ word: "smartSensor", service: "x" });
  assert.equal(smart.wire("sensorType"), "smartSensorType");
  assert.equal(smart.wire("sensor_code"), "smartSensor_code");
  assert.equal(smart.wire("SensorName"), "SmartSensorName");
  const under = createWireNames({ word: "my_node", service: "x" });
  assert.equal(under.wire("sensorCode"), "my_nodeCode");
  assert.equal(under.wire("SensorName"), "My_nodeName");
});

test("wire names – a wire name is found with either word, the exact one before other letter case", () => {
  const neutrals = ["pointIndex", "pointindex", "sensorCode"];
  const found = [
    "pointindex",
    "pointIndex",
    "POINTINDEX",
    "acmeCode",
    "sensorCode",
    "ACMECODE",
    "x",
  ];
  assert.deepEqual(
    found.map((name) => acme.neutral(name, neutrals)),
    ["pointindex", "pointIndex", "pointIndex", "sensorCode", "sensorCode", "sensorCode", undefined],
  );
});

test("wire names – a member is read by its exact wire name, then our word, then any letter case", () => {
  assert.equal(acme.member({ acmecode: 3, sensorCode: 2, acmeCode: 1 }, "sensorCode"), 1);
  assert.equal(acme.member({ acmecode: 3, sensorCode: 2 }, "sensorCode"), 2);
  assert.equal(acme.member({ acmecode: 3 }, "sensorCode"), 3);
  assert.equal(acme.member({}, "constructor"), undefined);
});

test("wire names – every record field has one spelling in lower case, so that letter case can be ignored", () => {
  for (const fields of Object.values(RECORD_FIELDS)) {
    const folded = Object.keys(fields).map((name) => name.toLowerCase());
    assert.equal(new Set(folded).size, folded.length);
  }
});
