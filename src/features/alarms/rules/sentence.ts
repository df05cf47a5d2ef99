/** The sentence of an event, for an operator. */

import type { Machine } from "../../../core/machine.ts";
import { type Sensor, sameCode } from "../../../core/sensor.ts";
import { placeInSite, placeOfCode } from "../../../core/sensor-names.ts";
import type { Site } from "../../../core/site.ts";
import { capital } from "../../../core/text/capital.ts";
import { CALM_READINGS } from "./baseline.ts";
import type { AlarmState } from "./sensor-alarms.ts";
import type { Active } from "./watch-state.ts";

/** Suffixes of vibration values, in words. */
const VIBRATION: Readonly<Record<string, string>> = {
  accel_rms: "Acceleration (RMS)",
  accel_peak: "Acceleration (peak)",
  accel_pp: "Acceleration (peak to peak)",
  crest_factor: "Crest factor",
  kurtosis: "Kurtosis",
  vel_rms: "Vibration velocity (RMS)",
  disp_pp: "Displacement (peak to peak)",
  disp_rms: "Displacement (RMS)",
  env_rms: "Envelope (RMS)",
};
const PLAIN: Readonly<Record<string, string>> = {
  battery: "Battery voltage",
  module_temperature: "Module temperature",
  temperature: "Temperature",
  rpm: "Speed",
  running_signal: "Running signal",
  unexplained: "Unexplained line",
};
const PARTS: Readonly<Record<string, string>> = {
  min: "minimum",
  max: "maximum",
  avg: "average",
  ma: "loop current",
};
const ACCUMULATED = "accumulated_";

/** As the site file's, where it names none. */
const DEFAULT_AXES: Readonly<Record<string, string>> = {
  channel1: "H",
  channel2: "V",
  channel3: "A",
};

/** A value by the name and axis of its channel, as the dashboard shows them. */
export function valueLabel(sensor: Sensor, value: string): string {
  const plain = PLAIN[value];
  if (plain !== undefined) return plain;
  if (value.startsWith(ACCUMULATED))
    return `${valueLabel(sensor, value.slice(ACCUMULATED.length))}, accumulated`;
  const [, channel, suffix] = /^((?:channel|current|input)\d)(?:_(.+))?$/.exec(value) ?? [];
  if (channel === undefined) return value;
  const config = Object.hasOwn(sensor.channels, channel) ? sensor.channels[channel] : undefined;
  // What is not one of these is a band of the machine, by its own name.
  const isVibration = sensor.kinds.includes("accel") && suffix !== undefined;
  const band = isVibration ? `Band ${suffix.replace(/^band_/, "")}` : undefined;
  const word = VIBRATION[suffix ?? ""] ?? band;
  if (word !== undefined) {
    const axis = `axis ${config?.axis ?? DEFAULT_AXES[channel] ?? channel}`;
    return `${word} of ${config?.name === undefined ? axis : `${config.name} (${axis})`}`;
  }
  // Names of the site file stay as they are written: "pH" is no "PH".
  const label = config?.name ?? capital(channel.replace(/\d$/, " $&"));
  if (suffix === undefined) return label;
  return `${label}, ${PARTS[suffix] ?? suffix}`;
}

/** The sensor at the beginning of a sentence. */
function beginning(sensor: Sensor, site: Site): string {
  const label = placeInSite(sensor, site);
  return label.startsWith("sensor ") ? capital(label) : label;
}

/** Digits before the point stay: 14996 rpm is not 15000. */
export function amount(value: number | null, unit: string | null, digits = DIGITS): string {
  if (value === null) return "unknown";
  const whole = String(Math.trunc(Math.abs(value))).length;
  const text = String(Number(value.toPrecision(Math.max(digits, whole))));
  return unit === null || unit === "1" ? text : `${text} ${unit}`;
}

const DIGITS = 4;
const DIGITS_MAX = 15;

/** So many digits that a value and its limit differ as they do: "7.1, above the limit of 7.1" says nothing. */
function digitsApart(value: number | null, limit: number): number {
  if (value === null || value === limit) return DIGITS;
  let digits = DIGITS;
  while (digits < DIGITS_MAX && value.toPrecision(digits) === limit.toPrecision(digits))
    digits += 1;
  // Rounded numbers must not differ the other way than the whole ones.
  return Number(value.toPrecision(digits)) > limit === value > limit ? digits : DIGITS_MAX;
}

