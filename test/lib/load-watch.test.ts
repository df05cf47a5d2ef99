import assert from "node:assert/strict";
import { test } from "node:test";
import type { Logger } from "../../src/core/ports.ts";
import { LoadWatch } from "../../src/lib/load-watch.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { LoopDelay } from "../../src/lib/loop-delay.ts";
import { ManualClock } from "../support/manual-clock.ts";

const MB = 1_000_000;

/** A watch over a loop and a memory that the test sets. */
function watchOf() {
  const clock = new ManualClock();
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (_, text) => lines.push(`info ${text}`),
    warn: (_, text) => lines.push(`warn ${text}`),
  };
  const load = { delayS: 0, used: 100 * MB, limit: (256 * MB) as number | null, isSampling: false };
  const watch = new LoadWatch({
    clock,
    logger,
    sensors: () => 2000,
    loopDelay: {
      start: () => {
        load.isSampling = true;
      },
      stop: () => {
        load.isSampling = false;
      },
      nextWindow: () => load.delayS,
    },
    memory: () => load,
  });
  const minutes = async (count: number) => {
    for (let n = 0; n < count; n++) await clock.advance(60_000);
    return lines.splice(0);
  };
  return { watch, load, minutes };
}

test("load watch – five slow minutes in a row are logged once, and so is their end", async () => {
  const { watch, load, minutes } = watchOf();
  const ending = new AbortController();
  const run = watch.run(ending.signal);
  load.delayS = 1.2;
  assert.deepEqual(await minutes(4), []);
  load.delayS = 0.1;
  assert.deepEqual(await minutes(1), [], "a backfill");
  load.delayS = 1.2;
  const [line, ...others] = await minutes(30);
  assert.match(line ?? "", /^warn not enough CPU time for this load.*raise POLL_INTERVAL_S/);
  assert.deepEqual(others, []);
  load.delayS = 0.1;
  assert.deepEqual(await minutes(3), ["info enough CPU time again"]);
  ending.abort();
  await run;
  assert.equal(load.isSampling, false);
});

test("load watch – memory near the limit of the control group is logged once", async () => {
  const { watch, load, minutes } = watchOf();
  const ending = new AbortController();
  const run = watch.run(ending.signal);
  assert.deepEqual(await minutes(2), []);
  load.used = 235 * MB;
  const [line, ...others] = await minutes(3);
  assert.match(line ?? "", /^warn memory is close to the limit/);
  load.used = 220 * MB;
  assert.deepEqual([...others, ...(await minutes(3))], [], "not well below it yet");
  load.used = 190 * MB;
  assert.match((await minutes(3)).join(), /^info memory is well below/);
  load.used = 999 * MB;
  load.limit = null;
  assert.deepEqual(await minutes(1), [], "no limit");
  ending.abort();
  await run;
});

test("loop delay – a blocked event loop is in this window and the next, and then gone", async () => {
  const delay = new LoopDelay();
  const max = () => delay.quantiles().find(({ quantile }) => quantile === "max")?.seconds ?? 0;
  delay.start();
  try {
    // The sampler notices the delay at its next timer: each turn of this loop is late.
    for (const end = performance.now() + 60_000; max() < 0.5 && performance.now() < end; ) {
      const blockedUntil = performance.now() + 800;
      while (performance.now() < blockedUntil);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(max() >= 0.5, `${max()} s`);
    delay.nextWindow();
    assert.ok(max() >= 0.5, "the last window still counts");
    delay.nextWindow();
    assert.ok(max() < 0.5);
  } finally {
    delay.stop();
  }
});
