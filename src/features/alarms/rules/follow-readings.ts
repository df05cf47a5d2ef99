/**
 * The step of one response: new readings of one sensor and kind on their way through the alarms, with readings of other
 * sensors that waited for them. What changes is a draft of the transaction, which the engine compares and saves.
 */

import type { CompiledSensor, Watch } from "../../../core/alarm/compile.ts";
import type { FollowedReading, MachineState } from "../../../core/followed-reading.ts";
import { changedScales, isScaledBy, parseScales } from "../../../core/scaling.ts";
import { type Kind, normalCode } from "../../../core/sensor.ts";
import { waitingText } from "../../machines/api.ts";
import type { AlarmChange, AlarmContext } from "./context.ts";
import { ReadingStep } from "./reading-step.ts";
import { isRescaled, rescale } from "./rescale.ts";
import { followRecord, followSignal } from "./running-signal.ts";
import { hasFormer, takeOver } from "./take-over.ts";

/** Evaluates the readings in order of time; those dated in the future say nothing about the present. */
export function followReadings(
  change: AlarmChange,
  compiled: CompiledSensor,
  kind: Kind,
  readings: readonly FollowedReading[],
): void {
  const code = normalCode(compiled.sensor.code);
  const inOrder = readings
    .filter(({ isFuture }) => !isFuture)
    .toSorted((a, b) => a.timeMs - b.timeMs);
  const [first, newest] = [inOrder[0], inOrder.at(-1)];
  const takesOver = first !== undefined && hasFormer(change, compiled);
  if (newest !== undefined && !takesOver && isUnwatched(change, code, kind, inOrder)) {
    const { timeMs, id } = newest;
    const state = change.states.edit(change.tx, code);
    state.newest.set(kind, { timeMs, id });
    state.written ??= compiled.sensor.code;
    return;
  }
  if (takesOver) takeOver(change, compiled, first.timeMs);
  // Before the first reading by another scale is judged: `reconcile` may come after it.
  if (first !== undefined && isRescaled(change, compiled)) rescale(change, compiled, first.timeMs);
  for (const reading of inOrder) arrive(change, compiled, kind, reading);
  if (!change.wait.isSignal(code, kind)) return;
  followSignal(change, compiled.sensor, kind, inOrder);
  judgeDue(change);
}

/** Evaluates readings whose machine state is known by now. */
export function judgeDue(change: AlarmChange): void {
  const { sensors, tx, wait } = change;
  for (const { sensor, kind, isLate, reading } of wait.due(tx, "alarm")) {
    const compiled = sensors.get(sensor);
    if (compiled !== undefined) judge(change, compiled, kind, reading, isLate);
  }
}

/** Whether anything of a sensor and kind is watched, is a signal of a machine, or may still clear an alarm. */
export function isFollowed(
  { sensors, wait, states }: AlarmContext,
  sensor: string,
  kind: Kind,
): boolean {
  const code = normalCode(sensor);
  const compiled = sensors.get(code);
  if (compiled === undefined) return false;
  if ((compiled.watches.get(kind) ?? []).length > 0) return true;
  if (wait.isSignal(code, kind) || needsSignal(wait, code, kind)) return true;
  const { live, past } = states.of(code);
  return live.size > 0 || past.size > 0;
}

/** True for good readings in their order of which nothing is watched, as most are: only the newest of them is remembered. */
function isUnwatched(
  change: AlarmChange,
  code: string,
  kind: Kind,
  inOrder: readonly FollowedReading[],
): boolean {
  if (isFollowed(change, code, kind)) return false;
  let last = change.states.of(code).newest.get(kind)?.timeMs ?? Number.NEGATIVE_INFINITY;
  return inOrder.every(({ timeMs, quality }) => {
    const isNewer = timeMs > last;
    last = timeMs;
    return isNewer && Object.keys(quality).length === 0;
  });
}

