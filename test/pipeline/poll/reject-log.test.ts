import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { openGate } from "../../../src/lib/secrets.ts";
import { RejectLog } from "../../../src/pipeline/poll/reject-log.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

test("rejected records – every one is counted, each problem of a sensor is logged once", async () => {
  const logger = new RecordingLogger();
  const metrics = createMetrics();
  const rejects = new RejectLog(logger, metrics, openGate);
  const key = { sensor: "10234", kind: "rpm", day: "2026-11-20" } as const;
  for (let read = 0; read < 3; read++) rejects.add(key, "no_time", "time_data is missing");
  rejects.add({ ...key, day: "2026-11-21" }, "no_time", "time_data is missing");
  rejects.add(key, "foreign_record", "it names 555");
  rejects.add({ ...key, sensor: "20871" }, "no_time", "time_data is missing");
  const warned = logger.lines.filter(({ level }) => level === "warn");
  assert.deepEqual(
    warned.map(({ fields }) => fields),
    [
      { ...key, reason: "no_time", detail: "time_data is missing" },
      { ...key, reason: "foreign_record", detail: "it names 555" },
      { ...key, sensor: "20871", reason: "no_time", detail: "time_data is missing" },
    ],
  );
  const { values } = await metrics.rejected.get();
  const counted = Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]));
  assert.equal(counted["no_time"], 5);
  assert.equal(counted["foreign_record"], 1);
});
