/** Evaluates one reading: the faults whose pattern it shows, and those that could not be checked. Pure. */

import { bearingOrders, suppliesOf } from "../../../core/bearing-orders.ts";
import {
  type CannotReason,
  type FindingKind,
  findingKey,
  type Judgement,
  type Verdict,
} from "../../../core/diagnosis/finding.ts";
import { type Bearing, bearingName, type Machine } from "../../../core/machine.ts";
import type { ChannelTones } from "../../../core/reading.ts";
import type { Sensor } from "../../../core/sensor.ts";
import { zoneLimits } from "../../../pipeline/signal/severity.ts";
import { bearingFaults } from "./bearings.ts";
import { axisLooks, type Look, seenShare } from "./look.ts";
import { bladePass, electrical, gearMesh } from "./process-rules.ts";
import { isSteady, normalBy, orderLevels, type Reference, topSpeed } from "./reference.ts";
import { APART_LINES, beyond, coarse, Rest, speedDoubt } from "./rest.ts";
import { beltLine, shaftOf } from "./shaft.ts";
import { shaftFaults } from "./shaft-faults.ts";
import { THRESHOLDS, type Thresholds } from "./thresholds.ts";
import { type UnexplainedInput, unexplainedLines } from "./unexplained.ts";
import { sayBelowLevel } from "./why-silent.ts";

/** For a sensor without a class: ISO 10816-3 group 2 on a flexible, or group 1 on a rigid support. */
const DEFAULT_LIMITS = [2.3, 4.5, 7.1] as const;
/** Below this speed a shaft counts as stopped, r/min. */
const TURNING_RPM = 30;

export interface Measured {
  readonly tones: readonly ChannelTones[];
  readonly values: Readonly<Record<string, unknown>>;
}

export interface JudgeInput {
  readonly machine: Machine;
  readonly sensor: Pick<Sensor, "location" | "machineClass" | "limits" | "channels">;
  /** r/min at the time of the reading; null: unknown. */
  readonly speedRpm: number | null;
  /** A belt slips: the speed is only within 2 % of the shaft's. */
  readonly isBelt?: boolean;
  /** `unknown` if the machine names a signal and that has no value. */
  readonly state: "running" | "standing" | "unknown";
  readonly isHeld: (key: string) => boolean;
  /** What may explain a line; absent: none is looked for. */
  readonly unexplained?: Pick<UnexplainedInput, "machine" | "speed" | "standing" | "keepShare">;
  /** The shaft's normal state, as learned. */
  readonly reference?: Reference | null;
  /** See `Look`. */
  readonly fullRpm?: (key: string) => number | null;
  readonly thresholds?: Thresholds;
}

const NOTHING: Omit<Judgement, "cannot"> = { verdicts: [], judged: [] };

/** Bearings at the sensor's point, by their names. */
function bearingsOf({ machine, sensor }: JudgeInput): (readonly [string, Bearing])[] {
  const all = (machine.bearings ?? []).map(
    (bearing, i) => [bearingName(bearing, i), bearing] as const,
  );
  return all.filter(([, { point }]) => point === sensor.location?.point);
}

/** Multiples of the shaft frequency at which bearings have lines. */
function linesOf(bearings: readonly (readonly [string, Bearing])[]): number[] {
  return bearings.flatMap(([, bearing]) => {
    const { bpfo, bpfi, bsf } = bearingOrders(bearing);
    return [bpfo, bpfi, bsf, bsf === null ? null : 2 * bsf].filter((order) => order !== null);
  });
}

