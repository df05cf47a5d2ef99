import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, uplinkMetrics } from "../../../src/lib/metrics.ts";
import { DeliveryReport } from "../../../src/pipeline/publish/delivery-report.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { storedReading } from "../../support/memory-outbox.ts";

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

test("refused – a quota that is used up is a warning, what somebody must change is an error", () => {
  const lines: string[] = [];
  const write = (level: string) => (fields: object) =>
    void lines.push(`${level} ${Reflect.get(fields, "reason")}`);
  const report = new DeliveryReport({
    logger: { debug: () => {}, info: () => {}, warn: write("warn"), error: write("error") },
    clock: new ManualClock(),
    metrics: uplinkMetrics(createMetrics(), "main"),
  });
  for (const code of [0x97, 0x87, 0x87]) {
    const message = { topic: "t", payload: "", qos: 1, retain: false } as const;
    const entry = { reading: storedReading(1, { id: "1".padStart(32, "0") }), live: true };
    assert.equal(report.judge("json", entry, message, { result: "refused", code }), "refused");
  }
  assert.deepEqual(lines, ["warn quota_exceeded", "error not_authorized"]);
});

test("delivered – what the broker acknowledged is counted by lane once a burst is over", async () => {
  const metrics = createMetrics();
  const report = new DeliveryReport({
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    clock: new ManualClock(),
    metrics: uplinkMetrics(metrics, "main"),
  });
  const message = { topic: "t", payload: "", qos: 1, retain: false } as const;
  const entry = { reading: storedReading(1, { id: "1".padStart(32, "0") }), live: true };
  for (const lane of ["json", "json", "plain"] as const)
    assert.equal(report.judge(lane, entry, message, { result: "delivered" }), "sent");
  report.flush();
  const { values } = await metrics.laneDelivered.get();
  assert.deepEqual(
    values.map(({ labels, value }) => [labels["lane"], value]),
    [
      ["json", 2],
      ["plain", 1],
    ],
  );
});
