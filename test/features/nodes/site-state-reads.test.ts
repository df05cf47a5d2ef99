import assert from "node:assert/strict";
import { test } from "node:test";
import { loadSite } from "../../../src/config/site.ts";

const SERVICE = { operation: "getState", fields: { battery: { from: "B", unit: "V" } } };
const REGISTER = { address: 10, type: "uint16", value: "vel_rms1", unit: "mm/s" };
const MODBUS = { via: "modbus", url: "tcp://10.0.0.1:502", registers: [REGISTER] };

function load(...stateReads: readonly unknown[]) {
  const sensor = { code: "1", type: 3, kinds: ["accel"], stateReads };
  return loadSite(JSON.stringify({ site: "plant-7", sensors: [sensor] }), "site.json");
}

const WRONG: readonly [string, readonly unknown[], string][] = [
  ["no operation", [{ fields: SERVICE.fields }], "[0].operation"],
  ["an operation with a path", [{ ...SERVICE, operation: "../x" }], "[0].operation"],
  [
    "an operation that changes settings",
    [{ ...SERVICE, operation: "SaveSettings" }],
    "[0].operation",
  ],
  ["registers of the service", [{ ...SERVICE, registers: [REGISTER] }], "[0].registers"],
  ["no url", [{ via: "modbus", registers: [REGISTER] }], "[0].url"],
  ["another protocol", [{ ...MODBUS, url: "http://10.0.0.1" }], "[0].url"],
  ["a port that is none", [{ ...MODBUS, url: "tcp://10.0.0.1:99999" }], "[0].url"],
  ["an interval below a minute", [{ ...SERVICE, intervalS: 59 }], "[0].intervalS"],
  ["an interval above a day", [{ ...SERVICE, intervalS: 86_401 }], "[0].intervalS"],
  [
    "an unknown register type",
    [{ ...MODBUS, registers: [{ ...REGISTER, type: "float64" }] }],
    "[0].registers[0].type",
  ],
  [
    "a value whose second register lies past the end",
    [{ ...MODBUS, registers: [{ ...REGISTER, type: "float32", address: 65_535 }] }],
    "[0].registers[0].address",
  ],
  [
    "an address past the last register",
    [{ ...MODBUS, registers: [{ ...REGISTER, address: 65_536 }] }],
    "[0].registers[0].address",
  ],
  [
    "a name that is no topic level",
    [{ ...MODBUS, registers: [{ ...REGISTER, value: "a/b" }] }],
    "[0].registers[0].value",
  ],
  [
    "one name in two reads",
    [SERVICE, { ...MODBUS, registers: [{ ...REGISTER, value: "Battery" }] }],
    "[1].registers[0].value",
  ],
];

for (const [what, reads, place] of WRONG) {
  test(`state reads: ${what} is one error, with its location`, () => {
    const { faults } = load(...reads);
    assert.deepEqual(
      faults.map((fault) => fault.place),
      [`site.json: sensors[0].stateReads${place}`],
    );
  });
}

test("state reads of both kinds are accepted, and an alarm may use their values", () => {
  assert.deepEqual(load(SERVICE, MODBUS).faults, []);
  const sensor = { code: "1", type: 3, kinds: ["accel"], stateReads: [SERVICE] };
  const alarm = { name: "low", select: { kinds: ["node"], values: ["battery"] }, low: 3 };
  const site = { site: "plant-7", sensors: [sensor], alarms: [alarm] };
  assert.deepEqual(loadSite(JSON.stringify(site), "site.json").faults, []);
});

test("site file – a sensor may have state reads only; one that has neither them nor kinds would not be read at all", () => {
  for (const kinds of [{}, { kinds: [] }]) {
    const given = (more: object) =>
      loadSite(
        JSON.stringify({ site: "plant-7", sensors: [{ code: "1", type: 3, ...kinds, ...more }] }),
        "site.json",
      );
    const { site, faults } = given({ stateReads: [MODBUS] });
    assert.deepEqual(faults, []);
    assert.deepEqual(site?.sensors[0]?.kinds, []);
    const [fault] = given({}).faults;
    assert.equal(fault?.place, "site.json: sensors[0].kinds");
    assert.match(fault?.problem ?? "", /nothing would be read/);
  }
});

test("a value name in fields that is not a valid topic level is rejected", () => {
  const { faults } = load({ operation: "getState", fields: { "a/b": { from: "B" } } });
  assert.match(faults[0]?.place ?? "", /stateReads\[0\]\.fields/);
});

test("site – an address with user and password is rejected without showing them", () => {
  for (const password of ["hunter2", "hunt/er2@home"]) {
    const { faults } = load({ ...MODBUS, url: `tcp://boiler:${password}@10.0.0.7:502` });
    const [text = ""] = faults.map(({ problem }) => problem);
    assert.match(text, /"tcp:\/\/\*\*\*@10\.0\.0\.7:502" has an invalid format/);
  }
});
