import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRuntime } from "../../src/cli/doctor-runtime.ts";
import type { Finding } from "../../src/cli/finding.ts";

function runtime(version: string, now: string): Finding {
  const findings: Finding[] = [];
  checkRuntime((finding) => findings.push(finding), version, Date.parse(now));
  assert.equal(findings.length, 1);
  return findings[0] as Finding;
}

test("doctor – a runtime past the end of its support is a warning with its date", () => {
  const found = runtime("20.20.2", "2026-11-22T00:00:00Z");
  assert.equal(found.state, "warning");
  assert.match(found.detail, /20\.20\.2.*2026-04-30/);
  assert.equal(runtime("20.20.2", "2026-04-30T12:00:00Z").state, "ok");
});

test("doctor – a supported runtime is shown with the day until which it is, an unknown one as such", () => {
  assert.match(runtime("24.1.0", "2026-11-22T00:00:00Z").detail, /until 2028-04-30/);
  const unknown = runtime("99.0.0", "2026-11-22T00:00:00Z");
  assert.equal(unknown.state, "ok");
  assert.match(unknown.detail, /not known/);
});
