/**
 * Machine state and speed in order of time: what depends on a signal waits until the signal is known for its time, so
 * that the order in which sensors are read changes nothing.
 *
 * A reading of time T may be judged once, for each signal that it depends on,
 * - the signal's sensor has been read for the day of T, and a reading of that day at or after T is known, or the read was
 * an interval (at most ten minutes) after T by the gateway's clock;
 * - no earlier day that could still hold one of the ten newest readings before T is about to be read.
 * Nothing is held for longer than 30 minutes of the agent's running time by a sensor that cannot be read.
 *
 * How to use it, within the transaction that stores the readings: `note` what was stored; then `admit` each reading that
 * depends on a signal, in order of time, and judge it at once if that returns true; then judge what `due` hands out.
 * `stateAt` and `speedAt` are what counts for a reading that may be judged. `releases` says when time alone has made
 * something due. Each purpose, sensor and kind has two queues, judged in the order of arrival: readings that followed in
 * order of time, and late ones, which wait for the former that arrived before them. Rows are on disk, memory holds the
 * first of each queue.
 *
 * In one file: whether a reading may be judged is one question to signals, reads and queues.
 */
import type { DayReadAt } from "../../../core/day.ts";
import type { FollowedReading, MachineState, SpeedAround } from "../../../core/followed-reading.ts";
import { type Kind, normalCode, streamKey } from "../../../core/sensor.ts";
import { type Site } from "../../../core/site.ts";
import { dayOf } from "../../../core/time/time-zone.ts";
import type { Tx } from "../../../core/tx.ts";
import { numberOf } from "../../../core/value-number.ts";
import {
  isRunning,
  MachineSignals,
  type MachineSignalsOf,
  type Signal,
} from "./machine-signals.ts";
import { INTERVAL_POINTS, intervalMs, type SignalPoint, validUntilMs, valueAt } from "./signal.ts";
import { type Earlier, type Later, type Newest, SignalLog } from "./signal-log.ts";
import { SignalReads } from "./signal-reads.ts";
import { type WaitOf, type WaitPurpose, type WaitQueue, WaitQueues } from "./wait-queues.ts";
import { type WaitRows, WaitRowsInMemory } from "./wait-rows.ts";
import { readingOfText } from "./waiting-text.ts";

export interface WaitOptions {
  readonly rows?: WaitRows;
  readonly earlier?: Earlier;
  readonly later?: Later;
  readonly newest?: Newest;
  /** Zone of the gateway's days; by default UTC. */
  readonly zone?: string;
  /** Time that the agent has been running, ms. */
  readonly runningMs?: () => number;
  /** Days of a sensor and kind that are about to be read: none since they ended, and no read of it fails. */
  readonly pendingDays?: (sensor: string, kind: Kind) => readonly string[];
}

/** A signal's readings are awaited for an interval after the time in question, at most this long, ms. */
const INTERVAL_MAX_MS = 600_000;
/** A sensor that cannot be read holds nobody longer, ms of running time. */
const HOLD_MAX_MS = 30 * 60_000;
/** Rows handed out in one transaction: their judging must not delay other work noticeably. A finding takes some 3 ms. */
const TOGETHER_MAX: Readonly<Record<WaitPurpose, number>> = {
  alarm: 100,
  bands: 100,
  finding: 20,
};

/** Something that waited and may be judged. */
export interface Released extends WaitOf {
  readonly reading: FollowedReading;
}

/** A machine's running signal around a time. */
export interface RunningAround {
  /** The newest reading at or before it, and the first one at or after it. */
  readonly before: SignalPoint | null;
  readonly after: SignalPoint | null;
  readonly isStandingBefore: boolean;
  readonly isStandingAfter: boolean;
  /** Some reading of the time before it said that the machine runs. */
  readonly ranLately: boolean;
}

export class Wait {
  readonly #options: WaitOptions;
  readonly #log: SignalLog;
  readonly #reads = new SignalReads();
  readonly #queues: WaitQueues;
  #signals: MachineSignals;
  /** Whether a sensor shows that the running signal of its machine is wrong at a time, ms: the state is unknown then. */
  isDoubted: (code: string, timeMs: number) => boolean = () => false;

