import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlainRecord } from "../../src/simulator/plain-record.ts";
import { applySteps, isRejected, type RecordStep } from "../../src/simulator/record-faults.ts";
import { WireWriter } from "../../src/simulator/wire-writer.ts";
import { expectedTimeMs } from "../support/expected-reading.ts";

const RECORD: PlainRecord = {
  sensor_code: "1",
  RPM: 1480.5,
  time_data: { ms: Date.UTC(2026, 10, 20), offsetMinutes: 0 },
};
const TIMES = ["time-unset", "time-epoch", "time-text", "time-2106", "other-day"] as const;

test("altered records – one is rejected if its time is none after all alterations, whatever it was in between", () => {
  const stepsOf = (...names: (typeof TIMES)[number][]): RecordStep[] =>
    names.map((name) => [name, 1, 0]);
  for (const first of TIMES)
    for (const second of TIMES)
      for (const third of TIMES) {
        const steps = stepsOf(first, second, third);
        const isTimeless = expectedTimeMs("rpm", applySteps(RECORD, steps)) === null;
        assert.equal(isRejected(steps, "rpm"), isTimeless, `${first}, ${second}, ${third}`);
      }
});

test("altered records – another sensor's code is taken back by a later swap of the sensor", () => {
  const foreign: RecordStep = ["foreign", 1, 0];
  const swapped: RecordStep = ["sensor-swapped", 1, "1"];
  assert.equal(isRejected([foreign], "rpm"), true);
  assert.equal(isRejected([swapped, foreign], "rpm"), true);
  assert.equal(isRejected([foreign, swapped], "rpm"), false);
  assert.equal(isRejected([foreign], "accCurrent"), false);
});

test("wire writer – no spelling changes an unknown member: quoted, its number would be another content", () => {
  const record = applySteps(RECORD, [["unknown-members", 1, 0]]);
  const text = new WireWriter("sensor", { numbersAsStrings: true, oddCase: true }).record(record);
  assert.match(text, /"zz_new":7\b/);
  assert.match(text, /"rpm":"1480.5"/);
});