export function judge({ tones, values }: Measured, around: JudgeInput): Judgement {
  const measured = { tones: tones.filter(({ isDamaged }) => isDamaged !== true), values };
  const refusal = refuse(measured, around);
  if (refusal !== null) {
    const [reason, text] = refusal;
    return { ...NOTHING, cannot: [{ finding: null, bearing: null, reason, text }] };
  }
  const { machine, sensor, isHeld, thresholds = THRESHOLDS } = around;
  const axes = axisLooks(measured.tones, measured.values);
  const ratedHz = (around.speedRpm ?? 0) / 60;
  const beltHz =
    around.isBelt === true
      ? beltLine(
          axes.map(({ accel }) => accel),
          ratedHz,
        )
      : null;
  const measuredHz = beltHz ?? ratedHz;
  const bearings = bearingsOf(around);
  const bearingOrders = linesOf(bearings);
  const shaft = shaftOf(
    axes.map(({ accel }) => accel),
    measuredHz,
    { suppliesHz: suppliesOf(machine), bearingOrders, slip: thresholds.slip },
  );
  const look: Look = {
    axes,
    machine,
    measuredHz,
    shaftHz: shaft.hz,
    isSeen: shaft.isSeen || beltHz !== null,
    isBelt: around.isBelt === true,
    shaftLines: shaft.lines,
    besideHz: shaft.besideHz,
    isBesideDouble: shaft.isBesideDouble,
    bearingOrders,
    // One that is not stated may be any: the others do not tell which.
    hasAxes: axes.every(({ channel }) => sensor.channels[`channel${channel}`]?.axis !== undefined),
    normalOf: normalBy(around.reference, 60 * measuredHz),
    limits: zoneLimits(sensor) ?? DEFAULT_LIMITS,
    thresholds,
    isHeld,
    fullRpm: around.fullRpm ?? (() => null),
    topRpm: topSpeed(around.reference, 60 * measuredHz),
    isSteady: isSteady(around.reference, 60 * measuredHz),
  };
  const rest = new Rest();
  bearingFaults(look, bearings, rest);
  const hasPlay = rest.verdicts.some(({ stage }) => stage > 1);
  shaftFaults(look, rest, hasPlay);
  processFaults(look, rest);
  const isSuspected = (finding: FindingKind) => rest.has(finding) || isHeld(finding);
  const levels = shaft.besideHz === null ? orderLevels(look, isSuspected) : null;
  const { cannot, judged, verdicts } = rest;
  return {
    verdicts: verdicts.map((verdict) => withSpeed(look, verdict)),
    cannot,
    judged,
    isShaftSeen: shaft.isSeen,
    levels,
    unexplained:
      around.unexplained === undefined
        ? null
        : unexplainedLines(look, { ...around.unexplained, sensor, verdicts }),
  };
}

/** Marks a fault that reaches its limit only because the limit was lowered with the speed. */
function withSpeed(look: Look, verdict: Verdict): Verdict {
  const key = findingKey(verdict.finding, verdict.bearing);
  const fullLimit = verdict.limit / seenShare(look, key);
  return look.isHeld(key) || verdict.level >= fullLimit
    ? verdict
    : { ...verdict, isBelowFull: true };
}

function refuse(
  { tones }: Measured,
  { machine, speedRpm, state, thresholds = THRESHOLDS }: JudgeInput,
): readonly [CannotReason, string] | null {
  if (state === "standing") return ["machine_standing", "The machine is not running."];
  if (machine.speed === undefined) {
    return [
      "speed_unknown",
      "Findings need the shaft speed: set the machine's `speed` to a sensor of kind rpm. A nominal speed is not used.",
    ];
  }
  if (speedRpm === null) {
    return [
      "speed_unknown",
      `Findings need the shaft speed: sensor ${machine.speed.sensor} has no speed reading that is recent enough for this record.`,
    ];
  }
  if (state === "unknown") {
    return [
      "state_unknown",
      "There is no recent signal that shows whether the machine is running.",
    ];
  }
  if (speedRpm < TURNING_RPM) {
    const text = `The machine is not running: its speed of ${Math.round(speedRpm)} r/min is below ${TURNING_RPM}.`;
    return ["machine_standing", text];
  }
  const [usable] = tones.filter((axis) => axis.tones !== null);
  if (usable === undefined) return ["record_short", "The record is too short for a spectrum."];
  if (tones.every((axis) => axis.isClipped || axis.tones === null)) {
    return ["overloaded", "The sensor was overloaded, which adds lines to its spectrum."];
  }
  const turns = (usable.durationS * speedRpm) / 60;
  if (turns < thresholds.revolutionsMin) {
    const text = `The record of ${usable.durationS.toFixed(2)} s is too short: it holds ${turns.toFixed(1)} revolutions at ${Math.round(speedRpm)} r/min, but ${thresholds.revolutionsMin} are needed.`;
    return ["record_short", text];
  }
  return null;
}