  constructor(site: Site, options: WaitOptions = {}) {
    this.#options = options;
    const { earlier = () => [], later = () => null, newest } = options;
    this.#log = new SignalLog(earlier, later, newest);
    const { rows = new WaitRowsInMemory(), runningMs = () => 0 } = options;
    this.#queues = new WaitQueues(rows, runningMs);
    this.#signals = new MachineSignals(site);
  }

  setSite(site: Site): void {
    this.#signals = new MachineSignals(site);
    this.#log.keepOnly(this.#signals.all);
    this.#queues.lookAgain();
  }

  /** Reads the newest stored readings of each signal, a signal a step; one that is asked for before is read then. */
  *loadSignals(): Generator<void, void> {
    for (const signal of this.#signals.all) {
      this.#log.load(signal);
      yield;
    }
  }

  /** Reads which queues the store holds. */
  load(): void {
    this.#queues.load();
  }

  get signals(): readonly Signal[] {
    return this.#signals.all;
  }

  /** Sets the newest stored readings of a signal. @param fromMs they are all that are stored after this time */
  prime(signal: Signal, points: readonly SignalPoint[], fromMs: number): void {
    this.#log.prime(signal, points, fromMs);
    this.#queues.lookAgain();
  }

  isSignal(sensor: string, kind: Kind): boolean {
    return this.#signals.ofStream(normalCode(sensor), kind).length > 0;
  }

  hasRunning(sensor: string): boolean {
    return this.runningOf(sensor) !== null;
  }

  /** The signal that shows when the sensor's machine runs; null without one. */
  runningOf(sensor: string): Signal | null {
    return this.#signals.ofSensor(normalCode(sensor))?.running ?? null;
  }

  /** The machine state at a time, by the readings known now; null while it is unknown, or if no signal shows it. */
  stateAt(sensor: string, timeMs: number): MachineState | null {
    return this.#stateOf(this.#signals.ofSensor(normalCode(sensor)), timeMs);
  }

  /** State and speed of a sensor's machine at a time, as a measurement shows them. */
  machineAt(sensor: string, timeMs: number) {
    const speed = this.#signals.ofSensor(normalCode(sensor))?.speed ?? null;
    const state = this.stateAt(sensor, timeMs);
    const running = state === null ? null : state === "running";
    return { running, speedRpm: speed === null ? null : this.#at(speed, timeMs) };
  }

  /** The state of a machine, on which no sensor need be mounted. */
  stateOf(machine: number, timeMs: number): MachineState | null {
    return this.#stateOf(this.#signals.ofMachine(machine), timeMs);
  }

  #stateOf(of: MachineSignalsOf | undefined, timeMs: number): MachineState | null {
    const running = of?.machine.running;
    if (running === undefined || of === undefined || of.running === null) return null;
    const value = this.#at(of.running, timeMs);
    if (value === null) return null;
    if (isRunning(running, value)) return "running";
    return this.#signals.mountedOn(of).some((code) => this.isDoubted(code, timeMs))
      ? null
      : "standing";
  }

  /** What the running signal of a sensor's machine says around a time, whether it is in doubt or not; null without one. */
  runningAround(sensor: string, timeMs: number, lateMs: number): RunningAround | null {
    const of = this.#signals.ofSensor(sensor);
    const running = of?.machine.running;
    const signal = of?.running ?? null;
    if (running === undefined || signal === null) return null;
    const says = (value: number | null) => value !== null && isRunning(running, value);
    const before = this.#log.before(signal, timeMs).at(-1) ?? null;
    // One of the very time is both: nothing is awaited after it.
    const after = before?.timeMs === timeMs ? before : this.#log.firstAfter(signal, timeMs);
    const fresh = this.#at(signal, timeMs);
    return {
      before,
      after,
      isStandingBefore: fresh !== null && !says(fresh),
      isStandingAfter: after !== null && !says(after.value),
      ranLately: this.#log
        .between(signal, timeMs - lateMs, timeMs)
        .some(({ value }) => says(value)),
    };
  }

