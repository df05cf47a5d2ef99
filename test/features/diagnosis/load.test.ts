/** What the load does to a healthy machine belongs to its normal state. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  loadFindings,
  saveFindings,
} from "../../../src/features/diagnosis/rules/sensor-findings.ts";
import { engineOf, SENSOR, shaftRecord } from "./support.ts";

const RPM = 1480;
/** A gearbox's, whose 1x grows with its load: 3.6 times from a third of it to all. */
const recordAt = (load: number) =>
  shaftRecord(
    RPM,
    [1, 0.8, 0.4].map((by) => ({ 1: 2.5 * load * by, 2: 0.25 * load * by, 3: 0.2 * by })),
  );
const LOW = 0.28;

/** Findings that stood while each of these loads was read, an hour apart. */
function lives() {
  const { engine, follow } = engineOf();
  let hour = 0;
  return (loads: readonly number[]): string[] => {
    const seen = new Set<string>();
    for (const load of loads) {
      follow(recordAt(load), ++hour);
      for (const [key, { stands }] of engine.of(SENSOR.code).states)
        if (stands !== null) seen.add(key);
    }
    return [...seen];
  };
}

const hours = (load: number, count: number) => Array.from({ length: count }, () => load);
const cycles = (count: number) =>
  Array.from({ length: count }, () => [...hours(1, 3), ...hours(LOW, 3)]).flat();

test("a load that goes up and down within hours is usual, though ten readings knew one load alone", () => {
  const live = lives();
  assert.deepEqual(live(hours(LOW, 12)), []);
  assert.deepEqual(live(cycles(12)), []);
  // A whole day of it is no surprise then.
  assert.deepEqual(live(hours(1, 24)), []);
});

test("what rises and stays is a fault, from the first days on", () => {
  const live = lives();
  live(hours(LOW, 12));
  assert.deepEqual(live(hours(1, 6)), ["unbalance"]);
});

test("what lasted for more than a day is not usual when it goes back, nor is anything once the range has settled", () => {
  const long = lives();
  long(hours(LOW, 12));
  assert.deepEqual(long([...hours(1, 30), ...hours(LOW, 10), ...hours(1, 6)]), ["unbalance"]);
  const settled = lives();
  settled(hours(LOW, 80));
  assert.deepEqual(settled(cycles(3)), ["unbalance"]);
});

test("a heavier load after days widens the range while it still grows", () => {
  const live = lives();
  live(hours(LOW, 12));
  const daily = (load: number) => [...hours(load, 3), ...hours(LOW, 21)];
  live([...daily(0.45), ...daily(0.45), ...daily(0.7), ...daily(0.7)]);
  assert.deepEqual(live([...daily(1), ...cycles(4)]), []);
});

test("what is out when the agent stops is known to be out when it starts again", () => {
  const { engine, follow } = engineOf();
  for (const [i, load] of [...hours(LOW, 12), ...hours(1, 2)].entries())
    follow(recordAt(load), i + 1);
  const before = engine.of(SENSOR.code);
  const after = loadFindings(saveFindings(before) ?? "");
  const out = (of: typeof before) => Object.keys(of.reference?.speeds[0]?.out ?? {}).toSorted();
  assert.ok(out(before).includes("1:1"));
  assert.deepEqual(out(after), out(before));
});