function processFaults(look: Look, rest: Rest): void {
  const { blades, teeth = [], lineHz } = look.machine;
  const [axis] = look.axes;
  if (axis === undefined) return;
  const { resolutionHz, topHz } = axis.accel;
  const isMains = (hz: number) =>
    lineHz !== undefined && Math.abs(hz - 2 * lineHz) < APART_LINES * resolutionHz;
  if (blades !== undefined) {
    const hz = blades * look.shaftHz;
    if (hz > topHz)
      rest.cannotTell("blade_pass", null, "sample_rate_low", beyond("Blade pass", hz, topHz));
    else if (isMains(hz)) {
      const text = `Blade pass (${hz.toFixed(2)} Hz) and twice the mains frequency are closer than ${APART_LINES} lines of ${resolutionHz.toFixed(2)} Hz.`;
      rest.cannotTell("blade_pass", null, "resolution_coarse", text);
    } else {
      const { verdict, below } = bladePass(look);
      rest.record("blade_pass", verdict);
      if (verdict === null && below !== null) sayBelowLevel("blade_pass", below, rest);
    }
    if (rest.has("looseness") && !look.isHeld("blade_pass")) {
      const text =
        "Looseness causes many multiples of the shaft frequency, also that of the blades.";
      rest.speaksAgainst(look, "blade_pass", "looseness_present", text);
    }
  }
  if (teeth.length > 0) {
    const lowest = Math.min(...teeth) * look.shaftHz;
    if (lowest > topHz) {
      rest.cannotTell("gear_mesh", null, "sample_rate_low", beyond("Gear mesh", lowest, topHz));
    } else if (look.shaftHz < 3 * resolutionHz) {
      rest.cannotTell("gear_mesh", null, "resolution_coarse", coarse("side bands", resolutionHz));
    } else {
      const { verdict, below } = gearMesh(look);
      rest.record("gear_mesh", verdict);
      if (verdict === null && below !== null) sayBelowLevel("gear_mesh", below, rest);
      const above = teeth.filter((count) => count * look.shaftHz > topHz);
      if (above.length > 0) {
        const text = `Not the mesh of ${above.join(" and ")} teeth: it is above ${topHz.toFixed(0)} Hz, the limit of this sample rate.`;
        rest.cannotTell("gear_mesh", null, "sample_rate_low", text);
      }
    }
  }
  const doubt = speedDoubt(look);
  for (const finding of ["blade_pass", "gear_mesh"] as const) {
    if (doubt !== null && !rest.has(finding)) rest.withdraw(finding, "speed_doubtful", doubt);
  }
  if (lineHz !== undefined) {
    const { verdict, isTooClose } = electrical(look);
    if (isTooClose) {
      const text = `A line near twice the mains frequency (${2 * lineHz} Hz) may be a multiple of the shaft frequency: they are too close for lines of ${resolutionHz.toFixed(2)} Hz.`;
      rest.cannotTell("electrical", null, "resolution_coarse", text);
    } else rest.record("electrical", verdict);
    const besideHz = look.besideHz ?? 0;
    if (doubt !== null && isMains(2 * besideHz))
      rest.withdraw("electrical", "speed_doubtful", doubt);
  }
}
