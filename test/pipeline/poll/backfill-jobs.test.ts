import assert from "node:assert/strict";
import { test } from "node:test";
import { fixedSite } from "../../../src/core/site-source.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { BackfillJob } from "../../../src/pipeline/poll/backfill-job.ts";
import { createBackfillJobs } from "../../../src/pipeline/poll/backfill-jobs.ts";

function jobs(canReread: boolean) {
  return createBackfillJobs({
    site: fixedSite({
      site: "plant",
      sensors: [{ code: "0123", type: 40, kinds: ["rpm"], channels: {} }],
    }),
    clock: systemClock,
    gatewayNow: () => Date.UTC(2026, 10, 20, 12),
    zone: "UTC",
    canReread: () => canReread,
    read: (days) => new BackfillJob(days.length),
  });
}

test("backfill – one of which no day may be read has failed, and says why", () => {
  const start = jobs(false).start({ from: "2026-11-01", to: "2026-11-02", sensor: null });
  assert.ok(start.accepted);
  assert.equal(start.progress.state, "failed");
  assert.match(start.progress.notes[0] ?? "", /could be sent twice/);
});

test("backfill – leading zeros of a code do not count", () => {
  const start = jobs(true).start({ from: "2026-11-01", to: "2026-11-02", sensor: "123" });
  assert.ok(start.accepted);
  assert.equal(start.progress.reads.total, 2);
});
