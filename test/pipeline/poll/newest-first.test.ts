import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { DayRead, ReadRequest } from "../../../src/pipeline/poll/day-read.ts";
import { GOOD_READ, startPoller } from "../../support/poller.ts";

const HOUR = 3_600_000;
const sensor = (code: string): Sensor => ({ code, type: 1, kinds: ["rpm"], channels: {} });
const BAD: DayRead = {
  ok: false,
  durationMs: 10,
  failureClass: "transient",
  isGatewayFault: false,
  retryAfterMs: null,
  message: "x",
};

interface Script {
  readonly startAt?: string;
  readonly gatewayAheadMs?: number;
  readonly backfillDays?: number;
  readonly codes?: readonly string[];
  readonly answer?: (request: ReadRequest) => DayRead | Promise<DayRead>;
}

/** Calls as "sensor day", in the order in which they began; "…!" marks a good end. */
function setUp(t: TestContext, script: Script) {
  const calls: string[] = [];
  const { clock, poller } = startPoller(t, {
    site: { site: "s", sensors: (script.codes ?? ["1", "2"]).map(sensor) },
    ...(script.startAt === undefined ? {} : { startAt: script.startAt }),
    backfillDays: script.backfillDays ?? 2,
    intervalMs: 60_000,
    concurrency: 3,
    readDay: async (request, clock) => {
      const name = `${request.sensor.code} ${request.day}`;
      calls.push(name);
      const answer = (await script.answer?.(request)) ?? GOOD_READ;
      if (answer.ok) request.gatewayNow(clock.now() + (script.gatewayAheadMs ?? 0));
      if (request.isVoid?.() === true) return { ...BAD, failureClass: "aborted" };
      if (answer.ok) calls.push(`${name}!`);
      return answer;
    },
  });
  return { clock, calls, poller };
}

test("newest first – past days wait while the current day of their sensor is still being read", async (t) => {
  let release: () => void = () => {};
  const { clock, calls } = setUp(t, {
    answer: (request) =>
      request.sensor.code === "2" && request.day === "2026-11-20"
        ? new Promise((resolve) => {
            release = () => resolve(GOOD_READ);
          })
        : GOOD_READ,
  });
  await clock.advance(3_000);
  assert.ok(calls.includes("1 2026-11-18!"), "the other sensor's days go on");
  assert.ok(!calls.includes("2 2026-11-19"), "yesterday waits");
  release();
  await clock.advance(1_000);
  assert.ok(calls.indexOf("2 2026-11-19") > calls.indexOf("2 2026-11-20!"));
  assert.ok(calls.includes("2 2026-11-18!"));
});

test("newest first – a current day that keeps failing does not hold up the days before", async (t) => {
  let tries = 0;
  const { clock, calls } = setUp(t, {
    answer: (request) => {
      if (request.sensor.code !== "2" || request.day !== "2026-11-20") return GOOD_READ;
      tries += 1;
      return BAD;
    },
  });
  await clock.advance(500);
  assert.equal(tries, 1);
  assert.ok(!calls.includes("2 2026-11-19"));
  await clock.advance(15_000);
  assert.ok(tries >= 3);
  assert.ok(calls.includes("2 2026-11-19!") && calls.includes("2 2026-11-18!"));
});

test("newest first – with our clock a day behind, the response for the wrong day is abandoned and requested again in its turn", async (t) => {
  const { clock, calls } = setUp(t, { gatewayAheadMs: 24 * HOUR });
  await clock.advance(3_000);
  assert.equal(calls[0], "1 2026-11-20");
  assert.ok(!calls[1]?.startsWith("1 2026-11-20"), "given up");
  for (const code of ["1", "2"]) {
    const today = calls.indexOf(`${code} 2026-11-21!`);
    const yesterday = calls.indexOf(`${code} 2026-11-20!`);
    assert.ok(today >= 0 && yesterday > today, `sensor ${code}`);
  }
});

test("newest first – with our clock a day behind, each response to what was requested before the first one is abandoned", async (t) => {
  const answers: (() => void)[] = [];
  let hasHung = false;
  const { clock, calls } = setUp(t, {
    gatewayAheadMs: 24 * HOUR,
    codes: ["1", "2", "3"],
    answer: () => {
      // A first sensor that hangs lets the others be read side by side before the gateway has responded.
      if (!hasHung) {
        hasHung = true;
        return { ...BAD, durationMs: 90_000 };
      }
      if (answers.length === 2) return GOOD_READ;
      return new Promise((resolve) => {
        answers.push(() => resolve(GOOD_READ));
      });
    },
  });
  await clock.advance(500);
  assert.deepEqual(calls, ["1 2026-11-20", "2 2026-11-20", "3 2026-11-20"]);
  for (const answer of answers) answer();
  await clock.advance(3_000);
  for (const code of ["2", "3"]) {
    const today = calls.indexOf(`${code} 2026-11-21!`);
    const yesterday = calls.indexOf(`${code} 2026-11-20!`);
    assert.ok(today >= 0 && yesterday > today, `sensor ${code}`);
  }
});

test("newest first – a day that got its closing read is not requested again when the next day begins", async (t) => {
  const { clock, calls } = setUp(t, { startAt: "2026-11-20T23:50:00Z", backfillDays: 5 });
  await clock.advance(20 * 60_000);
  const asked = (day: string) => calls.filter((call) => call === `1 ${day}`).length;
  assert.equal(asked("2026-11-18"), 1);
  assert.equal(asked("2026-11-17"), 1);
  assert.ok(asked("2026-11-21") > 5, "the new day is followed");
});

test("newest first – a requested day is read, even by the first response of all", async (t) => {
  const { clock, calls, poller } = setUp(t, {
    answer: (request) => (request.day === "2026-10-02" ? GOOD_READ : BAD),
  });
  const job = poller.backfill(["2026-10-02"], "1");
  await clock.advance(5_000);
  assert.ok(calls.includes("1 2026-10-02!"));
  assert.equal(job.done, 1);
  assert.deepEqual(job.failures, []);
});

test("newest first – just after midnight, with nothing of today yet, the day before yesterday waits for yesterday", async (t) => {
  let release: () => void = () => {};
  const { clock, calls } = setUp(t, {
    answer: ({ sensor, day }) =>
      sensor.code === "2" && day === "2026-11-19"
        ? new Promise((resolve) => {
            release = () => resolve({ ...GOOD_READ, stored: 5 });
          })
        : GOOD_READ,
  });
  await clock.advance(3_000);
  assert.ok(calls.includes("2 2026-11-20!") && !calls.includes("2 2026-11-18"));
  release();
  await clock.advance(1_000);
  assert.ok(calls.includes("2 2026-11-18!"));
});

test("newest first – once the newest records are read, the days before them are read in parallel", async (t) => {
  let give: () => void = () => {};
  const later = new Promise<DayRead>((resolve) => {
    give = () => resolve(GOOD_READ);
  });
  const { clock, calls } = setUp(t, {
    answer: ({ day }) => {
      if (day === "2026-11-20") return { ...GOOD_READ, known: 1 };
      return later;
    },
  });
  await clock.advance(3_000);
  const past = calls.filter((call) => /-1[89]$/.test(call));
  give();
  assert.equal(past.length, 3, "as many as may be in flight");
});
