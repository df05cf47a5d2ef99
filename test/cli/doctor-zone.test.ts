import assert from "node:assert/strict";
import { test } from "node:test";
import { checkZone } from "../../src/cli/doctor-zone.ts";
import type { Finding } from "../../src/cli/finding.ts";

const SUMMER_MS = Date.UTC(2026, 6, 1, 12);

function zoneFindings(zone: string, offsets: readonly (number | null)[]): Finding[] {
  const findings: Finding[] = [];
  const readings = offsets.map((offsetMinutes, i) => ({
    sensor: `${100 + i}`,
    timeMs: SUMMER_MS,
    offsetMinutes,
  }));
  checkZone(zone, readings, (finding) => findings.push(finding));
  return findings;
}

test("doctor – a zone that no record agrees with is an error that names the setting", () => {
  const [finding, ...more] = zoneFindings("Europe/Berlin", [480, 480, null]);
  assert.deepEqual(more, []);
  assert.equal(finding?.state, "failed");
  assert.match(
    finding.detail,
    /GATEWAY_TIMEZONE Europe\/Berlin is UTC\+0200 .*100, 101 have UTC\+0800/,
  );
});

test("doctor – a single sensor that differs is a warning about that sensor", () => {
  const [finding] = zoneFindings("Europe/Berlin", [120, 120, 60]);
  assert.equal(finding?.state, "warning");
  assert.match(finding.detail, /records of 102 have UTC\+0100/);
});

test("doctor – records without an offset prove nothing about the zone; matching ones confirm it", () => {
  assert.deepEqual(zoneFindings("Europe/Berlin", [null]), []);
  assert.equal(zoneFindings("Europe/Berlin", [120])[0]?.state, "ok");
});