export interface Sentence {
  readonly sensor: Sensor;
  readonly site: Site;
  readonly value: string;
  readonly unit: string | null;
  readonly measured: number | null;
  readonly worst: number | null;
}

const BOUND = { high: "above", low: "below" } as const;
const INSIDE = { high: "below", low: "above" } as const;
const ORIGIN = {
  limits: "the limit of",
  zone: "the zone limit of",
  baseline: "the learned limit of",
};

export function activeSentence(
  sentence: Sentence,
  active: Active,
  type: keyof typeof ORIGIN,
): string {
  const head = active.rank === 2 ? "Alarm" : "Warning";
  const what = `${valueLabel(sentence.sensor, sentence.value)} at ${placeInSite(sentence.sensor, sentence.site)}`;
  const digits = active.limit === null ? DIGITS : digitsApart(sentence.measured, active.limit);
  const measured = amount(sentence.measured, sentence.unit, digits);
  if (active.limit === null) {
    return `${head}: ${what} is in zone ${active.rank === 2 ? "D" : "C"} because of its displacement (${measured}).`;
  }
  const bound = BOUND[active.side];
  const isPassed =
    sentence.measured === null ||
    (active.side === "high" ? sentence.measured > active.limit : sentence.measured < active.limit);
  if (!isPassed) {
    const inside = Math.abs(active.limit - (sentence.measured ?? active.limit));
    if (type === "baseline" && inside >= (active.hysteresis ?? 0))
      return `${head}: ${what} is ${measured}, ${INSIDE[active.side]} ${ORIGIN[type]} ${amount(active.limit, sentence.unit, digits)} again, not yet in ${CALM_READINGS} readings in a row.`;
    return `${head}: ${what} is ${measured}, not yet ${amount(active.hysteresis, sentence.unit)} ${INSIDE[active.side]} ${ORIGIN[type]} ${amount(active.limit, sentence.unit, digits)}.`;
  }
  const zone = type === "zone" ? ` (zone ${active.rank === 2 ? "D" : "C"})` : "";
  const worst =
    sentence.worst === null || sentence.worst === sentence.measured
      ? ""
      : `; the worst was ${amount(sentence.worst, sentence.unit)}`;
  return `${head}: ${what} is ${measured}, ${bound} ${ORIGIN[type]} ${amount(active.limit, sentence.unit, digits)}${zone}${worst}.`;
}

/** What somebody, or the time, has done with an alarm. */
export function actionSentence(
  word: string,
  { acknowledged, note, shelved }: Pick<AlarmState, "acknowledged" | "note" | "shelved">,
  by: string | null,
): string {
  const said = (text: string | null | undefined) => (text ? ` (“${text}”)` : "");
  switch (word) {
    case "acknowledge":
      return `Acknowledged by ${acknowledged?.by ?? "unknown"}${said(acknowledged?.note)}.`;
    case "shelve": {
      const until = shelved === null ? "" : ` until ${new Date(shelved.untilMs).toISOString()}`;
      return `Shelved${until} by ${shelved?.by ?? "unknown"}${said(shelved?.note)}.`;
    }
    case "note":
      return `Note by ${note?.by ?? "unknown"}${said(note?.note)}.`;
    default:
      return by === null ? "The shelf has ended." : `Unshelved by ${by}.`;
  }
}

export function clearedSentence(sentence: Sentence): string {
  const what = `${valueLabel(sentence.sensor, sentence.value)} at ${placeInSite(sentence.sensor, sentence.site)}`;
  return `Cleared: ${what} is back at ${amount(sentence.measured, sentence.unit)}; the worst was ${amount(sentence.worst, sentence.unit)}.`;
}

export function badQualitySentence(
  sensor: Sensor,
  site: Site,
  value: string,
  reason: string,
  readings: number,
): string {
  const what = `${valueLabel(sensor, value)} at ${placeInSite(sensor, site)}`;
  return `Warning: ${what} has had no usable value for ${readings} readings: ${reason.replaceAll("_", " ")}.`;
}

