/**
 * New readings of one sensor and kind on their way through the alarms, with readings of other sensors that waited for
 * them.
 */
import { readingOfText, waitingText } from "../machine-state/waiting-text.ts";
import { changedScales, type Scales, scaleKey } from "../scaling.ts";
import { type Kind, normalCode } from "../sensor.ts";
import type { CompiledSensor, Watch } from "./compile.ts";
import { type AlarmChange, isFollowed } from "./context.ts";
import type { AlarmEvent } from "./event.ts";
import type {
  CompletedBaseline,
  FollowedReading,
  FollowUp,
  LearningSample,
  MachineState,
} from "./follow-up.ts";
import { ReadingStep } from "./reading-step.ts";
import { isRescaled, rescale } from "./rescale.ts";
import { hasFormer, takeOver } from "./take-over.ts";

export class ReadingPass {
  readonly #context: AlarmChange;
  readonly #codes = new Set<string>();
  readonly #events: AlarmEvent[] = [];
  readonly #samples: LearningSample[] = [];
  readonly #completed: CompletedBaseline[] = [];

  constructor(context: AlarmChange) {
    this.#context = context;
  }

  /** Evaluates the readings in order of time; those dated in the future say nothing about the present. */
  take(compiled: CompiledSensor, kind: Kind, readings: readonly FollowedReading[]): FollowUp {
    const code = normalCode(compiled.sensor.code);
    const inOrder = readings
      .filter(({ isFuture }) => !isFuture)
      .toSorted((a, b) => a.timeMs - b.timeMs);
    this.#codes.add(code);
    if (this.#isUnwatched(code, kind, inOrder)) {
      const { timeMs, id } = inOrder[inOrder.length - 1] as FollowedReading;
      this.#context.states.edit(this.#context.tx, code).newest.set(kind, { timeMs, id });
      return this.#followUp();
    }
    const [first] = inOrder;
    if (first !== undefined && hasFormer(this.#context, compiled))
      this.#takeOver(compiled, first.timeMs);
    // Before the first reading by another scale is judged: `reconcile` may come after it.
    if (first !== undefined && isRescaled(this.#context, compiled))
      this.#events.push(...rescale(this.#context, compiled, first.timeMs));
    for (const reading of inOrder) this.#take(compiled, kind, reading);
    return this.#context.wait.isSignal(code, kind) ? this.takeDue() : this.#followUp();
  }

  #takeOver(compiled: CompiledSensor, timeMs: number): void {
    const { codes, events, samples } = takeOver(this.#context, compiled, timeMs);
    for (const code of codes) this.#codes.add(code);
    this.#events.push(...events);
    this.#samples.push(...samples);
  }

  /** Evaluates readings whose machine state is known by now. */
  takeDue(): FollowUp {
    const { sensors, tx, wait } = this.#context;
    for (const { sensor, kind, isLate, text } of wait.due(tx, "alarm")) {
      const compiled = sensors.get(sensor);
      if (compiled === undefined) continue;
      this.#codes.add(sensor);
      this.#judge(compiled, kind, readingOfText(text), isLate);
    }
    return this.#followUp();
  }

  #followUp(): FollowUp {
    const { states, tx } = this.#context;
    const up = states.followUp(tx, this.#codes, this.#events, this.#samples);
    return { ...up, completed: this.#completed };
  }

  /** True for good readings in their order of which nothing is watched, as most are: only the newest of them is remembered. */
  #isUnwatched(code: string, kind: Kind, inOrder: readonly FollowedReading[]): boolean {
    if (inOrder.length === 0 || isFollowed(this.#context, code, kind)) return false;
    let last = this.#context.states.of(code).newest.get(kind)?.timeMs ?? Number.NEGATIVE_INFINITY;
    return inOrder.every(({ timeMs, quality }) => {
      const isNewer = timeMs > last;
      last = timeMs;
      return isNewer && Object.keys(quality).length === 0;
    });
  }

  /** What does not depend on the machine's state is evaluated at once, the rest when that is known. */
  #take(compiled: CompiledSensor, kind: Kind, reading: FollowedReading): void {
    const { tx, wait } = this.#context;
    const code = normalCode(compiled.sensor.code);
    const hasRunning = wait.hasRunning(code);
    const watches = compiled.watches.get(kind) ?? [];
    const waiting = hasRunning ? watches.filter(dependsOnState) : [];
    const direct =
      waiting.length === 0 ? watches : watches.filter((watch) => !waiting.includes(watch));
    let isLate = false;
    this.#step(compiled, kind, reading, direct, null, (step) => {
      isLate = step.take(new Set(waiting.map(({ key }) => key)));
    });
    if (waiting.length === 0) return;
    const of = { purpose: "alarm", sensor: code, kind, isLate } as const;
    const names = waiting.flatMap(({ value, test }) =>
      test.type === "limits" || test.zone === null ? [value] : [value, test.zone],
    );
    const { scales } = compiled;
    const text = () => waitingText({ ...partOf(reading, names), scales });
    if (wait.admit(tx, of, reading.timeMs, text)) this.#judge(compiled, kind, reading, isLate);
  }

  /** Evaluates what depends on the machine's state, as it is known now. */
  #judge(compiled: CompiledSensor, kind: Kind, reading: FollowedReading, isLate: boolean): void {
    const machine = this.#context.wait.stateAt(compiled.sensor.code, reading.timeMs);
    const { scales = compiled.scales } = reading;
    // What waited while its channel was given another scale has numbers that can no longer be compared.
    const changed =
      scales === compiled.scales
        ? null
        : changedScales(JSON.parse(scales) as Scales, JSON.parse(compiled.scales) as Scales);
    const watches = (compiled.watches.get(kind) ?? []).filter(
      (watch) => dependsOnState(watch) && changed?.has(scaleKey(kind, watch.value)) !== true,
    );
    this.#step(compiled, kind, reading, watches, machine, (step) => step.takeWaited(isLate));
  }

  #step(
    { sensor }: CompiledSensor,
    kind: Kind,
    reading: FollowedReading,
    watches: readonly Watch[],
    machine: MachineState | null,
    take: (step: ReadingStep) => void,
  ): void {
    const { samples, site, states, tx, wait } = this.#context;
    const code = normalCode(sensor.code);
    const state = states.edit(tx, code);
    const around = {
      site,
      sensor,
      watches,
      hasRunning: wait.hasRunning(code),
      machine,
      samples: (key: string) => samples.of(code, key),
    };
    const step = new ReadingStep(state, around, kind, reading);
    take(step);
    this.#events.push(...step.events);
    for (const baseline of step.completed)
      this.#completed.push({
        sensor: sensor.code,
        baseline,
        timeMs: reading.timeMs,
        id: reading.id,
      });
    if (step.learned === null) return;
    const text = JSON.stringify(step.learned);
    this.#samples.push({ sensor: sensor.code, number: state.nextSample, text });
    state.nextSample += 1;
  }
}

/** Vibration of a standing machine is none of its own. */
function dependsOnState({ isVibration, onlyRunning, test }: Watch): boolean {
  return isVibration || onlyRunning || test.type === "baseline";
}

function partOf(reading: FollowedReading, names: readonly string[]): FollowedReading {
  const { id, timeMs, isFuture, values, quality } = reading;
  return { id, timeMs, isFuture, values: pick(values, names), quality: pick(quality, names) };
}

function pick<T>(from: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
