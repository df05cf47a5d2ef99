/**
 * New readings of one sensor and kind on their way through the alarms, with readings of other sensors that waited for
 * them.
 */
import { type Kind, normalCode } from "../sensor.ts";
import type { CompiledSensor } from "./compile.ts";
import { type AlarmContext, isFollowed, machineStateAt } from "./context.ts";
import type { AlarmEvent } from "./event.ts";
import type { FollowedReading, FollowUp, LearningSample } from "./follow-up.ts";
import { type ReadingOutcome, ReadingStep } from "./reading-step.ts";
import type { WaitingReading } from "./sensor-alarms.ts";

export class ReadingPass {
  readonly #context: AlarmContext;
  readonly #codes = new Set<string>();
  readonly #events: AlarmEvent[] = [];
  readonly #samples: LearningSample[] = [];

  constructor(context: AlarmContext) {
    this.#context = context;
  }

  /** Evaluates the readings in order of time; those dated in the future say nothing about the present. */
  take(compiled: CompiledSensor, kind: Kind, readings: readonly FollowedReading[]): FollowUp {
    const { machines, states } = this.#context;
    const code = normalCode(compiled.sensor.code);
    this.#codes.add(code);
    const state = states.edit(code);
    const inOrder = readings
      .filter(({ isFuture }) => !isFuture)
      .toSorted((a, b) => a.timeMs - b.timeMs);
    if (this.#isUnwatched(code, kind, inOrder)) {
      const { timeMs, id } = inOrder[inOrder.length - 1] as FollowedReading;
      state.newest.set(kind, { timeMs, id });
      return states.followUp(this.#codes, this.#events, this.#samples);
    }
    const isSignal = machines.isSignal(code, kind);
    for (const [i, reading] of inOrder.entries()) {
      machines.note(state, code, kind, reading);
      this.#step(compiled, kind, reading, (step) => step.take());
      const untilMs = inOrder[i + 1]?.timeMs ?? Number.POSITIVE_INFINITY;
      if (isSignal) this.#judgeWaiting(code, kind, reading.timeMs, untilMs);
    }
    return states.followUp(this.#codes, this.#events, this.#samples);
  }

  /** True for good readings in their order of which nothing is watched, as most are: only the newest of them is remembered. */
  #isUnwatched(code: string, kind: Kind, inOrder: readonly FollowedReading[]): boolean {
    if (inOrder.length === 0 || isFollowed(this.#context, code, kind)) return false;
    const { newest, waiting } = this.#context.states.of(code);
    if (waiting.has(kind)) return false;
    let last = newest.get(kind)?.timeMs ?? Number.NEGATIVE_INFINITY;
    return inOrder.every(({ timeMs, quality }) => {
      const isNewer = timeMs > last;
      last = timeMs;
      return isNewer && Object.keys(quality).length === 0;
    });
  }

  #step(
    { sensor, watches }: CompiledSensor,
    kind: Kind,
    reading: FollowedReading,
    take: (step: ReadingStep) => ReadingOutcome,
  ): void {
    const { machines, samples, site, states } = this.#context;
    const code = normalCode(sensor.code);
    const state = states.edit(code);
    const around = {
      site,
      sensor,
      watches: watches.get(kind) ?? [],
      hasRunning: machines.hasRunning(sensor),
      machine: machineStateAt(this.#context, code, reading.timeMs),
      samples: (key: string) => samples.of(code, key),
    };
    const outcome = take(new ReadingStep(state, around, kind, reading));
    this.#events.push(...outcome.events);
    if (outcome.learned === null) return;
    const text = JSON.stringify(outcome.learned);
    this.#samples.push({ sensor: sensor.code, number: state.nextSample, text });
    state.nextSample += 1;
  }

  /**
   * Evaluates the readings from `fromMs` to before `untilMs` that waited for this signal and whose machine state is
   * known now. Sensors are polled one after the other, so readings of a driven machine may well be stored before its
   * speed.
   */
  #judgeWaiting(signal: string, signalKind: Kind, fromMs: number, untilMs: number): void {
    const { machines, sensors, states } = this.#context;
    for (const [code, compiled] of sensors) {
      if (states.of(code).waiting.size === 0) continue;
      if (!machines.isRunningSignal(compiled.sensor, signal, signalKind)) continue;
      for (const [kind, waiting] of states.of(code).waiting) {
        const isDue = ({ reading: { timeMs } }: WaitingReading) =>
          timeMs >= fromMs &&
          timeMs < untilMs &&
          machineStateAt(this.#context, code, timeMs) !== null;
        const due = waiting.filter(isDue);
        if (due.length === 0) continue;
        this.#codes.add(code);
        const rest = waiting.filter((one) => !due.includes(one));
        const state = states.edit(code);
        state.isChanged = true;
        if (rest.length === 0) state.waiting.delete(kind);
        else state.waiting.set(kind, rest);
        for (const { reading, isLate } of due) {
          this.#step(compiled, kind, reading, (step) => step.takeWaiting(isLate));
        }
      }
    }
  }
}
