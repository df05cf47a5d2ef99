/**
 * Random lives of the poller against what must hold whatever happens: each stream has a read of the present day that began within
 * its interval, and every job ends. A seed that fails is printed.
 */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { test } from "node:test";
import { SeededRandom } from "../../../scripts/chaos/random.ts";
import type { WantedRecords } from "../../../src/core/ports.ts";
import { NO_TIMES } from "../../../src/core/recent-times.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { addDays, dayOf } from "../../../src/core/time-zone.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import type { BackfillJob } from "../../../src/pipeline/poll/backfill-job.ts";
import type { DayRead, ReadRequest } from "../../../src/pipeline/poll/day-read.ts";
import { GatewayClock } from "../../../src/pipeline/poll/gateway-clock.ts";
import { Poller } from "../../../src/pipeline/poll/poller.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const SEEDS = Number(process.env["POLLER_SEEDS"] ?? 12);
const FIRST_SEED = Number(process.env["POLLER_SEED"] ?? 1);
const STEPS = 25;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const INTERVAL_MS = MINUTE;
/** Until the poller has looked at the clock, and the reads under way have ended. */
const LOOK_MS = 12_000;
/** The longest pause after failed reads, and the next read after it. */
const RECOVERED_MS = 300_000 + 2 * INTERVAL_MS;
const ZONES = ["UTC", "Europe/Berlin", "Pacific/Auckland", "America/St_Johns"] as const;
/** Steps of a clock: minutes, hours around a day and its closing, days. */
const CLOCK_STEPS_MS = [
  2 * MINUTE,
  10 * MINUTE,
  HOUR,
  5 * HOUR,
  DAY,
  26 * HOUR,
  27 * HOUR,
  2 * DAY,
  3 * DAY,
  7 * DAY,
  8 * DAY,
  365 * DAY,
];

const WANTED: WantedRecords = { has: () => true, take: () => Promise.resolve() };
const sensorOf = (n: number): Sensor => ({ code: `${n}`, type: 1, kinds: ["rpm"], channels: {} });

