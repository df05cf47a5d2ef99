/** Sentences on a line that nothing explains, and its alarm. Never a diagnosis, never an all-clear. */
import { type AlarmEvent, eventId } from "../../../core/alarm/event.ts";
import { type Cannot, UNEXPLAINED, type UnexplainedLine } from "../../../core/diagnosis/finding.ts";
import type { Machine } from "../../../core/machine.ts";
import type { Sensor } from "../../../core/sensor.ts";
import { shaftAt } from "../../../core/shaft.ts";
import { FINDING_ALARM } from "../../alarms/api.ts";
import {
  FACTOR_MAX,
  FACTOR_MIN,
  factorOf,
  KEEP_SHARE,
  type StandingLineAlarm,
  seenTimes,
  type UnexplainedChange,
  type UnexplainedState,
} from "./unexplained-state.ts";

/** Where a line at half of the speed is one of a speed sensor that sees each pulse twice. */
const HALF = 0.5;
const HALF_SHARE = 0.02;
const RATIO_SHARE = 0.002;
const DIGITS = 4;

export interface LineContext {
  readonly machine: Machine;
  readonly sensor: Sensor;
  /** Both by their names. */
  readonly place: string;
  /** Of the sensor that gives the speed. */
  readonly pulsesPerRevolution: number;
}

/** Of the newest reading. */
export function cannotExplain(
  line: UnexplainedLine,
  state: UnexplainedState,
  context: LineContext,
): Cannot {
  const { hz, order, level, axis } = line;
  const text = `A line at ${placeOf(line, context)} makes most of the velocity, ${amount(level)}, and nothing that the site file says explains it. ${offer(line, state, context)}`;
  const at = { hz, order, level, axis };
  return { finding: null, bearing: null, reason: "unexplained_line", text, ...at };
}

/** What is added to a zone alarm of its axis. */
export function unexplainedHint(
  line: UnexplainedLine,
  state: UnexplainedState,
  context: LineContext,
): string {
  return `Most of it is a line at ${placeOf(line, context)} that nothing in the site file explains. ${offer(line, state, context)}`;
}

export function unexplainedEvent(
  { change, alarm }: UnexplainedChange,
  state: UnexplainedState,
  context: LineContext,
  readingId: string,
  timeMs: number,
): AlarmEvent {
  const { sensor } = context;
  const { line, worst, raisedMs, sinceMs, missed } = alarm;
  const isEnded = change === "ended";
  const hysteresis = Number(((1 - KEEP_SHARE) * line.limit).toPrecision(12));
  return {
    id: isEnded ? eventId(FINDING_ALARM, sensor.code, UNEXPLAINED, readingId, change) : alarm.id,
    sensor: sensor.code,
    kind: "accel",
    value: UNEXPLAINED,
    alarm: FINDING_ALARM,
    severity: "warning",
    state: isEnded ? "cleared" : "active",
    timeMs,
    limit: line.limit,
    hysteresis,
    measured: isEnded ? null : line.level,
    unit: "mm/s",
    readingId,
    raisedMs,
    sinceMs,
    worst: { measured: worst.level, timeMs: worst.timeMs },
    acknowledged: null,
    shelved: null,
    note: null,
    reason: null,
    text: isEnded
      ? `No longer seen: the unexplained line at ${line.hz.toFixed(1)} Hz on ${context.place}, in ${missed} readings in a row.`
      : alarmText(alarm, state, context),
    historical: false,
  };
}

function alarmText(
  { line }: StandingLineAlarm,
  state: UnexplainedState,
  context: LineContext,
): string {
  return `Unexplained line on ${context.place}: ${placeOf(line, context)}, ${amount(line.level)}, in ${seenTimes(state, line)}. ${offer(line, state, context)}`;
}

function placeOf({ hz, order, axis }: UnexplainedLine, { machine, sensor }: LineContext): string {
  const shaft = shaftAt(machine, sensor.location);
  const of = shaft === null ? "" : ` of the ${shaft.name}`;
  return `${hz.toFixed(1)} Hz (${order.toPrecision(3)}x${of}, axis ${axis})`;
}

const amount = (level: number) => `${level.toPrecision(3)} mm/s RMS`;

/** What would explain it. */
function offer(
  { order }: UnexplainedLine,
  { constant }: UnexplainedState,
  { machine, sensor, pulsesPerRevolution }: LineContext,
): string {
  if (Math.abs(order / HALF - 1) <= HALF_SHARE)
    return `It stands at half of the measured speed: check the pulses per revolution of the speed sensor (\`pulsesPerRevolution\` ${2 * pulsesPerRevolution} would fit).`;
  const ratio = order * (shaftAt(machine, sensor.location)?.speedRatio ?? 1);
  const shaft = `another shaft or a belt may turn there (\`speedRatio\` ${rounded(ratio)} would fit)`;
  const isOfClock = constant !== null && Math.abs(order / constant.ratio - 1) <= RATIO_SHARE;
  const off = isOfClock ? factorOf(constant) : null;
  const factor = (off ?? 0) * (sensor.sampleRateFactor ?? 1);
  if (factor < FACTOR_MIN || factor > FACTOR_MAX)
    return `${shaft.charAt(0).toUpperCase()}${shaft.slice(1)}.`;
  return `It keeps this ratio at several speeds, and so does its double: the sensor's clock may be off (\`sampleRateFactor\` ${rounded(factor)} would fit), or ${shaft}.`;
}

const rounded = (value: number) => Number(value.toPrecision(DIGITS));