/** What does not depend on the machine's state is evaluated at once, the rest when that is known. */
function arrive(
  change: AlarmChange,
  compiled: CompiledSensor,
  kind: Kind,
  reading: FollowedReading,
): void {
  const { tx, wait } = change;
  const code = normalCode(compiled.sensor.code);
  const watches = compiled.watches.get(kind) ?? [];
  const waiting = wait.hasRunning(code) ? watches.filter(dependsOnState) : [];
  const direct =
    waiting.length === 0 ? watches : watches.filter((watch) => !waiting.includes(watch));
  let isLate = false;
  evaluate(change, compiled, kind, reading, direct, null, (step) => {
    isLate = step.take(new Set(waiting.map(({ key }) => key)));
  });
  const isDoubting = needsSignal(wait, code, kind);
  if (waiting.length === 0 && !isDoubting) return;
  const of = { purpose: "alarm", sensor: code, kind, isLate } as const;
  const names = waiting.flatMap(({ value, test }) => {
    const zone = test.type === "limits" ? null : test.zone;
    const displacement = test.type === "zone" ? test.displacement : null;
    return [value, zone, displacement?.value].filter((name) => typeof name === "string");
  });
  if (isDoubting) names.push(...Object.keys(reading.values).filter(isVelocity));
  const { scales } = compiled;
  const text = () => waitingText({ ...partOf(reading, names), scales });
  if (wait.admit(tx, of, reading.timeMs, text)) judge(change, compiled, kind, reading, isLate);
}

/** Evaluates what depends on the machine's state, as it is known now. */
function judge(
  change: AlarmChange,
  compiled: CompiledSensor,
  kind: Kind,
  reading: FollowedReading,
  isLate: boolean,
): void {
  const { wait } = change;
  const isDoubting = needsSignal(wait, normalCode(compiled.sensor.code), kind);
  // Before its state is asked for: the record that raises it counts as one of an unknown state.
  if (isDoubting && !isLate) followRecord(change, compiled.sensor, kind, reading);
  const machine = wait.stateAt(compiled.sensor.code, reading.timeMs);
  const { scales = compiled.scales } = reading;
  // What waited while its channel was given another scale has numbers that can no longer be compared.
  const changed =
    scales === compiled.scales
      ? null
      : changedScales(parseScales(scales), parseScales(compiled.scales));
  const watches = (compiled.watches.get(kind) ?? []).filter(
    (watch) =>
      dependsOnState(watch) && (changed === null || !isScaledBy(changed, kind, watch.value)),
  );
  evaluate(change, compiled, kind, reading, watches, machine, (step) => step.takeWaited(isLate));
}

function evaluate(
  change: AlarmChange,
  { sensor }: CompiledSensor,
  kind: Kind,
  reading: FollowedReading,
  watches: readonly Watch[],
  machine: MachineState | null,
  take: (step: ReadingStep) => void,
): void {
  const { completed, events, learning, samples, site, states, tx, wait } = change;
  const code = normalCode(sensor.code);
  const state = states.edit(tx, code);
  const around = {
    site,
    sensor,
    watches,
    hasRunning: wait.hasRunning(code),
    machine,
    samples: (key: string, from: number) => learning.of(code, key, from),
  };
  const step = new ReadingStep(state, around, kind, reading);
  take(step);
  events.push(...step.events);
  const { completed: learned, learned: sample } = step.levels;
  for (const baseline of learned)
    completed.push({ sensor: sensor.code, kind, baseline, timeMs: reading.timeMs, id: reading.id });
  if (sample === null) return;
  samples.push({ sensor: code, number: state.nextSample, text: JSON.stringify(sample) });
  state.nextSample += 1;
}

/** Whether a record may show that its machine's running signal is wrong. */
const needsSignal = (wait: AlarmContext["wait"], code: string, kind: Kind) =>
  kind === "accel" && wait.hasRunning(code);

const isVelocity = (name: string) => name.endsWith("_vel_rms");

/** Vibration of a standing machine is none of its own. */
function dependsOnState({ isVibration, onlyRunning, test }: Watch): boolean {
  return isVibration || onlyRunning || test.type === "baseline";
}

function partOf(reading: FollowedReading, names: readonly string[]): FollowedReading {
  const { id, timeMs, isFuture, values, quality, record } = reading;
  const part = { id, timeMs, isFuture, record };
  return { ...part, values: pick(values, names), quality: pick(quality, names) };
}

function pick<T>(from: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
