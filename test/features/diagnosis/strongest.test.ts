/** Sentences name the strongest lines, and what they may be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Machine } from "../../../src/core/machine.ts";
import { judge } from "../../../src/features/diagnosis/rules/judge.ts";
import { evidence } from "../../../src/features/diagnosis/rules/sentence.ts";
import { around, shaftRecord } from "./support.ts";

const RPM = 1480;
const MACHINE: Machine = { id: 40, speed: { sensor: "50021" } };
type Lines = Readonly<Record<number, number>>;

function saidOf(lines: Lines, machine: Machine = MACHINE): string {
  const low = Object.fromEntries(Object.entries(lines).map(([order, mmS]) => [order, 0.4 * mmS]));
  const { cannot } = judge(shaftRecord(RPM, [lines, low, low]), around(RPM, { machine }));
  return (
    cannot.find(({ reason, text }) => reason === "ambiguous" && /fit no fault/.test(text))?.text ??
    ""
  );
}

test("a line that fits no fault is told by the strongest, also where that may be the mains', and by two beside it", () => {
  // Twice 1,480 r/min is near 50 Hz, 4x near 100.
  const text = saidOf({ 1: 0.5, 3: 3.7, 4: 11.8, 5: 3.2, 6: 2.9 });
  assert.match(text, /^4x stands at 12 mm\/s RMS in axis H \(beside it 3x 3\.7, 5x 3\.2\)/);
});

test("multiples of a number of lobes are said to be that, not wrong axes", () => {
  const lobes = { 1: 0.6, 2: 0.2, 3: 6, 4: 0.3, 5: 0.2, 6: 1.4, 7: 0.1, 9: 0.8 };
  assert.match(
    saidOf(lobes),
    /^3x stands at 6\.0 .* With 6x it is what blades, lobes or teeth show that pass 3 times in a turn/,
  );
  // Without its double it may be anything.
  assert.match(saidOf({ 1: 0.6, 3: 6, 5: 0.2 }), /Check that the site file states the axes/);
});

test("the sentence of a finding of the shaft names its strongest lines first", () => {
  const line = (name: string, hz: number, amplitude: number) => ({
    name,
    spectrum: "velocity" as const,
    channel: 1,
    axis: "H" as const,
    hz,
    order: 1,
    amplitude,
    unit: "mm/s" as const,
    ratio: 10,
    sideBands: [],
  });
  const shaft = [line("1x", 25, 1), line("2x", 50, 5), line("0.5x", 12.5, 0.3), line("5x", 125, 4)];
  assert.match(evidence(shaft), /^2x \(50\.0 Hz, H\), 5x .*, 1x .* and 1 more line /);
  const race = [line("BPFO", 90, 1), line("2 × BPFO", 180, 2)];
  assert.match(evidence(race), /^BPFO /);
});