/** Of damaged records. */
export function damagedSentence(sentence: Sentence, reason: string, readings: number): string {
  const { sensor, site, value, measured, unit } = sentence;
  const what = `${valueLabel(sensor, value)} at ${placeInSite(sensor, site)}`;
  return `Warning: ${what} was read as ${amount(measured, unit)}, but ${readings} records in a row are damaged: ${reason.replaceAll("_", " ")}.`;
}

/** @param signal what it says, and its limit */
export function runningSignalSentence(machine: Machine, signal: string, level: string): string {
  return `Warning: ${machineName(machine)} is reported as stopped (${signal}), yet it vibrates at ${level}.`;
}

export function runsAgainSentence(machine: Machine): string {
  return `Cleared: ${machineName(machine)} is reported as running again.`;
}

const machineName = ({ id, name }: Machine) => name ?? `Machine ${id}`;

export function goodAgainSentence(sensor: Sensor, site: Site, value: string): string {
  return `Cleared: ${valueLabel(sensor, value)} at ${placeInSite(sensor, site)} has a usable value again.`;
}

export function silentSentence(
  sensor: Sensor,
  site: Site,
  seconds: number,
  cause: "gateway_down" | "unreadable" | null,
): string {
  const what = beginning(sensor, site);
  const time = duration(seconds);
  // What it sends is unknown.
  if (cause === "unreadable")
    return `Warning: ${what} has had no reading for ${time}; reading it from the gateway fails.`;
  const why = cause === null ? "" : "; the gateway does not respond";
  return `Warning: ${what} has sent nothing for ${time}${why}.`;
}

export function heardAgainSentence(sensor: Sensor, site: Site): string {
  return `Cleared: ${beginning(sensor, site)} is sending again.`;
}

/** An alarm that ended, by names; `code` may be of a sensor that the site knows no more. */
export interface EndedAlarm {
  readonly site: Site;
  readonly code: string;
  readonly alarm: string;
  readonly value: string;
}

function endedAlarm({ site, code, alarm, value }: EndedAlarm): string {
  const sensor = site.sensors.find((one) => sameCode(one.code, code));
  const what = sensor === undefined ? value : valueLabel(sensor, value);
  return `Cleared: alarm ${alarm} on ${what} at ${placeOfCode(code, site)}`;
}

export function removedSentence(ended: EndedAlarm): string {
  return `${endedAlarm(ended)} is no longer configured.`;
}

export function replacedSentence(ended: EndedAlarm, by: string): string {
  return `${endedAlarm(ended)} has ended, because ${placeOfCode(by, ended.site)} replaces it.`;
}

/** @param text of the alarm under the former code */
export function replacingSentence(text: string, former: string): string {
  return `${text} (Continued from sensor ${former}, which was replaced.)`;
}

export function respelledSentence(ended: EndedAlarm, now: string): string {
  return `${endedAlarm(ended)} goes on under the code ${now}.`;
}

export function rescaledSentence(ended: EndedAlarm): string {
  return `${endedAlarm(ended)} has ended, because what it measures was changed: unit, range, clamp, place, axis or band.`;
}

export function otherRecordsSentence(ended: EndedAlarm): string {
  return `${endedAlarm(ended)} has ended, because its records have another sample rate or length now.`;
}

export function otherStatesSentence(ended: EndedAlarm): string {
  return `${endedAlarm(ended)} has ended, because its machine has got or lost its running signal: the normal level is learned anew.`;
}

export function disabledSentence(ended: EndedAlarm): string {
  return `${endedAlarm(ended)} has ended, because its sensor is disabled.`;
}

export function relearnedSentence({ site, code, alarm, value }: EndedAlarm): string {
  const sensor = site.sensors.find((one) => sameCode(one.code, code));
  const what = sensor === undefined ? value : valueLabel(sensor, value);
  return `Cleared: the baseline of ${alarm} on ${what} at ${placeOfCode(code, site)} is being learned again.`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} minutes`;
  return `${Math.round(seconds / 3600)} hours`;
}
