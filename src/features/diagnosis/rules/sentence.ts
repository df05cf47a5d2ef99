/** The text of a finding for people, in one or two sentences. */

import type { EvidenceLine, FindingKind, Verdict } from "../../../core/diagnosis/finding.ts";
import { findingAction } from "../../../core/diagnosis/titles.ts";
import type { Machine } from "../../../core/machine.ts";
import type { Sensor } from "../../../core/sensor.ts";
import { shaftAt } from "../../../core/shaft.ts";
import { type FindingState, oftenText } from "./sensor-findings.ts";

const NAMES: Readonly<Record<FindingKind, string>> = {
  unbalance: "Unbalance",
  misalignment: "Misalignment",
  looseness: "Looseness",
  bearing_outer_race: "Outer-race damage",
  bearing_inner_race: "Inner-race damage",
  rolling_element: "Rolling-element damage",
  cage: "Cage damage",
  blade_pass: "Strong blade pass",
  gear_mesh: "Gear-mesh fault",
  electrical: "Electrical fault (twice the mains frequency)",
};

/** @param place machine and sensor by their names (`findingPlace`) */
export function findingSentence(
  verdict: Verdict,
  {
    inRow,
    recent,
    last,
  }: Pick<FindingState, "inRow" | "recent"> & Partial<Pick<FindingState, "last">>,
  machine: Machine,
  sensor: Pick<Sensor, "location">,
  place: string,
): string {
  const { finding, bearing, stage, level, unit, lines, normal } = verdict;
  const of = bearing === null ? "" : ` of bearing ${bearing}`;
  const row = inRow === 1 ? "one reading" : `${inRow} readings in a row`;
  const often = recent === undefined ? null : oftenText(finding, inRow, recent);
  const shaft = shaftAt(machine, sensor.location);
  const rpm = last === undefined ? "" : `, ${Math.round(last.speedRpm)} rpm`;
  const turning = shaft === null ? null : `${shaft.name}${rpm}`;
  return `${NAMES[finding]}${of} on ${place}, stage ${stage} of 3: ${evidence(lines, turning)}, together ${level.toPrecision(3)} ${unit} RMS${past(normal, unit)}, in ${often ?? row}. ${findingAction(finding, stage)}`;
}

/** What the machine's normal state was, for a fault that is compared with it. */
function past(normal: number | null | undefined, unit: string): string {
  if (normal === undefined) return "";
  if (normal === null) return " (without a learned normal state, it stays in stage 1)";
  return `, normally up to ${normal.toPrecision(2)} ${unit}`;
}

/** @param sensor in words */
export function endedSentence(
  finding: FindingKind,
  bearing: string | null,
  place: string,
  readings: number,
): string {
  const of = bearing === null ? "" : ` of bearing ${bearing}`;
  return `No longer found: ${NAMES[finding].toLowerCase()}${of} on ${place}, in ${readings} readings in a row.`;
}

/** Lines that are named individually. */
const NAMED_MAX = 3;

const ORDER = /^[\d.]+x$/;

/** Orders of the shaft by their level; a bearing's lines, blades and teeth begin with the one that names them. */
function strongestFirst(lines: readonly EvidenceLine[]): readonly EvidenceLine[] {
  return lines.every(({ name }) => ORDER.test(name))
    ? lines.toSorted((a, b) => b.amplitude - a.amplitude)
    : lines;
}

/** Of which lines, in words. @param turning another shaft than the measured one, that they are of */
export function evidence(lines: readonly EvidenceLine[], turning: string | null = null): string {
  const named = strongestFirst(lines)
    .slice(0, NAMED_MAX)
    .map(
      ({ name, hz, axis }, at) =>
        `${name}${at === 0 && turning !== null ? ` of the ${turning}` : ""} (${hz.toFixed(1)} Hz, ${axis})`,
    );
  const more = lines.length - named.length;
  const bands = lines.reduce((sum, { sideBands }) => sum + sideBands.length, 0);
  const rest = more > 0 ? ` and ${more} more line${more === 1 ? "" : "s"}` : "";
  const sides = bands > 0 ? ` with ${bands} side band${bands === 1 ? "" : "s"}` : "";
  const [first] = lines;
  return `${named.join(", ")}${rest}${sides} in the ${first?.spectrum ?? "velocity"} spectrum`;
}
