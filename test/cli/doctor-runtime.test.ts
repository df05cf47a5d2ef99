import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRuntime } from "../../src/cli/doctor-machine.ts";
import type { Finding } from "../../src/cli/finding.ts";

function runtime(version: string, now: string): Finding {
  const findings: Finding[] = [];
  checkRuntime((finding) => findings.push(finding), version, Date.parse(now));
  assert.equal(findings.length, 1);
  return findings[0] as Finding;
}

test("doctor – a runtime past its end of support is a warning with the date", () => {
  const found = runtime("20.20.2", "2026-11-22T00:00:00Z");
  assert.equal(found.state, "warning");
  assert.match(found.detail, /20\.20\.2.*2026-04-30/);
  assert.equal(runtime("20.20.2", "2026-04-30T12:00:00Z").state, "ok");
});

test("doctor – a supported runtime is shown with its end of support, and an unknown one is reported as unknown", () => {
  assert.match(runtime("24.1.0", "2026-11-22T00:00:00Z").detail, /until 2028-04-30/);
  const unknown = runtime("99.0.0", "2026-11-22T00:00:00Z");
  assert.equal(unknown.state, "ok");
  assert.match(unknown.detail, /is unknown/);
});
