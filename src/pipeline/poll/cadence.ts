import { UNKNOWN_CADENCE_MS } from "../../core/status/silence.ts";
import type { RecentTimes } from "../../core/time/recent-times.ts";
import { Batches, GROUP_STEPS_KEPT, type Groups, groupsOf } from "./record-groups.ts";

/**
 * Learns when a sensor's next record will be visible at the gateway, so that it is fetched within seconds.
 *
 * Two estimates: the period (median of the last steps between record times, or that from group to group) and the lag (from a record's time to its
 * becoming visible). The lag is adjusted by hits and misses: a read that came too early raises it to where the record
 * was found, each first-try hit lowers it a little. Hits change it little and misses much, so that nine reads in ten
 * are hits.
 */
const STEPS_KEPT = 9;
const STEPS_NEEDED = 2;
/** If reads with new records are this much further apart than the records, these come in batches. */
const BATCH_FACTOR = 1.5;
/** After a miss the record is tried again this much later, or a quarter of the period if that is less; doubling, ms. */
const MISS_RETRY_MS = 2_000;
/** Records less than this apart become visible together, ms. */
const ONE_RECORD_MS = 100;
/** Of a group that lacks more than this share of its span, the rest is expected. */
const PART_OF_SPAN = 0.1;
/** A hit lowers the lag by this share of that: a gateway that became faster is noticed within minutes, and one read in ten is a miss. */
const HIT_STEP = 0.1;
/** Beyond 32 periods the pauses grow by this share of the time: the first of several groups shows a period of seconds. */
const OVERDUE_SHARE = 1 / 8;
const OVERDUE_PERIODS = 4;
/** Records that a quiet sensor has missed. */
const MISSED_MIN = 10;

export class Cadence {
  /** Between records, GROUP_STEPS_KEPT of them, ms. */
  #steps: number[] = [];
  #groups: Groups | null = null;
  readonly #batches = new Batches();
  /** Time between reads of the current day that found something new, ms. */
  #gaps: number[] = [];
  #lastFoundMs: number | null = null;
  #newestMs: number | null = null;
  #oldestMs: number | null = null;
  /** By the gateway's clock, when a first record was first waited for. */
  #awaitedSinceMs: number | null = null;
  /** The period is from stored records that do not show how many come at once, until as many steps were seen here. */
  #isRemembered = false;
  #stepsSeen = 0;
  #lagMs = 1_500;
  #lastReadMs: number | null = null;
  #misses = 0;
  // Medians, kept because states of all sensors are read every few seconds.
  #medianMs: number | null = null;
  #gapMs: number | null = null;

  /** Period between records, or between groups of them, ms; null before three records. */
  get periodMs(): number | null {
    return this.#batches.periodMs ?? this.#groups?.periodMs ?? this.#medianMs;
  }

  /**
   * How long the next record may take to appear, ms; null while the period is unknown. That is the period, except for
   * sensors that deliver several records at once, and days so large that they are read less often.
   */
  get expectedMs(): number | null {
    const period = this.periodMs;
    if (period === null) return null;
    if (this.#gapMs === null) {
      return this.#isRemembered ? Math.max(period, UNKNOWN_CADENCE_MS) : period;
    }
    return this.#gapMs > BATCH_FACTOR * period ? this.#gapMs : period;
  }

  get newestMs(): number | null {
    return this.#newestMs;
  }

