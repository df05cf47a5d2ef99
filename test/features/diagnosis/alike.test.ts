/** Faults whose lines look alike: what one reading cannot tell apart is not named. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JudgeInput, judge } from "../../../src/features/diagnosis/rules/judge.ts";
import type { Reference } from "../../../src/features/diagnosis/rules/reference.ts";
import { around, learned, MACHINE, shaftRecord } from "./support.ts";

const RPM = 1480;
const REFERENCE = learned(0.6, 0.1, 0.1);

type Lines = Parameters<typeof shaftRecord>[1];

function told(lines: Lines, over: Partial<JudgeInput> = {}, rpm = RPM) {
  const { verdicts, cannot, judged } = judge(
    shaftRecord(rpm, lines),
    around(rpm, { reference: REFERENCE, ...over }),
  );
  const names = verdicts.map(({ finding }) => finding);
  const open = cannot.flatMap(({ finding, reason }) => (reason === "ambiguous" ? [finding] : []));
  return { names, open, cannot, judged };
}

/** 2x that rose across the shaft, by as much as 1x or more, with these lines in the first direction and along the shaft. */
const second = (first: Lines[number], along: Lines[number]): Lines => [
  { 1: 0.8, 2: 2.1, ...first },
  { 1: 0.6, 2: 1 },
  { 1: 0.6, ...along },
];

test("half orders that rose with 2x speak for a looseness, 3x for a misalignment", () => {
  assert.deepEqual(told(second({ 3: 0.5 }, { 2: 0.3 })).names, ["misalignment"]);
  const halves = told(second({ 1.5: 0.5 }, { 2: 0.3 }));
  assert.deepEqual(halves.names, []);
  assert.ok(halves.open.includes("misalignment") && halves.open.includes("looseness"));
});

test("2x along the shaft of up to 0.4 of that across it does not tell a misalignment from a loose base", () => {
  assert.deepEqual(told(second({}, { 2: 1.1 })).names, ["misalignment"]);
  const between = told(second({}, { 2: 0.8 }));
  assert.deepEqual(between.names, []);
  assert.ok(between.open.includes("misalignment") && between.open.includes("looseness"));
  // Nor is it named a loose base where the orders above fell.
  const fallen = { reference: learned(0.6, 0.1, 0.6) };
  assert.deepEqual(told(second({ 3: 0.1 }, { 2: 0.3 }), fallen).names, ["looseness"]);
  assert.deepEqual(told(second({ 3: 0.1 }, { 2: 0.8 }), fallen).names, []);
});

test("2x that rose with 1x across the shaft alone may be a loose base's from 0.15 of it, and else from 0.2", () => {
  const first = (share: number, along: number): Lines => [
    { 1: 2.6, 2: 0.1 + 2 * share },
    { 1: 1 },
    { 1: 0.6 + 2 * along },
  ];
  assert.deepEqual(told(first(0.18, 0.5)).names, ["unbalance"]);
  assert.deepEqual(told(first(0.13, 0)).names, ["unbalance"]);
  const across = told(first(0.18, 0));
  assert.deepEqual(across.names, []);
  assert.ok(across.open.includes("unbalance") && across.open.includes("looseness"));
  // Where the axes are not stated, the one in which it rose least may lie along the shaft.
  const sensor = { ...around(RPM).sensor, channels: {} };
  assert.deepEqual(told(first(0.18, 0), { sensor }).names, []);
});

test("several orders from 4x on that rose with 2x may be a looseness that is too weak to be named", () => {
  const few = second({ 3: 0.4, 4: 0.6 }, { 2: 1.2, 5: 0.6 });
  assert.deepEqual(told(few).names, ["misalignment"]);
  const many = told(second({ 3: 0.4, 4: 0.6 }, { 2: 1.2, 5: 0.6, 7: 0.6 }));
  assert.deepEqual(many.names, []);
  assert.ok(many.open.includes("misalignment"));
  // One that stands goes on.
  const isHeld = (key: string) => key === "misalignment";
  const held = told(second({ 3: 0.4, 4: 0.6 }, { 2: 1.2, 5: 0.6, 7: 0.6 }), { isHeld });
  assert.ok(many.judged.includes("misalignment") && !held.judged.includes("misalignment"));
});

test("where twice the mains hides 2x, a named unbalance excludes no loose base", () => {
  const rpm = 2996;
  const reference = learned(0.6, 0.1, 0.1, rpm);
  const { names, cannot } = told([{ 1: 2.4 }, { 1: 1 }, { 1: 0.6 }], { reference }, rpm);
  assert.deepEqual(names, ["unbalance"]);
  const hidden = cannot.filter(({ reason }) => reason === "resolution_coarse");
  assert.ok(hidden.some(({ finding }) => finding === "looseness"));
});

test("what few readings showed at a speed that is not learned yet is no fault there", () => {
  const found = (few: Reference["speeds"]) =>
    told([{ 1: 2.2 }, { 1: 0.9 }, { 1: 0.5 }], {
      reference: { speeds: [...learned(0.5, 0.1, 0.1, 1250).speeds, ...few] },
    }).names;
  assert.deepEqual(found([]), ["unbalance"]);
  const seen = (first: number) =>
    learned(first, 0.1, 0.1).speeds.map((one) => ({ ...one, readings: 3 }));
  assert.deepEqual(found(seen(1.9)), []);
  assert.deepEqual(found(seen(0.6)), ["unbalance"]);
});

test("where the speed is 3 % wrong and 2x alone is seen beside it, orders are no bearing's", () => {
  const machine = { ...MACHINE, bearings: [{ point: 1, name: "B", bpfo: 3.05 }] };
  const at = (times: number, more: Lines[number] = {}) =>
    told([{ [2 * times]: 0.4, [3 * times]: 0.6, [6 * times]: 0.5, ...more }, { 1: 0.01 }, {}], {
      machine,
    });
  const { names, cannot } = at(1.03);
  assert.deepEqual(names, []);
  const why = cannot.find(({ finding }) => finding === "unbalance");
  assert.equal(why?.reason, "speed_doubtful");
  assert.match(why?.text ?? "", /speed of 1480 r\/min, but one at twice 1524 r\/min/);
  // Where 1x stands at the measured speed, such lines are the race's.
  assert.ok(at(1.03, { 1: 0.5 }).names.includes("bearing_outer_race"));
});

test("an order that a resonance raises does not hide the others of a looseness", () => {
  const others: Lines = [{ 1: 0.6, 5: 0.25, 8: 0.22 }, { 1: 0.6, 7: 0.25, 9: 0.22 }, { 1: 0.6 }];
  const [first = {}, ...rest] = others;
  const raised: Lines = [{ ...first, 3: 6 }, ...rest];
  assert.deepEqual(told(raised).names, ["looseness"]);
  // Nor do traces of many orders make one of it.
  const traces: Lines = [
    { 1: 0.6, 3: 2, 5: 1.5, 7: 0.12 },
    { 1: 0.6, 8: 0.12, 9: 0.12 },
    { 1: 0.6 },
  ];
  assert.deepEqual(told(traces).names, []);
});

test("orders of the measured speed are no bearing's where a neighbour's line was taken for the shaft", () => {
  const machine = { ...MACHINE, bearings: [{ point: 1, name: "B", bpfi: 7.05 }] };
  const at = (order: number) =>
    told([{ 1.006: 0.8, [order]: 0.7, [2 * order]: 0.2 }, {}, {}], { machine }).names;
  assert.deepEqual(at(7), []);
  assert.deepEqual(at(7.09), ["bearing_inner_race"]);
});
