/**
 * A machine that shakes though its signal says that it stands: the signal is wrong, a clamp that fell off, a dead gate (plant
 * section 24). From the record that raises this on, the machine's state is unknown.
 */

import type { FollowedReading } from "../../../core/followed-reading.ts";
import type { Machine, RunningSignal } from "../../../core/machine.ts";
import { isOfDamage } from "../../../core/quality.ts";
import { type Kind, normalCode, type Sensor, sameCode } from "../../../core/sensor.ts";
import { nameInSite, placeOfCode } from "../../../core/sensor-names.ts";
import { kindValues } from "../../../core/sensors/kind-values.ts";
import { MINUTE_MS } from "../../../core/time-units.ts";
import { zoneLimits } from "../../../pipeline/signal/severity.ts";
import type { SignalPoint } from "../../machines/api.ts";
import type { AlarmChange, AlarmContext } from "./context.ts";
import { isNothing, normalAlarm } from "./sensor-alarms.ts";
import { amount, runningSignalSentence, runsAgainSentence } from "./sentence.ts";
import { transit } from "./transitions.ts";
import { NORMAL, type WatchState } from "./watch-state.ts";

export const RUNNING_SIGNAL = "running_signal";
export const RUNNING_SIGNAL_KEY = `zone/${RUNNING_SIGNAL}`;

const RECORDS_MIN = 3;
/** Between the first and the last of them, ms. */
const SPAN_MIN_MS = 5.5 * MINUTE_MS;
/** So long before a record, the signal has not said that the machine runs, ms. */
const QUIET_MS = 30 * MINUTE_MS;
/** Without a class: more than a standing machine shows, mm/s, and a share of what this one shows while it runs. */
const LEVEL_MIN = 2.8;
const USUAL_SHARE = 0.8;
const END_SHARE = 0.8;
const HYSTERESIS_SHARE = 1 - END_SHARE;

/** Since when the signal of a sensor's machine is in doubt by this sensor, ms; null while it is not. */
export function doubtedSinceMs({ states }: AlarmContext, code: string): number | null {
  return states.of(code).live.get(RUNNING_SIGNAL_KEY)?.raised?.timeMs ?? null;
}

/** Whether a sensor may have this alarm. */
export function mayDoubt(machine: Machine | undefined, { kinds }: Sensor): boolean {
  return machine?.running !== undefined && kinds.includes("accel");
}

/** Follows a record in its order, whose machine's signal is known around it. */
export function followRecord(
  change: AlarmChange,
  sensor: Sensor,
  kind: Kind,
  reading: FollowedReading,
): void {
  const { site, states, tx, wait } = change;
  const code = normalCode(sensor.code);
  const level = highest(change, sensor, reading);
  const around = wait.runningAround(code, reading.timeMs, QUIET_MS);
  if (level === null || around === null) return;
  const before =
    states.of(code).live.get(RUNNING_SIGNAL_KEY) ??
    normalAlarm({ alarm: "zone", kind, value: RUNNING_SIGNAL, unit: "mm/s" });
  const { measured, limit } = level;
  const isStanding = around.isStandingBefore && around.isStandingAfter && !around.ranLately;
  // Where no reading came after it, the record says nothing.
  if (before.raised === null && around.isStandingBefore && around.after === null) return;
  const seen = { timeMs: reading.timeMs, measured, limit, isSuch: isStanding && measured > limit };
  const watch = nextWatch(before.watch, seen);
  const isRaised = before.watch.active === null && watch.active !== null;
  const isOver = before.watch.active !== null && watch.active === null;
  const cause = { readingId: reading.id, timeMs: reading.timeMs, measured };
  const subject = { site, sensor, type: "zone" as const, isHistorical: false };
  const machine = site.machines?.find(({ id }) => id === sensor.location?.machine);
  const text =
    isRaised && machine?.running !== undefined && around.before !== null
      ? runningSignalSentence(
          machine,
          signalText(site, machine.running, around.before),
          amount(measured, "mm/s"),
        )
      : undefined;
  const word = isRaised ? "raised" : isOver ? "cleared" : null;
  const { state, event } = transit(before, watch, word, cause, subject, text);
  if (!(isNothing(before) && isNothing(state))) states.put(tx, code, RUNNING_SIGNAL_KEY, state);
  if (event !== null) change.events.push(event);
}

