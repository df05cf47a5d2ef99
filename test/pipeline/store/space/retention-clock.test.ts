import assert from "node:assert/strict";
import { test } from "node:test";
import { RetentionClock } from "../../../../src/pipeline/store/space/retention-clock.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;
const START = Date.parse("2026-11-20T12:00:00Z");

function bench() {
  const meta = new Map<string, string>();
  const logger = new RecordingLogger();
  const time = { box: START, monotonic: 0, gateway: null as number | null };
  const make = () =>
    new RetentionClock({
      clock: {
        now: () => time.box,
        monotonic: () => time.monotonic,
        sleep: () => Promise.resolve(),
      },
      meta: {
        get: (name) => meta.get(name) ?? null,
        set: (name, value) => void meta.set(name, value),
      },
      logger,
      gatewayNow: () => time.gateway,
    });
  return {
    time,
    logger,
    make,
    pass(ms: number) {
      time.box += ms;
      time.monotonic += ms;
      if (time.gateway !== null) time.gateway += ms;
    },
  };
}

test("retention clock – a start with the clock 40 days ahead ages readings by at most a day, and logs it", () => {
  const { time, make, pass, logger } = bench();
  make().now();
  time.box += 40 * DAY;
  const clock = make();
  for (let minute = 0; minute < 59; minute += 10) {
    assert.ok(clock.now() <= START + DAY + HOUR, `after ${minute} min`);
    pass(600_000);
  }
  assert.match(logger.text, /the clock jumped ahead/);
  assert.equal(logger.lines.length, 1);
});

test("retention clock – the gateway's clock is used if there is one, whatever the box says", () => {
  const { time, make } = bench();
  make().now();
  time.box += 40 * DAY;
  time.gateway = START + HOUR;
  assert.equal(make().now(), START + HOUR);
});

test("retention clock – a gateway that jumps ahead alone is not believed at once", () => {
  const { time, make } = bench();
  make().now();
  time.gateway = START + 400 * DAY;
  assert.ok(make().now() <= START + DAY);
});

test("retention clock – a box that was off for 40 days is believed as soon as the gateway agrees", () => {
  const { time, make } = bench();
  make().now();
  time.box += 40 * DAY;
  time.gateway = time.box + 5_000;
  assert.equal(make().now(), time.gateway);
});

test("retention clock – without a gateway a new time is believed after an hour", () => {
  const { time, make, pass } = bench();
  make().now();
  time.box += 40 * DAY;
  const clock = make();
  clock.now();
  pass(HOUR);
  assert.equal(clock.now(), time.box);
});

test("retention clock – a process that runs for weeks sees no jump, and a clock set back is followed", () => {
  const { time, make, pass } = bench();
  const clock = make();
  for (let day = 0; day < 30; day++) {
    assert.equal(clock.now(), time.box);
    pass(DAY);
  }
  time.box -= 10 * DAY;
  assert.equal(clock.now(), time.box);
});
