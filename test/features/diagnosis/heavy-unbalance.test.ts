/** An unbalance so heavy that clearances answer to it with harmonics. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Machine } from "../../../src/core/machine.ts";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { learn, type Reference } from "../../../src/features/diagnosis/rules/reference.ts";
import { around, shaftRecord } from "./support.ts";

type Lines = Readonly<Record<number, number>>;
const RPM = 1480;
/** Without blades: every order is the shaft's own. */
const FAN: Machine = { id: 40, lineHz: 50, speed: { sensor: "50021" } };
const NORMAL: Lines = { 1: 0.5, 2: 0.2, 3: 0.1, 4: 0.05, 5: 0.1, 6: 0.04 };

function normalState(lines: Lines): Reference | null {
  let reference: Reference | null = null;
  for (let i = 0; i < 12; i++) {
    const { levels } = judge(
      shaftRecord(RPM, [lines, lines, lines]),
      around(RPM, { machine: FAN }),
    );
    reference = learn(reference, levels, RPM);
  }
  return reference;
}

const PAST = normalState(NORMAL);

/** Of one record: what it shows, and what it cannot tell. */
function told(
  axes: readonly Lines[],
  isHeld: (key: string) => boolean = () => false,
  fullRpm: (key: string) => number | null = () => null,
) {
  const { verdicts, cannot } = judge(
    shaftRecord(RPM, axes),
    around(RPM, { machine: FAN, reference: PAST, isHeld, fullRpm }),
  );
  const ambiguous = cannot.filter(({ reason }) => reason === "ambiguous");
  return {
    named: verdicts.map(({ finding }) => finding),
    open: [...new Set(ambiguous.map(({ finding }) => finding))].toSorted(),
  };
}

const scaled = (lines: Lines, by: number): Lines =>
  Object.fromEntries(Object.entries(lines).map(([order, mmS]) => [order, by * mmS]));

test("1x that rose twentyfold is an unbalance first, whatever harmonics rose with it, and those are said", () => {
  const first: Lines = { ...NORMAL, 1: 10 };
  const withSecond: Lines = { ...first, 2: 3.2 };
  const withMany: Lines = { ...first, 2: 1.5, 3: 1.2, 4: 1, 5: 3.4, 6: 0.9, 7: 0.9, 8: 0.8 };
  for (const lines of [withSecond, withMany]) {
    const axes = [lines, scaled(lines, 0.7), scaled(lines, 0.3)];
    assert.deepEqual(told(axes), { named: ["unbalance"], open: ["looseness", "misalignment"] });
  }
});

test("a looseness that the last readings showed before 1x grew so strong is no unbalance", () => {
  const lines: Lines = { ...NORMAL, 1: 10, 2: 2.4, 3: 1.2, 5: 1.2, 6: 0.9, 7: 0.9, 8: 0.8 };
  const axes = [lines, scaled(lines, 0.7), scaled(lines, 0.3)];
  assert.deepEqual(told(axes).named, ["unbalance"]);
  const seen = (key: string) => (key === "looseness" ? RPM : null);
  assert.deepEqual(told(axes, () => false, seen).named, []);
});

test("5x alone, raised by a resonance, makes no looseness of an unbalance; below C/D it may be either", () => {
  const harmonics: Lines = { 3: 0.4, 4: 0.35, 5: 1.6, 6: 0.35, 7: 0.35 };
  const of = (first: number) => {
    const lines: Lines = { ...NORMAL, ...harmonics, 1: first };
    return told([lines, scaled(lines, 0.7), NORMAL]);
  };
  assert.deepEqual(of(4.7), { named: ["unbalance"], open: ["looseness"] });
  assert.deepEqual(of(3.9), { named: [], open: ["looseness", "unbalance"] });
});

test("it is not named first below C/D, below fourfold, or with less than 0.8 of the power of what rose", () => {
  const pair = (first: number, second: number, along = 0.3): readonly Lines[] => {
    const lines = { ...NORMAL, 1: first, 2: second };
    return [lines, scaled(lines, 0.7), scaled(lines, along)];
  };
  assert.deepEqual(told(pair(4.4, 1.6)).named, []);
  assert.deepEqual(told(pair(4.6, 1.6)).named, ["unbalance"]);
  // 0.45 of the power.
  assert.deepEqual(told(pair(10, 11, 0.6)).named, ["misalignment"]);
});

test("a looseness that stands goes on beside a 1x that rises", () => {
  const lines: Lines = { ...NORMAL, 1: 10, 2: 1.5, 3: 3, 4: 2.6, 5: 2.4, 6: 2.2, 7: 2 };
  const held = told([lines, scaled(lines, 0.7), scaled(lines, 0.3)], (key) => key === "looseness");
  assert.ok(held.named.includes("looseness"));
});
