/**
 * One sequence with a real poller over a gateway that the test plays. Throws AssertionError where something does not hold
 * that must hold whatever happens; a time in which nothing is promised is given with its reason.
 */
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { SeededRandom } from "../../../scripts/chaos/random.ts";
import type { WantedRecords } from "../../../src/core/ports.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { addDays, dayOf } from "../../../src/core/time/time-zone.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import type { DayOutcome, DayRead, ReadRequest } from "../../../src/pipeline/poll/day-read.ts";
import { GatewayClock } from "../../../src/pipeline/poll/gateway-clock.ts";
import { Poller } from "../../../src/pipeline/poll/poller.ts";
import { ManualClock } from "../manual-clock.ts";
import { FakeRecords } from "./fake-records.ts";
import { LATE_INTERVAL_MS, Ledger } from "./ledger.ts";
import {
  type FirstRequest,
  type PollSequence,
  type PollStep,
  type Request,
  SENSORS,
} from "./steps.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STALL_MS = MINUTE;
/** Until the poller has looked at the clock, and the reads under way have ended. */
const LOOK_MS = 12 * SECOND;
/** The longest pause after failed reads, and the retry after it. */
const PAUSE_MS = 300 * SECOND;

interface Job {
  readonly what: string;
  readonly isDone: () => boolean;
}

const sensorOf = (code: string, type = 1): Sensor => ({ code, type, kinds: ["rpm"], channels: {} });

class Run {
  readonly #order: PollSequence;
  readonly #random: SeededRandom;
  readonly #clock: ManualClock;
  readonly #site: ReplaceableSite;
  readonly #records: FakeRecords;
  readonly #memory = new Map<string, string>();
  readonly #jobs: Job[] = [];
  /** Days that somebody requested, with jobs that are not done. */
  readonly #requested: { readonly isOf: (code: string, day: string) => boolean; job: Job }[] = [];
  readonly #log: string[] = [];
  readonly #ledger: Ledger;
  readonly #wantedRead = new Set<WantedRecords>();
  /** What was told to who wanted records, and was not so. */
  readonly #lies: string[] = [];
  #poller!: Poller;
  #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();
  readonly #trueOffsetMs: number;
  /** The gateway's time as its newest Date had it; null: the box's counts. */
  #date: { readonly ms: number; readonly at: number } | null = null;
  #hasDate: boolean;
  #gatewayOffsetMs = 0;
  #failing: "none" | "some" | "all" = "none";
  #stalling: string | null = null;
  #isHeldBack = false;
  #readMs = 20;