  /** Whether a reading of a machine's running signal says that it runs; null where it says nothing. */
  saysRunning(machine: number, { values, quality }: FollowedReading): boolean | null {
    const of = this.#signals.ofMachine(machine);
    const running = of?.machine.running;
    if (running === undefined || quality[running.value]?.quality === "bad") return null;
    const value = numberOf(values[running.value]);
    return value === null ? null : isRunning(running, value);
  }

  /** Shaft speed of a machine at a time, r/min, by the readings known now; null while it is unknown. */
  speedAt(machine: number, timeMs: number): number | null {
    const speed = this.#signals.ofMachine(machine)?.speed ?? null;
    return speed === null ? null : this.#at(speed, timeMs);
  }

  /** The reading that gives the speed of a machine at a time, and the first one after it; null while it is unknown. */
  speedAround(machine: number, timeMs: number): SpeedAround | null {
    const speed = this.#signals.ofMachine(machine)?.speed ?? null;
    if (speed === null) return null;
    const rpm = this.#at(speed, timeMs);
    const point = this.#log.before(speed, timeMs).at(-1);
    if (rpm === null || point === undefined) return null;
    return {
      rpm,
      timeMs: point.timeMs,
      nextRpm: this.#log.firstAfter(speed, timeMs)?.value ?? null,
    };
  }

  /** Until when they hold without another reading, ms; null while neither is known. */
  knownUntilMs(machine: number, timeMs: number): number | null {
    const of = this.#signals.ofMachine(machine);
    const ends = [of?.running ?? null, of?.speed ?? null].flatMap((signal) => {
      const points = signal === null ? [] : this.#log.before(signal, timeMs);
      return valueAt(points, timeMs) === null ? [] : [validUntilMs(points)];
    });
    return ends.length === 0 ? null : Math.min(...ends);
  }

  #at(signal: Signal, timeMs: number): number | null {
    return valueAt(this.#log.before(signal, timeMs), timeMs);
  }

  /* ---------- within a transaction ---------- */

  /**
   * New readings of a sensor and kind. @param read the read that they complete; null while there is more of it to come
   */
  note(
    tx: Tx,
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
    read: DayReadAt | null,
  ): void {
    const code = normalCode(sensor);
    const now = this.#signals;
    // Under another site file they may have become those of a signal: it is read again from where they are then.
    tx.onCommit(() => {
      if (this.#signals === now) return;
      for (const signal of this.#signals.ofStream(code, kind)) this.#log.forget(signal);
      this.#queues.lookAgain();
    });
    const signals = now.ofStream(code, kind);
    if (signals.length === 0) return;
    for (const signal of signals) {
      for (const { isFuture, timeMs, values, quality } of readings) {
        if (isFuture) continue;
        const isBad = quality[signal.value]?.quality === "bad";
        this.#log.note(tx, signal, {
          timeMs,
          value: isBad ? null : numberOf(values[signal.value]),
        });
      }
    }
    if (read !== null) this.#reads.stage(tx, streamKey(code, kind), read);
    this.#queues.lookAgain();
  }

