import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { NO_TIMES } from "../../../src/core/time/recent-times.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { GatewayClock } from "../../../src/pipeline/poll/gateway-clock.ts";
import { Poller } from "../../../src/pipeline/poll/poller.ts";

const DAYS = 8;

/** CPU that planning and scheduling take, ms, until every sensor's open days were read once; the reads themselves cost nothing. */
async function firstStartMs(count: number, startMs: number): Promise<number> {
  const kinds = ["rpm"] as const;
  const sensors: Sensor[] = Array.from({ length: count }, (_, n) => ({
    code: String(10_000 + n),
    type: 40,
    kinds,
    channels: {},
  }));
  const stop = new AbortController();
  let nowMs = startMs;
  let reads = 0;
  const clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    sleep: () => new Promise<void>((resolve) => setImmediate(resolve)),
  };
  const poller = new Poller(
    {
      memory: { get: () => null, set: () => {} },
      readDay: (request) => {
        reads += 1;
        // The clock moves on over the whole start, as it does at a gateway with two places.
        nowMs += 20_000 / count;
        request.gatewayNow(nowMs);
        if (reads >= count * DAYS) stop.abort();
        return Promise.resolve({
          ok: true,
          durationMs: 1,
          stored: 1,
          known: 0,
          newTimesMs: [nowMs - 1_000],
          // Each stream's first response reveals the offset of its records.
          offsetMinutes: 60,
        });
      },
      gatewayClock: new GatewayClock(clock),
      clock,
      logger: silentLogger,
      newestTimeMs: () => null,
      recentTimes: (streams) => streams.map(() => NO_TIMES),
      readOn: () => () => false,
    },
    {
      zone: "Europe/Berlin",
      lateGraceMs: 7_200_000,
      backfillDays: DAYS - 1,
      intervalMs: 3_600_000,
      concurrency: 2,
    },
    fixedSite({ site: "plant", sensors }),
  );
  const before = process.cpuUsage();
  await poller.run(stop.signal);
  const { user, system } = process.cpuUsage(before);
  assert.ok(reads >= count * DAYS);
  return (user + system) / 1_000;
}

for (const [name, start] of [
  ["on an ordinary day", "2026-11-20T12:00:00Z"],
  ["while the clocks change", "2026-03-29T00:59:30Z"],
] as const) {
  test(`first start – ten times the sensors take no more than twelve times the CPU, ${name}`, async () => {
    const startMs = Date.parse(start);
    await firstStartMs(100, startMs);
    const small = await firstStartMs(200, startMs);
    const large = await firstStartMs(2_000, startMs);
    assert.ok(large <= 12 * small, `200 sensors ${small} ms, 2,000 sensors ${large} ms`);
  });
}