/** The signal says that the machine runs: whatever doubted it is over. Readings of the signal, in order of time. */
export function followSignal(
  change: AlarmChange,
  signal: Sensor,
  kind: Kind,
  readings: readonly FollowedReading[],
): void {
  const { events, sensors, site, states, successors, tx, wait } = change;
  for (const machine of site.machines ?? []) {
    const { running } = machine;
    if (running === undefined || running.kind !== kind) continue;
    const own = successors.get(normalCode(running.sensor))?.code ?? running.sensor;
    if (!sameCode(own, signal.code)) continue;
    for (const [code, { sensor }] of sensors) {
      const before = states.of(code).live.get(RUNNING_SIGNAL_KEY);
      if (sensor.location?.machine !== machine.id || !before?.raised) continue;
      const { timeMs: sinceMs } = before.raised;
      const first = readings.find(
        (one) => one.timeMs >= sinceMs && wait.saysRunning(machine.id, one) === true,
      );
      if (first === undefined) continue;
      const cause = { readingId: first.id, timeMs: first.timeMs, measured: null };
      const subject = { site, sensor, type: "zone" as const, isHistorical: false };
      const text = runsAgainSentence(machine);
      const { state, event } = transit(before, NORMAL, "cleared", cause, subject, text);
      states.put(tx, code, RUNNING_SIGNAL_KEY, state);
      if (event !== null) events.push(event);
    }
  }
}

interface Level {
  /** mm/s. */
  readonly measured: number;
  readonly limit: number;
}

/** The highest velocity of the record's sound axes, and its limit; null where there is none. */
function highest(
  { usualLevel }: AlarmChange,
  sensor: Sensor,
  { values, quality, timeMs }: FollowedReading,
): Level | null {
  const limits = zoneLimits(sensor);
  let found: Level | null = null;
  for (const [name, value] of Object.entries(values)) {
    if (!/^channel\d_vel_rms$/.test(name) || typeof value !== "number") continue;
    if (quality[name]?.quality === "bad" || isOfDamage(quality[name])) continue;
    if (found !== null && found.measured >= value) continue;
    const usual = limits === null ? usualLevel(sensor.code, name, timeMs) : null;
    const own = usual === null ? Number.POSITIVE_INFINITY : USUAL_SHARE * usual;
    found = { measured: value, limit: limits?.[2] ?? Math.max(LEVEL_MIN, own) };
  }
  return found;
}

function nextWatch(
  before: WatchState,
  seen: Level & { readonly timeMs: number; readonly isSuch: boolean },
): WatchState {
  const { timeMs, measured, limit, isSuch } = seen;
  const isWorse = measured > (before.worst?.measured ?? 0);
  const worst = isWorse || before.worst === null ? { measured, timeMs } : before.worst;
  const { active, passing, calm = 0 } = before;
  if (active !== null) {
    const isCalm = measured < END_SHARE * (active.limit ?? limit);
    if (isCalm && calm + 1 >= RECORDS_MIN) return NORMAL;
    return { passing: null, active, worst, calm: isCalm ? calm + 1 : 0 };
  }
  if (!isSuch) return NORMAL;
  const sinceMs = passing?.sinceMs ?? timeMs;
  const readings = (passing?.readings ?? 0) + 1;
  const next = { side: "high", sinceMs, readings, alarmSinceMs: null, alarmReadings: 0 } as const;
  if (readings < RECORDS_MIN || timeMs - sinceMs < SPAN_MIN_MS)
    return { passing: next, active: null, worst };
  const hysteresis = Number((HYSTERESIS_SHARE * limit).toPrecision(12));
  return { passing: null, active: { rank: 1, side: "high", limit, hysteresis }, worst, calm: 0 };
}

/** What the signal says, as the sentence has it. */
function signalText(
  site: AlarmContext["site"],
  { sensor: code, kind, value, above, below, is }: RunningSignal,
  { timeMs, value: measured }: SignalPoint,
): string {
  const sensor = site.sensors.find((one) => sameCode(one.code, code));
  const unit = sensor && kindValues(sensor, kind).find(({ name }) => name === value)?.unit;
  const limit =
    above !== undefined
      ? `running above ${above}`
      : below !== undefined
        ? `running below ${below}`
        : `running while ${is ?? true}`;
  const isContact = above === undefined && below === undefined;
  const said = isContact ? String(measured !== 0) : amount(measured, unit ?? null);
  const of = sensor?.name === undefined ? placeOfCode(code, site) : `'${nameInSite(sensor, site)}'`;
  return `${value} of ${of} ${said} at ${new Date(timeMs).toISOString()}, ${limit}`;
}
