import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../src/core/sensor.ts";
import {
  findingPlace,
  nameAtStart,
  nameInSite,
  placeInSite,
  placeOfCode,
} from "../../src/core/sensor-names.ts";

const PUMP = { id: 4, name: "Pump 4" };
const sensor = (code: string, name?: string, point?: string): Sensor => ({
  code,
  type: 3,
  kinds: ["accel"],
  channels: {},
  ...(name !== undefined && { name }),
  location: { company: 1, area: 1, machine: 4, point: 1, ...(point && { names: { point } }) },
});
const site = (...sensors: Sensor[]) => ({ sensors, machines: [PUMP] });

test("names of sensors – the name alone, with the code where two share it, the code where there is none", () => {
  const drive = sensor("100", "Drive end");
  assert.equal(nameInSite(drive, site(drive)), "Drive end");
  const twins = site(drive, sensor("200", "Drive end"));
  assert.equal(nameInSite(drive, twins), "Drive end (100)");
  assert.equal(nameInSite(sensor("300", undefined, "NDE"), twins), "NDE");
  assert.equal(nameInSite(sensor("300"), twins), "sensor 300");
  assert.equal(nameAtStart(sensor("300"), twins), "Sensor 300");
  assert.equal(nameAtStart(sensor("300", "eMotor"), twins), "eMotor");
});

test("names of sensors – their machine is said once, and a sensor that the site knows no more has its code", () => {
  const [own, named] = [sensor("100", "Drive end"), sensor("200", "Pump 4 fan end")];
  const both = site(own, named);
  assert.equal(placeInSite(own, both), "Drive end, Pump 4");
  assert.equal(placeInSite(named, both), "Pump 4 fan end");
  assert.equal(placeOfCode("0100", both), "Drive end, Pump 4");
  assert.equal(placeOfCode("7", both), "sensor 7");
  assert.equal(findingPlace(PUMP, own, both), "Pump 4, Drive end");
  assert.equal(findingPlace(PUMP, named, both), "Pump 4 fan end");
  assert.equal(findingPlace({ id: 9 }, sensor("1"), both), "machine 9, sensor 1");
});
