import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, uplinkMetrics } from "../../src/lib/metrics.ts";
import { DeliveryReport } from "../../src/publish/delivery-report.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { storedReading } from "../support/memory-outbox.ts";

test("oversize – one log line a minute per class of topic, with the number of others; every one is counted", async () => {
  const clock = new ManualClock();
  const lines: Record<string, unknown>[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields: object) => void lines.push({ ...fields }),
  };
  const report = new DeliveryReport({
    logger,
    clock,
    metrics: uplinkMetrics(createMetrics(), "main"),
  });
  let seq = 0;
  const oversize = (live: boolean, count: number) => {
    for (let i = 0; i < count; i++) {
      seq += 1;
      const reading = storedReading(seq, { id: String(seq).padStart(32, "0") });
      const message = { topic: `t/${seq}`, payload: "", qos: 1, retain: false } as const;
      const answer = { result: "oversize", bytes: 10, limitBytes: 5 } as const;
      report.judge("waveform", { reading, live }, message, answer);
    }
  };
  oversize(false, 500);
  oversize(true, 3);
  assert.equal(lines.length, 2, "history and live are distinguished");
  assert.equal(lines[0]?.["others"], undefined);
  await clock.advance(60_000);
  oversize(false, 10);
  assert.equal(lines.length, 3);
  assert.equal(lines[2]?.["others"], 499);
  assert.equal(report.failures["oversize"], 513);
});
