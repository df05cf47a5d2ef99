import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvidenceLine } from "../../src/core/diagnosis/finding.ts";
import type { FindingView } from "../../src/core/diagnosis/shown.ts";
import { evidenceLink } from "../../src/dashboard/evidence-link.ts";
import { parsePlace } from "../../src/dashboard/place-link.ts";
import { markerSets } from "../../src/dashboard/spectrum-markers.ts";

const geometry = { balls: 9, ballMm: 7.94, pitchMm: 39.04 };
const machine = {
  id: 7,
  lineHz: 50,
  blades: 6,
  teeth: [23, 67],
  bearings: [
    { point: 2, name: "6205", ...geometry },
    { point: 1, name: "6205", ...geometry },
    { point: 1, bpfo: 3.58 },
  ],
};
const line: EvidenceLine = {
  name: "BPFO",
  spectrum: "envelope",
  channel: 2,
  axis: "V",
  hz: 89.5,
  order: 3.58,
  amplitude: 0.2,
  unit: "GE",
  ratio: 8,
  sideBands: [],
};

function found(
  finding: FindingView["finding"],
  bearing: string | null = null,
  evidence = [line],
): FindingView {
  return {
    id: "f1",
    finding,
    bearing,
    sensor: "a/1",
    point: 1,
    stage: 1,
    worstStage: 1,
    raised: "2026-01-01T00:00:00Z",
    since: "2026-01-01T00:00:00Z",
    lastSeen: "2026-01-02T00:00:00Z",
    readingId: "r1",
    inRow: 3,
    speedRpm: 1500,
    level: 0.2,
    unit: "GE",
    limit: 0.05,
    evidence,
    text: "",
  };
}

const query = (finding: FindingView, of: Parameters<typeof evidenceLink>[2] = machine) =>
  parsePlace(evidenceLink(finding, finding.evidence[0] ?? line, of)).query;

/** The label that the sensor's page shows for the markers of a link. */
function markers(finding: FindingView, of = machine): string | undefined {
  const key = query(finding, of).get("markers");
  return markerSets(of, finding.point).find((set) => set.key === key)?.label;
}

test("evidence – a line of a bearing opens the envelope spectrum of its measurement and axis", () => {
  const { view, subject, query } = parsePlace(
    evidenceLink(found("bearing_outer_race", "6205"), line, machine),
  );
  assert.deepEqual([view, subject], ["sensor", "a/1"]);
  assert.deepEqual(Object.fromEntries(query), {
    reading: "r1",
    at: "1767312000000",
    axis: "2",
    spectrum: "envelope",
    markers: "bearing-1-BPFO",
    cursor: "harmonic",
    rpm: "1500",
    hz: "89.5",
  });
});

test("evidence – the markers are those of the part that is damaged, on the bearing at the sensor's point", () => {
  assert.equal(markers(found("bearing_outer_race", "6205")), "Bearing 6205, point 1: BPFO");
  assert.equal(markers(found("bearing_inner_race", "6205")), "Bearing 6205, point 1: BPFI");
  assert.equal(markers(found("rolling_element", "6205")), "Bearing 6205, point 1: 2×BSF");
  assert.equal(markers(found("cage", "6205")), "Bearing 6205, point 1: FTF");
  assert.equal(query(found("cage", "6205")).get("markers"), "bearing-1-FTF");
  // Without a name, a finding numbers it by its place in the list.
  assert.equal(query(found("bearing_outer_race", "bearing 3")).get("markers"), "bearing-2-BPFO");
});

test("evidence – blades, gears and mains have their own markers, the shaft's findings those of its orders", () => {
  const velocity = { ...line, spectrum: "velocity" as const };
  const of = (finding: FindingView["finding"], order: number) =>
    markers(found(finding, null, [{ ...velocity, order }]));
  assert.equal(of("blade_pass", 6), "Blade pass");
  assert.equal(of("gear_mesh", 67.02), "Gear mesh, 67 teeth");
  assert.equal(of("electrical", 4.03), "Mains");
  for (const finding of ["unbalance", "misalignment", "looseness"] as const) {
    const asked = query(found(finding, null, [{ ...velocity, order: 1 }]));
    // The first choice of the page.
    assert.equal(asked.has("markers"), false);
    assert.equal(asked.has("spectrum"), false);
  }
  assert.equal(markerSets(machine, 1)[0]?.label, "Shaft orders");
});

test("evidence – a part that is no longer in the site file leaves the shaft's orders", () => {
  const { bearings: _, ...bare } = machine;
  const finding = found("bearing_outer_race", "6205");
  assert.equal(query(finding, bare).has("markers"), false);
  assert.equal(query(finding, null).has("markers"), false);
  // The part's frequency is not known, but the bearing is there.
  const cage = query(found("cage", "bearing 3"));
  assert.equal(cage.get("markers"), "bearing-2");
});
