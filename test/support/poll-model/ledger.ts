/** What is known of a poller's reads, and what must hold of them: a time in which nothing is promised has its reason. */
import assert from "node:assert/strict";
import { addDays, dayEndMs, dayOf } from "../../../src/core/time/time-zone.ts";
import type { ManualClock } from "../manual-clock.ts";
import type { FakeRecords } from "./fake-records.ts";
import { ReadRate, WINDOW_MS } from "./read-rate.ts";
import type { PollSequence } from "./steps.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const CLOSES_AFTER_MS = 26 * 60 * MINUTE;
/** Between reads of an ended day. */
export const LATE_INTERVAL_MS = 30 * MINUTE;
/** Between two reads of a day, at least. */
const AGAIN_MS = 900;

/** Of one sensor's day since the poller began with the sensor. */
interface DayReads {
  /** When the newest began, monotonic ms. */
  newestAt: number;
  /** A good read after its closing: no further one without a reason. */
  isClosed: boolean;
  /** Its newest read failed. */
  hasFailed: boolean;
}

interface LedgerParts {
  readonly order: Pick<PollSequence, "zone" | "intervalMs" | "concurrency" | "backfillDays">;
  readonly clock: ManualClock;
  /** The gateway's time as the agent can know it. */
  readonly nowMs: () => number;
  readonly isHeldBack: () => boolean;
  /** All sensors' reads of so many days, one after the other, ms. */
  readonly roundMs: (days: number) => number;
  /** What has happened, for the message of a failure. */
  readonly story: () => string;
}

export class Ledger {
  readonly #parts: LedgerParts;
  readonly #reads = new Map<string, DayReads>();
  readonly rate = new ReadRate();
  #inFlight = 0;
  /** Of reads that began: thrown by the next check, as nobody awaits them. */
  readonly #wrong: string[] = [];
  /** Nothing is promised before, monotonic ms, and why. */
  #calmFrom = 0;
  #why = "";

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  closesMs(day: string): number {
    return dayEndMs(day, this.#parts.order.zone) + CLOSES_AFTER_MS;
  }

  disturbed(why: string, forMs: number): void {
    const until = this.#parts.clock.monotonic() + forMs;
    if (until < this.#calmFrom) return;
    this.#calmFrom = until;
    this.#why = why;
  }

  /** Every day may be read again, and at once. */
  reopened(): void {
    for (const reads of this.#reads.values()) reads.isClosed = false;
    this.soon();
  }

  soon(): void {
    for (const reads of this.#reads.values()) reads.newestAt -= AGAIN_MS;
  }

  /** Sensors that have gone: one that comes back is read as a new one. */
  keep(codes: readonly string[]): void {
    for (const key of this.#reads.keys())
      if (!codes.some((code) => key.startsWith(`${code} `))) this.#reads.delete(key);
  }

  forget(): void {
    this.#reads.clear();
  }

  #of(code: string, day: string): DayReads {
    const key = `${code} ${day}`;
    const known = this.#reads.get(key);
    if (known !== undefined) return known;
    const fresh = { newestAt: Number.NEGATIVE_INFINITY, isClosed: false, hasFailed: false };
    this.#reads.set(key, fresh);
    return fresh;
  }

  /** A read begins. Returns how its slot is given back. */
  began(code: string, day: string, isRequested: boolean): () => void {
    const { clock, order } = this.#parts;
    const reads = this.#of(code, day);
    const at = clock.monotonic();
    const agoMs = at - reads.newestAt;
    const hasReason = isRequested || reads.hasFailed;
    const isAgain =
      at >= this.#calmFrom && !hasReason && agoMs < Math.min(AGAIN_MS, order.intervalMs);
    this.#inFlight += 1;
    const { nowMs } = this.#parts;
    if (!hasReason && day === dayOf(nowMs(), order.zone)) this.rate.read(code, at);
    const wrong = [
      this.#inFlight > order.concurrency && `${this.#inFlight} reads at once`,
      reads.isClosed && !hasReason && "read again after it was closed",
      isAgain && `read again after ${agoMs} ms`,
    ].filter((text) => text !== false);
    this.#wrong.push(...wrong.map((text) => `sensor ${code}, ${day}: ${text}`));
    reads.newestAt = at;
    let isHeld = true;
    return () => {
      if (isHeld) this.#inFlight -= 1;
      isHeld = false;
    };
  }

  ended(code: string, day: string, isGood: boolean): void {
    const reads = this.#of(code, day);
    reads.hasFailed = !isGood;
    // A jump that is not noticed yet opens it again.
    const isCalm = this.#parts.clock.monotonic() >= this.#calmFrom;
    if (isGood) reads.isClosed = isCalm && this.#parts.nowMs() >= this.closesMs(day);
  }

  #isCalmFor(ms: number): boolean {
    const { clock, isHeldBack } = this.#parts;
    return !isHeldBack() && clock.monotonic() - this.#calmFrom >= ms;
  }

  checkBegun(): void {
    const [wrong] = this.#wrong;
    assert.equal(wrong, undefined, `${wrong}\n${this.#parts.story()}`);
  }

  /** The present day was read within the interval. */
  checkPresent(code: string): void {
    const { nowMs, order, roundMs } = this.#parts;
    const windowMs = order.intervalMs + 2 * SECOND + roundMs(3);
    if (!this.#isCalmFor(windowMs)) return;
    const today = dayOf(nowMs(), order.zone);
    if (dayOf(nowMs() - windowMs - 7 * SECOND, order.zone) !== today) return;
    this.#checkRead(code, today, windowMs);
  }

  /** Not asked more often than records come, or the interval asks. */
  checkRate(code: string): void {
    const { clock, order, story } = this.#parts;
    if (this.#isCalmFor(WINDOW_MS))
      this.rate.check(code, clock.monotonic(), order.intervalMs, story);
  }

  /** The day before was read within half an hour, while it is open. */
  checkLate(code: string): void {
    const { nowMs, order } = this.#parts;
    const windowMs = LATE_INTERVAL_MS + 2 * MINUTE;
    if (order.backfillDays === 0 || !this.#isCalmFor(windowMs)) return;
    const day = addDays(dayOf(nowMs(), order.zone), -1);
    if (day !== addDays(dayOf(nowMs() - windowMs, order.zone), -1)) return;
    if (nowMs() < this.closesMs(day)) this.#checkRead(code, day, windowMs);
  }

  #checkRead(code: string, day: string, windowMs: number): void {
    const agoMs = this.#parts.clock.monotonic() - this.#of(code, day).newestAt;
    assert.ok(
      agoMs <= windowMs,
      `sensor ${code}: the last read of ${day} began ${(agoMs / SECOND).toFixed(0)} s ago; calm since ${this.#why}\n${this.#parts.story()}`,
    );
  }

  /** No record is missing that was there half an hour ago. */
  checkRecords(code: string, records: FakeRecords): void {
    const { clock, nowMs, order, story } = this.#parts;
    const today = dayOf(nowMs(), order.zone);
    const first = addDays(today, -order.backfillDays);
    const visibleBefore = clock.monotonic() - LATE_INTERVAL_MS - 2 * MINUTE;
    for (const [day, { waiting }] of records.days(code)) {
      if (day < first || day > today) continue;
      const lost = waiting.filter((one) => one.isInTime && one.visibleAt < visibleBefore);
      assert.deepEqual(
        lost.map(({ timeMs }) => new Date(timeMs).toISOString()),
        [],
        `sensor ${code}: records of ${day} were never read\n${story()}`,
      );
    }
  }
}