class Life {
  readonly #random: SeededRandom;
  readonly #zone: string;
  readonly #clock: ManualClock;
  readonly #gatewayClock: GatewayClock;
  readonly #site: ReplaceableSite;
  readonly #poller: Poller;
  readonly #ending = new AbortController();
  readonly #done: Promise<void>;
  /** When reads of a stream's day began, monotonic ms. */
  readonly #reads = new Map<string, number[]>();
  readonly #jobs: { readonly isDone: () => boolean; readonly what: string }[] = [];
  readonly #log: string[] = [];
  readonly #trueOffsetMs: number;
  #hasDate: boolean;
  #gatewayOffsetMs = 0;
  #failing: "no" | "some" | "all" = "no";
  #isHeldBack = false;
  #readMs = 20;
  /** Nothing is promised before, monotonic ms. */
  #calmFrom = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.#zone = this.#random.pick(ZONES);
    const trueMs = Date.UTC(2026, 10, 20) + this.#random.between(0, 24 * 60) * MINUTE;
    const wrongMs = this.#random.next() < 0.5 ? 0 : this.#step();
    this.#clock = new ManualClock(new Date(trueMs + wrongMs).toISOString());
    this.#trueOffsetMs = trueMs - this.#clock.monotonic();
    this.#hasDate = this.#random.next() < 0.4;
    this.#gatewayClock = new GatewayClock(this.#clock);
    this.#site = new ReplaceableSite({ site: "s", sensors: [1, 2, 3].map(sensorOf) });
    setMaxListeners(0, this.#ending.signal);
    const wasRead = this.#random.next() < 0.5;
    this.#poller = new Poller(
      {
        clock: this.#clock,
        gatewayClock: this.#gatewayClock,
        logger: silentLogger,
        memory: { get: () => null, set: () => {} },
        newestTimeMs: () => null,
        recentTimes: (streams) => streams.map(() => NO_TIMES),
        readOn: () => () => wasRead,
        readDay: (request) => this.#read(request),
        isHeldBack: () => this.#isHeldBack,
      },
      {
        zone: this.#zone,
        lateGraceMs: 2 * HOUR,
        backfillDays: this.#random.pick([0, 2, 7]),
        intervalMs: INTERVAL_MS,
        concurrency: this.#random.pick([1, 2]),
        random: () => this.#random.next(),
      },
      this.#site,
    );
    this.#done = this.#poller.run(this.#ending.signal);
    this.#disturbed(LOOK_MS);
  }

  async live(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      this.#happen();
      const calmMs = this.#random.pick([1_000, 30_000, 3 * MINUTE, 8 * MINUTE, 30 * MINUTE]);
      for (let left = calmMs; left > 0; left -= 30_000) {
        await this.#clock.advance(Math.min(left, 30_000));
        this.#check();
      }
    }
    this.#isHeldBack = false;
    this.#failing = "no";
    this.#disturbed(RECOVERED_MS);
    for (let n = 0; n < 60; n++) {
      await this.#clock.advance(30_000);
      this.#check();
    }
    const open = this.#jobs.filter(({ isDone }) => !isDone()).map(({ what }) => what);
    assert.deepEqual(open, [], `jobs that never ended\n${this.#story}`);
    this.#ending.abort();
    await this.#clock.advance(5_000);
    await this.#done;
  }

  get #story(): string {
    return this.#log.slice(-25).join("\n");
  }

  #step(): number {
    return this.#random.pick(CLOCK_STEPS_MS) * this.#random.pick([1, 1, -1]);
  }

  /** From now on nothing is promised for so long. */
  #disturbed(forMs: number): void {
    this.#calmFrom = Math.max(this.#calmFrom, this.#clock.monotonic() + forMs);
  }

  #note(what: string): void {
    this.#log.push(`${new Date(this.#clock.now()).toISOString()} ${what}`);
  }

  get #trueMs(): number {
    return this.#trueOffsetMs + this.#clock.monotonic();
  }

  async #read({ sensor, day, gatewayNow, isVoid, received }: ReadRequest): Promise<DayRead> {
    const key = `${sensor.code} ${day}`;
    this.#reads.set(key, [...(this.#reads.get(key) ?? []), this.#clock.monotonic()].slice(-3));
    const failure = {
      ok: false,
      durationMs: this.#readMs,
      isGatewayFault: this.#failing === "all",
      retryAfterMs: null,
      message: "down",
    } as const;
    await this.#clock.sleep(this.#readMs, this.#ending.signal);
    const isFailing =
      this.#failing === "all" || (this.#failing === "some" && this.#random.next() < 0.4);
    if (isFailing) {
      this.#disturbed(RECOVERED_MS);
      return { ...failure, failureClass: this.#random.pick(["transient", "truncated"] as const) };
    }
    const hadDate = this.#hasDate;
    const before = this.#gatewayClock.now();
    gatewayNow(hadDate ? Math.floor((this.#trueMs + this.#gatewayOffsetMs) / 1000) * 1000 : null);
    if (Math.abs(this.#gatewayClock.now() - before) > 1_000) this.#disturbed(LOOK_MS);
    if (isVoid?.()) return { ...failure, failureClass: "aborted" };
    received?.(1);
    const isFound = this.#random.next() < 0.5;
    return {
      ok: true,
      durationMs: this.#readMs,
      stored: isFound ? 1 : 0,
      known: 2,
      newTimesMs: isFound ? [this.#gatewayClock.now() - 1_000] : [],
      offsetMinutes: null,
    };
  }

  #happen(): void {
    const random = this.#random;
    switch (random.between(0, 9)) {
      case 0:
      case 1: {
        const toMs = this.#clock.now() + this.#step();
        this.#clock.set(toMs);
        this.#disturbed(LOOK_MS);
        return this.#note("our clock is set");
      }
      case 2:
        this.#clock.set(this.#trueMs);
        this.#disturbed(LOOK_MS);
        return this.#note("our clock is right");
      case 3:
        this.#hasDate = !this.#hasDate;
        return this.#note(`the gateway sends ${this.#hasDate ? "a" : "no"} Date`);
      case 4:
        this.#gatewayOffsetMs = random.next() < 0.5 ? 0 : this.#step();
        return this.#note(`the gateway's clock is off by ${this.#gatewayOffsetMs / HOUR} h`);
      case 5:
        this.#failing = random.pick(["no", "no", "some", "all"] as const);
        this.#disturbed(RECOVERED_MS);
        return this.#note(`failing: ${this.#failing}`);
      case 6:
        this.#isHeldBack = random.next() < 0.3;
        this.#disturbed(LOOK_MS);
        return this.#note(`held back: ${this.#isHeldBack}`);
      case 7: {
        const sensors = [1, 2, 3].filter(() => random.next() < 0.8).map(sensorOf);
        this.#site.replace({ site: "s", sensors });
        this.#disturbed(LOOK_MS);
        return this.#note(`sensors ${sensors.map(({ code }) => code).join()}`);
      }
      case 8:
        this.#readMs = random.pick([5, 20, 2_000]);
        return this.#note(`reads take ${this.#readMs} ms`);
      default:
        return this.#request();
    }
  }

  #request(): void {
    const today = dayOf(this.#gatewayClock.now(), this.#zone);
    const day = addDays(today, -this.#random.pick([0, 0, 1, 2, 30]));
    const what = `${this.#random.next() < 0.5 ? "backfill of" : "wanted"} ${day}`;
    this.#note(what);
    if (what.startsWith("backfill")) {
      const job: BackfillJob = this.#poller.backfill([day], null);
      this.#jobs.push({ isDone: () => job.done >= job.total, what });
      return;
    }
    let isDone = false;
    void this.#poller.readWanted({ sensor: "1", kind: "rpm", day }, { ...WANTED }).then(() => {
      isDone = true;
    });
    this.#jobs.push({ isDone: () => isDone, what });
  }

  #check(): void {
    const now = this.#clock.monotonic();
    const nowMs = this.#gatewayClock.now();
    const today = dayOf(nowMs, this.#zone);
    for (const { code } of this.#site.current.sensors) {
      const key = `${code} ${today}`;
      // The same day all the while, and nothing has happened.
      const slackMs = 2 * this.#readMs * 4;
      const windowMs = INTERVAL_MS + slackMs;
      if (this.#isHeldBack || now - this.#calmFrom < windowMs) continue;
      if (dayOf(nowMs - windowMs, this.#zone) !== today) continue;
      const newest = this.#reads.get(key)?.at(-1) ?? Number.NEGATIVE_INFINITY;
      assert.ok(
        now - newest <= windowMs,
        `sensor ${code}: the last read of ${today} began ${((now - newest) / 1000).toFixed(0)} s ago\n${this.#story}`,
      );
    }
  }
}

test(`poller – in ${SEEDS} random lives every present day is read within its interval, and every job ends`, async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    try {
      await new Life(seed).live();
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
});
