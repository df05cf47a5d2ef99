/** Links from the evidence of a finding to the spectrum that shows it, with the markers of the part concerned. */

import type { EvidenceLine } from "../core/diagnosis/finding.ts";
import type { FindingView } from "../core/diagnosis/shown.ts";
import { bearingName, type Machine } from "../core/machine.ts";
import { linkTo } from "./place-link.ts";
import { markerSets } from "./spectrum-markers.ts";

const BEARING_PARTS: Readonly<Record<string, string>> = {
  bearing_outer_race: "BPFO",
  bearing_inner_race: "BPFI",
  rolling_element: "2×BSF",
  cage: "FTF",
};

/** The measurement, axis, spectrum and markers that show the line, with the cursor pinned to it. */
export function evidenceLink(
  finding: FindingView,
  line: EvidenceLine,
  machine: Machine | null,
): string {
  return linkTo("sensor", finding.sensor, {
    reading: finding.readingId,
    at: String(Date.parse(finding.lastSeen)),
    axis: String(line.channel),
    spectrum: line.spectrum === "velocity" ? null : "envelope",
    markers: markersOf(finding, machine),
    cursor: line.sideBands.length > 0 ? "sideband" : "harmonic",
    rpm: String(finding.speedRpm),
    hz: String(line.hz),
  });
}

/** Null for shaft orders, which are shown by default, also if the machine's data no longer has the part. */
export function markersOf(finding: FindingView, machine: Machine | null): string | null {
  const wanted = wantedMarkers(finding, machine);
  const keys = markerSets(machine, finding.point).map(({ key }) => key);
  return wanted.find((key) => keys.includes(key)) ?? null;
}

/** Most specific first. */
function wantedMarkers(
  { finding, bearing, point, evidence }: FindingView,
  machine: Machine | null,
) {
  const part = BEARING_PARTS[finding];
  if (part !== undefined) {
    // Bearings at other points may have the same name.
    const at = (machine?.bearings ?? []).findIndex(
      (one, i) => one.point === point && bearingName(one, i) === bearing,
    );
    return [`bearing-${at}-${part}`, `bearing-${at}`];
  }
  if (finding === "blade_pass") return ["blades"];
  if (finding === "electrical") return ["mains"];
  // The first line is the mesh frequency of one of the wheels.
  if (finding === "gear_mesh") return [`mesh-${Math.round(evidence[0]?.order ?? 0)}`];
  return [];
}
