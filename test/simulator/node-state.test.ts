import assert from "node:assert/strict";
import { test } from "node:test";
import {
  parseStateOperation,
  readStateRegisters,
  stateRecord,
} from "../../src/simulator/node-state.ts";

test("an operation is named and shaped by its option, and invalid options are reported", () => {
  const operation = parseStateOperation("getVibrationState:Battery=battery,FW=firmware");
  assert.ok(typeof operation === "object");
  const record = stateRecord(operation, "100", 0, 7_200_500);
  assert.deepEqual(Object.keys(record).sort(), ["Battery", "FW", "sensor_code", "time_data"]);
  assert.deepEqual(record["time_data"], { ms: 7_200_000, offsetMinutes: 0 });
  assert.match(JSON.stringify(parseStateOperation("getState:Battery=volts")), /Battery=volts/);
  assert.match(JSON.stringify(parseStateOperation("../x")), /is not the name of an operation/);
});

test("the registers contain what the records say, and addresses beyond the sensors do not exist", () => {
  const operation = parseStateOperation("getState:B=battery");
  assert.ok(typeof operation === "object");
  const volts = Number(stateRecord(operation, "100", 1, 0)["B"]);
  assert.equal(readStateRegisters(2, 0, 10, 1)?.[0], Math.round(volts * 1000));
  assert.equal(readStateRegisters(2, 0, 19, 2), null);
});
