import assert from "node:assert/strict";
import { test } from "node:test";
import { Cadence } from "../../../src/pipeline/poll/cadence.ts";

const MINUTE = 60_000;

/** A sensor that records every `periodMs` and shows each record `lagMs(n)` later; returns requests and delays. */
function follow(
  periodMs: number,
  lagMs: (n: number) => number,
  records: number,
  intervalMs: number,
) {
  const cadence = new Cadence();
  const start = 1_760_000_000_000;
  const visibleAt = (n: number) => start + n * periodMs + lagMs(n);
  let now = start + 3 * periodMs + 1_000;
  let seen = 0;
  const delays: number[] = [];
  let requests = 0;
  let isFirst = true;
  let counted = 0;
  while (seen < records) {
    const fresh: number[] = [];
    while (visibleAt(seen) <= now) {
      fresh.push(start + seen * periodMs);
      if (seen > 20) delays.push(now - visibleAt(seen));
      seen += 1;
    }
    if (seen > 20) requests += 1;
    if (seen > 20) counted += fresh.length;
    cadence.observe(now, fresh, isFirst);
    isFirst = false;
    now = Math.max(now + 50, Math.min(cadence.nextReadMs(now) ?? Infinity, now + intervalMs));
  }
  delays.sort((a, b) => a - b);
  return {
    requestsPerRecord: requests / counted,
    median: delays[Math.floor(delays.length / 2)] ?? 0,
    p95: delays[Math.floor(delays.length * 0.95)] ?? 0,
  };
}

test("cadence – a regular sensor is read once per record, within seconds of the record becoming visible", () => {
  for (const lag of [500, 4_000, 20_000]) {
    const { requestsPerRecord, median, p95 } = follow(10 * MINUTE, () => lag, 400, 60 * MINUTE);
    assert.ok(requestsPerRecord <= 1.3, `lag ${lag}: ${requestsPerRecord} requests per record`);
    assert.ok(median <= 5_000 && p95 <= 15_000, `lag ${lag}: ${median} and ${p95} ms late`);
  }
});

test("cadence – a radio delay that varies by seconds is followed too", () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  const lags = Array.from({ length: 1_000 }, () => 1_000 + 6_000 * random());
  const { requestsPerRecord, median, p95 } = follow(
    10 * MINUTE,
    (n) => lags[n] ?? 1_000,
    600,
    60 * MINUTE,
  );
  assert.ok(requestsPerRecord <= 1.3, `${requestsPerRecord} requests per record`);
  assert.ok(median <= 5_000 && p95 <= 15_000, `${median} and ${p95} ms late`);
});

test("cadence – nothing is predicted before three records", () => {
  const cadence = new Cadence();
  cadence.observe(1_000_000, [100_000, 160_000], true);
  assert.equal(cadence.nextReadMs(1_000_000), null);
  cadence.observe(1_060_000, [220_000], false);
  assert.equal(cadence.periodMs, 60_000);
});

test("cadence – a sensor that is set to another interval is followed after five records, however long it had the earlier one", () => {
  const cadence = new Cadence();
  let now = 1_000_000_000;
  const records = (count: number, periodMs: number) => {
    for (let n = 0; n < count; n++) {
      now += periodMs;
      cadence.observe(now, [now], false);
    }
  };
  records(100, 10 * MINUTE);
  assert.equal(cadence.periodMs, 10 * MINUTE);
  records(5, MINUTE);
  assert.equal(cadence.periodMs, MINUTE);
});

test("cadence – how late the first read finds a record says nothing of when records become visible", () => {
  const timesMs = [880_000, 940_000, 1_000_000];
  const read = new Cadence();
  read.observe(1_050_000, timesMs, true);
  const remembered = new Cadence();
  remembered.seed(1_000_000, { timesMs, cameSingly: true, offsetMinutes: null });
  assert.equal(read.nextReadMs(1_050_000), remembered.nextReadMs(1_050_000));
});

test("cadence – a sensor that fell silent is not polled every few seconds", () => {
  const cadence = new Cadence();
  let now = 10_000_000;
  cadence.observe(now, [9_000_000, 9_600_000 - 300_000, 9_900_000], true);
  let reads = 0;
  const end = now + 6 * 3_600_000;
  while (now < end) {
    now = Math.max(now + 50, cadence.nextReadMs(now) ?? now + 3_600_000);
    cadence.observe(now, [], false);
    reads += 1;
  }
  assert.ok(reads < 6 * 12 * 3, `${reads} reads in six hours of silence`);
});

test("cadence – a late record older than the newest changes nothing", () => {
  const cadence = new Cadence();
  cadence.observe(1_000_000, [700_000, 800_000, 900_000], true);
  cadence.observe(1_010_000, [750_000], false);
  assert.equal(cadence.periodMs, 100_000);
  assert.equal(cadence.newestMs, 900_000);
});

/** Reads at these times, each with the records that came since. */
function observed(reads: readonly (readonly [atMs: number, recordsMs: readonly number[]])[]) {
  const cadence = new Cadence();
  for (const [index, [atMs, recordsMs]] of reads.entries()) {
    cadence.observe(atMs, recordsMs, index === 0);
  }
  return cadence;
}

test("cadence – the next record is expected after the period, however often the day is read", () => {
  const at = (n: number) => 1_760_000_000_000 + n * MINUTE;
  const steady = Array.from({ length: 20 }, (_, n) => [at(n) + 2_000, [at(n)]] as const);
  assert.equal(observed(steady).expectedMs, MINUTE);
  const often = steady.flatMap(([ms, records]) => [
    [ms, records] as const,
    [ms + 9_000, []] as const,
  ]);
  assert.equal(observed(often).expectedMs, MINUTE);
});

test("cadence – a sensor that delivers ten records at once is expected with its next batch", () => {
  const at = (n: number) => 1_760_000_000_000 + n * MINUTE;
  const batch = (n: number) =>
    [at(10 * n), Array.from({ length: 10 }, (_, k) => at(10 * n - k))] as const;
  const batches = Array.from({ length: 6 }, (_, n) => batch(n));
  const cadence = observed(batches);
  assert.equal(cadence.periodMs, MINUTE);
  assert.equal(cadence.expectedMs, 10 * MINUTE);
  // An hour without an answer is no rhythm.
  assert.equal(observed([batch(0), batch(6), batch(7)]).expectedMs, 10 * MINUTE);
});

test("cadence – a clock that is set back while records are missing delays no read by more than a period", () => {
  const cadence = new Cadence();
  const start = 1_760_000_000_000;
  let now = start;
  for (let n = 0; n < 4; n += 1) {
    now = start + n * 10 * MINUTE;
    cadence.observe(now, [now], n === 0);
  }
  for (let n = 0; n < 14; n += 1) {
    now += 10 * MINUTE;
    cadence.observe(now, [], false);
  }
  now -= 420 * MINUTE;
  assert.ok((cadence.nextReadMs(now) ?? 0) <= now + 10 * MINUTE);
});