  /** True if a reading may be judged now; otherwise it waits. @param text what will be needed of it */
  admit(tx: Tx, of: WaitOf, timeMs: number, text: () => string): boolean {
    if (!this.#queues.isBlocked(of) && this.#isKnown(of, timeMs)) return true;
    this.#queues.add(tx, of, timeMs, text());
    return false;
  }

  /** Time of the first reading of a sensor and kind that waits, ms; null if none does. */
  firstWaitingMs(sensor: string, kind: Kind, purpose: WaitPurpose = "alarm"): number | null {
    return this.#queues.firstMs({ purpose, sensor: normalCode(sensor), kind });
  }

  /** What has waited for long enough, in its order; a limited number at a time. */
  *due(tx: Tx, purpose: WaitPurpose): Generator<Released, void, void> {
    let left = TOGETHER_MAX[purpose];
    for (const queue of this.#queues.toCheck(purpose)) {
      for (const row of this.#queues.take(tx, queue, left, (next) => this.#isDue(next))) {
        left -= 1;
        const reading = readingOfText(row.text);
        // It is taken all the same: the first that waits would otherwise keep all others waiting for ever.
        if (reading === null) this.#options.rows?.damaged(row.number);
        else yield { ...queue.of, reading };
      }
      if (left <= 0) return;
    }
  }

  /** Outside any transaction: whether `due` would hand out something. */
  releases(): boolean {
    return this.#queues.isAnyDue((queue) => this.#isDue(queue));
  }

  /** A read of a day is over, whether it found anything or not. */
  noteRead(sensor: string, kind: Kind, read: DayReadAt): void {
    const code = normalCode(sensor);
    if (this.#signals.ofStream(code, kind).length === 0) return;
    this.#reads.note(streamKey(code, kind), read);
    this.#queues.lookAgain();
  }

  /* ---------- what is awaited ---------- */

  #needs({ purpose, sensor }: Pick<WaitOf, "purpose" | "sensor">): readonly Signal[] {
    const of = this.#signals.ofSensor(sensor);
    if (of === undefined) return [];
    const all = purpose === "alarm" ? [of.running] : [of.running, of.speed];
    return all.filter((signal): signal is Signal => signal?.isRead === true);
  }

  #isKnown(of: Pick<WaitOf, "purpose" | "sensor">, timeMs: number): boolean {
    return this.#needs(of).every((signal) => this.#isKnownAt(signal, timeMs));
  }

  #isKnownAt(signal: Signal, timeMs: number): boolean {
    const { zone = "UTC" } = this.#options;
    const day = dayOf(timeMs, zone);
    const readMs = this.#reads.atMs(streamKey(signal.sensor, signal.kind), day);
    if (readMs === null) return false;
    const points = this.#log.before(signal, timeMs);
    const nextMs = this.#log.firstFrom(signal, timeMs);
    const isPassed = nextMs !== null && dayOf(nextMs, zone) === day;
    if (!isPassed && readMs < timeMs + Math.min(intervalMs(points), INTERVAL_MAX_MS)) return false;
    const earlier = this.#pending(signal).filter((pending) => pending < day);
    if (earlier.length === 0) return true;
    const [oldest] = points;
    if (points.length < INTERVAL_POINTS || oldest === undefined) return false;
    const oldestDay = dayOf(oldest.timeMs, zone);
    return earlier.every((pending) => pending < oldestDay);
  }

  #pending({ sensor, kind }: Signal): readonly string[] {
    return this.#options.pendingDays?.(sensor, kind) ?? [];
  }

  /** Whether a read to come may still tell the state or speed of the sensor's machine at that time. */
  isAwaited(sensor: string, timeMs: number): boolean {
    const day = dayOf(timeMs, this.#options.zone ?? "UTC");
    return this.#needs({ purpose: "bands", sensor: normalCode(sensor) }).some((signal) =>
      this.#pending(signal).some((pending) => pending <= day),
    );
  }

  /** Whether days of the machine's signals before today are still to be read. */
  isBehind({ running, speed }: MachineSignalsOf, nowMs: number): boolean {
    const today = dayOf(nowMs, this.#options.zone ?? "UTC");
    return [running, speed].some(
      (signal) => signal !== null && this.#pending(signal).some((pending) => pending < today),
    );
  }

  /** Whether what has waited this long, ms of running time, may be judged now. */
  isOver(of: Pick<WaitOf, "purpose" | "sensor">, timeMs: number, heldMs: number): boolean {
    if (this.#isKnown(of, timeMs)) return true;
    if (heldMs < HOLD_MAX_MS) return false;
    const day = dayOf(timeMs, this.#options.zone ?? "UTC");
    const isComing = (signal: Signal) => this.#pending(signal).some((pending) => pending <= day);
    return !this.#needs(of).some(isComing);
  }
  #isDue({ of, head }: WaitQueue): boolean {
    return this.isOver(of, head.timeMs, this.#queues.heldMs(head));
  }
}