  /** Whether the sensor has missed ten expected records. @param nowMs by the gateway's clock */
  isQuiet(nowMs: number): boolean {
    // A clock that was ahead, and has been set since, waits for nothing.
    if (this.#newestMs === null)
      this.#awaitedSinceMs = Math.min(this.#awaitedSinceMs ?? nowMs, nowMs);
    const sinceMs = this.#newestMs ?? this.#awaitedSinceMs ?? nowMs;
    return nowMs - sinceMs > MISSED_MIN * (this.expectedMs ?? UNKNOWN_CADENCE_MS);
  }

  /**
   * What the store remembers from before this process.
   * @param recent its newest records
   * @param wasSilent it was silent by all that the earlier process had learned, and has no newer record
   */
  seed(newestMs: number | null, { timesMs, cameSingly }: RecentTimes, wasSilent = false): void {
    if (this.#newestMs !== null) return;
    this.#newestMs = newestMs;
    this.#oldestMs = timesMs[0] ?? newestMs;
    this.#take(stepsOf(timesMs));
    this.#isRemembered = this.periodMs !== null && !cameSingly && !wasSilent;
  }

  /**
   * Records a good read of the current day.
   * @param gatewayNowMs when, by the gateway's clock
   * @param newTimesMs times of the new records, in any order
   * @param isFirst true if this is the first read of the day: its records say nothing about the lag
   */
  observe(gatewayNowMs: number, newTimesMs: readonly number[], isFirst: boolean): void {
    const before = this.#newestMs;
    const fresh = newTimesMs
      .filter((ms) => before === null || ms > before)
      .toSorted((a, b) => a - b);
    const last = fresh.at(-1) ?? before;
    const steps = stepsOf(before === null ? fresh : [before, ...fresh]);
    this.#stepsSeen += steps.length;
    if (this.#stepsSeen >= STEPS_NEEDED) this.#isRemembered = false;
    if (steps.length > 0) this.#take([...this.#steps, ...steps]);
    if (this.#steps.length < STEPS_NEEDED) this.#learnOlder(newTimesMs);
    if (before !== null && last !== null && fresh.length > 0 && !isFirst)
      this.#batches.found(steps.length, last - before);
    this.#oldestMs ??= fresh[0] ?? null;
    if (fresh.length > 0) this.#found(gatewayNowMs);
    this.#newestMs = last;
    if (fresh.length === 0) {
      this.#batches.empty();
      const due = this.#dueAtMs();
      if (due !== null && gatewayNowMs >= due) this.#misses += 1;
    } else {
      if (!isFirst && this.#lastReadMs !== null && last !== null)
        this.#learnLag(gatewayNowMs, last);
      this.#misses = 0;
    }
    this.#lastReadMs = gatewayNowMs;
  }

  /** When to read next, gateway time in ms; null while the interval is unknown or the sensor is long overdue. */
  nextReadMs(gatewayNowMs: number): number | null {
    const due = this.#dueAtMs();
    const period = this.periodMs;
    if (due === null || period === null) return null;
    // A record may be dated ahead by a wrong clock; the next one comes after a period all the same.
    if (this.#misses === 0) return Math.min(Math.max(due, gatewayNowMs), gatewayNowMs + period);
    const retryMs = missRetryMs(period);
    const retry = gatewayNowMs + retryMs * 2 ** Math.min(this.#misses - 1, 12);
    // Too long overdue: aim at the next expected record.
    // A clock that was set back takes it for less.
    if (retry - due < period / 2) return Math.min(retry, gatewayNowMs + period);
    const overdueMs = gatewayNowMs - due;
    const leastMs = Math.max(retryMs, OVERDUE_SHARE * overdueMs - OVERDUE_PERIODS * period);
    return due + Math.ceil((overdueMs + leastMs) / period) * period;
  }

  /** Today may hold too few records of a sensor that sends every few hours: those of earlier days show its interval. */
  #learnOlder(timesMs: readonly number[]): void {
    const oldest = this.#oldestMs;
    if (oldest === null) return;
    const older = timesMs.filter((ms) => ms < oldest).toSorted((a, b) => a - b);
    if (older.length === 0) return;
    this.#oldestMs = older[0] ?? oldest;
    this.#take([...stepsOf([...older, oldest]), ...this.#steps]);
  }

  #take(steps: number[]): void {
    this.#steps = steps.slice(-GROUP_STEPS_KEPT);
    this.#groups = groupsOf(this.#steps);
    const last = this.#steps.slice(-STEPS_KEPT);
    this.#medianMs = medianOf(last, last.length);
  }

  #found(gatewayNowMs: number): void {
    // A gateway clock that was set back proves nothing.
    if (this.#lastFoundMs !== null && gatewayNowMs > this.#lastFoundMs) {
      this.#gaps = [...this.#gaps, gatewayNowMs - this.#lastFoundMs].slice(-STEPS_KEPT);
      // The lower one of two: an outage leaves one long gap.
      this.#gapMs = medianOf(this.#gaps, this.#gaps.length - 1);
    }
    this.#lastFoundMs = gatewayNowMs;
  }

  #dueAtMs(): number | null {
    const period = this.periodMs;
    if (period === null || this.#newestMs === null) return null;
    const groups = this.#batches.periodMs === null ? this.#groups : null;
    if (groups === null) return this.#newestMs + period + this.#lagMs;
    // The last record of a group: all of it is one find. The rest of one that was found in part comes first.
    const restMs = groups.spanMs - groups.sinceStartMs;
    const isPart = restMs > PART_OF_SPAN * groups.spanMs && this.#misses === 0;
    return this.#newestMs + restMs + (isPart ? 0 : period) + this.#lagMs;
  }

  #learnLag(gatewayNowMs: number, recordMs: number): void {
    const foundLagMs = gatewayNowMs - recordMs;
    const period = this.periodMs;
    if (period !== null && foundLagMs > period) return; // Found long after it became visible: this says nothing about the lag.
    if (this.#misses > 0) this.#lagMs = Math.max(this.#lagMs, foundLagMs);
    else {
      const stepMs = HIT_STEP * missRetryMs(period ?? Number.POSITIVE_INFINITY);
      this.#lagMs = Math.max(0, Math.min(this.#lagMs, foundLagMs) - stepMs);
    }
  }
}

const missRetryMs = (periodMs: number) => Math.min(MISS_RETRY_MS, periodMs / 4);

/** From one time to the next, ms; times within ONE_RECORD_MS are one. */
function stepsOf(timesMs: readonly number[]): number[] {
  const steps: number[] = [];
  let [last] = timesMs;
  for (const ms of timesMs) {
    if (last === undefined || ms - last < ONE_RECORD_MS) continue;
    steps.push(ms - last);
    last = ms;
  }
  return steps;
}

/** The value at half of `count` in ascending order; null with too few values. */
function medianOf(values: readonly number[], count: number): number | null {
  if (values.length < STEPS_NEEDED) return null;
  return values.toSorted((a, b) => a - b)[Math.floor(count / 2)] ?? null;
}