  constructor(order: PollSequence) {
    this.#order = order;
    this.#random = new SeededRandom(order.salt);
    this.#clock = new ManualClock(order.startMs + order.wrongMs);
    this.#trueOffsetMs = order.startMs - this.#clock.monotonic();
    this.#hasDate = order.hasDate;
    this.#records = new FakeRecords(
      order.zone,
      (day) => this.#nowMs < this.#ledger.closesMs(day),
      (code, atMs) => this.#ledger.rate.visible(code, atMs),
    );
    this.#ledger = new Ledger({
      order,
      clock: this.#clock,
      nowMs: () => this.#nowMs,
      isHeldBack: () => this.#isHeldBack,
      roundMs: (days) => this.#roundMs(days),
      story: () => this.#log.slice(-30).join("\n"),
    });
    this.#site = new ReplaceableSite({ site: "s", sensors: SENSORS.map((code) => sensorOf(code)) });
    for (const [n, code] of SENSORS.entries())
      this.#records.setPattern(
        code,
        { periodMs: [37, 60, 300][n]! * SECOND, size: 1, apartMs: 1, lagMs: 900 },
        n * SECOND,
      );
    this.#start(order.first);
  }

  #start(first: FirstRequest | null): void {
    this.#ending = new AbortController();
    setMaxListeners(0, this.#ending.signal);
    this.#date = null;
    this.#ledger.forget();
    const ending = this.#ending;
    const { zone, backfillDays, intervalMs, concurrency } = this.#order;
    this.#poller = new Poller(
      {
        clock: this.#clock,
        gatewayClock: new GatewayClock(this.#clock),
        logger: silentLogger,
        memory: {
          get: (name) => this.#memory.get(name) ?? null,
          set: (name, text) => void this.#memory.set(name, text),
        },
        newestTimeMs: (code) => this.#storedMs(code).at(-1) ?? null,
        recentTimes: (streams) =>
          streams.map(({ sensor }) => ({
            timesMs: this.#storedMs(sensor).slice(-25),
            cameSingly: false,
            offsetMinutes: null,
          })),
        readOn:
          (day) =>
          ({ sensor }) =>
            this.#records.day(sensor, day).storedMs.length > 0,
        readDay: (request) => this.#read(request, ending.signal),
        isHeldBack: () => this.#isHeldBack,
      },
      {
        zone,
        lateGraceMs: 2 * HOUR,
        backfillDays,
        intervalMs,
        concurrency,
        random: () => this.#random.next(),
      },
      this.#site,
    );
    if (first?.isBefore === true) this.#request(first);
    this.#running = this.#poller.run(this.#ending.signal);
    if (first?.isBefore === false) this.#request(first);
    this.#ledger.disturbed("started", LOOK_MS + this.#roundMs(10));
  }

  #storedMs(code: string): readonly number[] {
    return this.#records.storedMs(code, this.#nowMs + DAY);
  }

  /** The gateway's time as the agent can know it. */
  get #nowMs(): number {
    const date = this.#date;
    if (date === null) return this.#clock.now();
    return date.ms + this.#clock.monotonic() - date.at;
  }

  /** All sensors' reads of so many days, one after the other. */
  #roundMs(days: number): number {
    return SENSORS.length * days * (this.#readMs + 20);
  }

  /** After failed reads. Until a sensor is known to stall, it may hold every slot. */
  get #recoveryMs(): number {
    return PAUSE_MS + (this.#stalling === null ? 0 : 4 * STALL_MS) + this.#roundMs(10);
  }

  #note(what: string): void {
    const at = new Date(this.#clock.now()).toISOString();
    this.#log.push(`${at} (${(this.#clock.monotonic() / SECOND).toFixed(1)} s) ${what}`);
  }

  #isRequested(code: string, day: string): boolean {
    return this.#requested.some(({ isOf, job }) => !job.isDone() && isOf(code, day));
  }

  async #read(request: ReadRequest, signal: AbortSignal): Promise<DayRead> {
    const { sensor, day } = request;
    const leave = this.#ledger.began(sensor.code, day, this.#isRequested(sensor.code, day));
    const startedAt = this.#clock.monotonic();
    try {
      const read = await this.#respond(request, leave, signal);
      this.#ledger.ended(sensor.code, day, read.ok);
      return { ...read, durationMs: this.#clock.monotonic() - startedAt };
    } finally {
      leave();
    }
  }

  async #respond(
    request: ReadRequest,
    leave: () => void,
    signal: AbortSignal,
  ): Promise<DayOutcome> {
    const { sensor, day, gatewayNow, isVoid, received, wanted } = request;
    const failed = (failureClass: "transient" | "truncated" | "aborted"): DayOutcome => {
      const isGatewayFault = this.#failing === "all";
      return { ok: false, failureClass, isGatewayFault, retryAfterMs: null, message: "down" };
    };
    const isStalled = this.#stalling === sensor.code;
    await this.#clock.sleep(isStalled ? STALL_MS : this.#readMs, signal);
    if (signal.aborted) return failed("aborted");
    const isFailing =
      this.#failing === "all" ||
      (!isStalled && this.#failing === "some" && this.#random.next() < 0.4);
    // A stalled one that meets the gateway's fault holds back all of them, too.
    if (isFailing) this.#ledger.disturbed("a read failed", this.#recoveryMs);
    if (isStalled) return failed("transient");
    if (isFailing) return failed(this.#random.next() < 0.5 ? "transient" : "truncated");
    this.#date = this.#answer(gatewayNow);
    if (isVoid?.() === true) return failed("aborted");
    this.#emit();
    const found = this.#records.day(sensor.code, day);
    const fresh = found.visible(this.#clock.monotonic());
    if (wanted !== undefined) this.#wantedRead.add(wanted);
    received?.(Math.max(1, fresh.length));
    leave();
    const known = found.storedMs.length;
    found.store(fresh);
    const untilMs = this.#nowMs + DAY;
    const newTimesMs = fresh.map(({ timeMs }) => timeMs).filter((ms) => ms <= untilMs);
    const newestMs = newTimesMs.reduce((max, ms) => Math.max(max, ms), Number.NEGATIVE_INFINITY);
    const offsetMinutes = fresh.find(({ timeMs }) => timeMs === newestMs)?.offsetMinutes ?? null;
    return { ok: true, stored: fresh.length, known, newTimesMs, offsetMinutes };
  }

  /** Gives the response's Date to the poller. */
  #answer(gatewayNow: ReadRequest["gatewayNow"]) {
    const before = this.#nowMs;
    const exactMs = this.#trueOffsetMs + this.#clock.monotonic() + this.#gatewayOffsetMs;
    const dateMs = this.#hasDate ? Math.floor(exactMs / SECOND) * SECOND : null;
    gatewayNow(dateMs);
    if (dateMs === null) return this.#date;
    const jumpMs = Math.abs(dateMs - before);
    if (jumpMs > 2 * SECOND) this.#jumped(jumpMs, "the gateway's clock is another");
    return { ms: dateMs + SECOND / 2, at: this.#clock.monotonic() };
  }

  #jumped(byMs: number, why: string): void {
    this.#ledger.disturbed(why, LOOK_MS + this.#order.intervalMs * 0.05 + this.#roundMs(10));
    // What the days are is another: those that were closed may be read again.
    if (byMs > 4 * MINUTE) this.#ledger.reopened();
  }

  #emit(): void {
    const monotonic = this.#clock.monotonic();
    this.#records.emit(monotonic, this.#trueOffsetMs + this.#gatewayOffsetMs);
  }

  async take(step: PollStep): Promise<void> {
    if (step.do !== "pass") this.#note(JSON.stringify(step));
    this.#emit();
    switch (step.do) {
      case "pass":
        return this.#pass(step.ms);
      case "box":
        return this.#setBox(step.byMs);
      case "gateway clock":
        this.#gatewayOffsetMs = step.offMs;
        return;
      case "gateway date":
        this.#hasDate = step.isSent;
        return;
      case "gateway zone":
        this.#records.zone = step.zone;
        return;
      case "failing":
        this.#failing = step.which;
        return this.#ledger.disturbed("failing or not", this.#recoveryMs);
      case "stall":
        this.#stalling = step.sensor;
        return this.#ledger.disturbed(
          "a sensor stalls or not",
          PAUSE_MS + 4 * STALL_MS + this.#roundMs(10),
        );
      case "held back":
        this.#isHeldBack = step.isHeldBack;
        return this.#ledger.disturbed("held back or not", LOOK_MS + this.#roundMs(10));
      case "sensors":
        return this.#take(step);
      case "read time":
        this.#readMs = step.ms;
        return;
      case "records":
        return this.#records.setPattern(step.sensor, step.pattern, this.#clock.monotonic());
      case "late record": {
        const monotonic = this.#clock.monotonic();
        const nowMs = this.#trueOffsetMs + this.#gatewayOffsetMs + monotonic;
        return this.#records.add(step.sensor, Math.floor(nowMs - step.agoMs), monotonic);
      }
      case "request":
        return this.#request(step.request);
      case "read soon": {
        this.#ledger.soon();
        return this.#poller.readSoon([{ sensor: step.sensor, kind: "rpm" }]);
      }
      case "read again":
        this.#ledger.reopened();
        this.#ledger.disturbed("days are read again", LOOK_MS + this.#roundMs(10));
        return this.#poller.readAgain();
      case "restart":
        await this.#end();
        this.#jobs.length = 0;
        this.#requested.length = 0;
        return this.#start(step.first);
    }
  }

  #setBox(byMs: number | null): void {
    const toMs =
      byMs === null ? this.#trueOffsetMs + this.#clock.monotonic() : this.#clock.now() + byMs;
    const jumpMs = Math.abs(toMs - this.#clock.now());
    this.#clock.set(toMs);
    if (this.#date === null) this.#jumped(jumpMs, "the box's clock is set");
  }

  #take({ codes, type }: Extract<PollStep, { do: "sensors" }>): void {
    this.#ledger.keep(codes);
    const was = this.#site.current.sensors;
    const isRetyped = was.some((one) => one.type !== type);
    if (isRetyped) this.#ledger.reopened();
    this.#site.replace({ site: "s", sensors: codes.map((code) => sensorOf(code, type)) });
    this.#ledger.disturbed("another site file", LOOK_MS + this.#roundMs(10));
  }

  #request({ isWanted, sensor, daysAgo }: Request): void {
    const day = addDays(dayOf(this.#nowMs, this.#order.zone), -daysAgo);
    const what = `${isWanted ? "wanted" : "backfill"} ${sensor ?? "all"} ${day}`;
    this.#note(`requested: ${what}`);
    const isOf = (code: string, one: string) =>
      one === day && (code === (sensor ?? code) || (isWanted && code === (sensor ?? "1")));
    const add = (isDone: () => boolean) => {
      const job = { what, isDone };
      this.#jobs.push(job);
      this.#requested.push({ isOf, job });
    };
    if (!isWanted) {
      const job = this.#poller.backfill([day], sensor);
      return add(() => job.done >= job.total);
    }
    let isDone = false;
    const wanted: WantedRecords = { has: () => true, take: () => Promise.resolve() };
    void this.#poller
      .readWanted({ sensor: sensor ?? "1", kind: "rpm", day }, wanted)
      .then((failure) => {
        isDone = true;
        if (failure !== null || this.#wantedRead.has(wanted)) return;
        this.#lies.push(`${what}: called read, and was not asked for`);
      });
    add(() => isDone);
  }

  async #pass(ms: number): Promise<void> {
    const stepMs = Math.max(10 * SECOND, Math.min(this.#order.intervalMs, MINUTE));
    for (let left = ms; left > 0; left -= stepMs) {
      await this.#clock.advance(Math.min(left, stepMs));
      this.#check();
    }
  }

  #check(): void {
    assert.deepEqual(this.#lies, []);
    this.#ledger.checkBegun();
    for (const { code } of this.#site.current.sensors) {
      if (code === this.#stalling) continue;
      // The one slot, or what is left of two.
      if (this.#stalling !== null && this.#order.concurrency === 1) continue;
      this.#ledger.checkPresent(code);
      this.#ledger.checkRate(code);
      this.#ledger.checkLate(code);
    }
  }

  /** What is open is read, and what somebody waits for ends. */
  async conclude(): Promise<void> {
    await this.take({ do: "failing", which: "none" });
    await this.take({ do: "stall", sensor: null });
    await this.take({ do: "held back", isHeldBack: false });
    await this.#pass(LATE_INTERVAL_MS + PAUSE_MS + 20 * MINUTE);
    const open = this.#jobs.filter(({ isDone }) => !isDone()).map(({ what }) => what);
    assert.deepEqual(open, [], `jobs that never ended\n${this.#log.slice(-30).join("\n")}`);
    this.#emit();
    for (const { code } of this.#site.current.sensors)
      this.#ledger.checkRecords(code, this.#records);
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#ending.abort();
    await this.#clock.advance(0);
    await this.#running;
  }

  async close(): Promise<void> {
    await this.#end();
  }
}

export async function runPollSequence(sequence: PollSequence): Promise<void> {
  const run = new Run(sequence);
  try {
    for (const step of sequence.steps) await run.take(step);
    await run.conclude();
  } finally {
    await run.close();
  }
}
