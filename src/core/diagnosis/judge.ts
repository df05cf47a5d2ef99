/** Evaluates one reading: the faults whose pattern it shows, and those that could not be checked. Pure. */
import { type Bearing, bearingName, type Machine } from "../machine.ts";
import type { ChannelTones } from "../reading.ts";
import type { Sensor } from "../sensor.ts";
import { VELOCITY_LIMITS } from "../signal/severity.ts";
import type { ToneList } from "../signal/tones.ts";
import { type BearingFault, faultsOf, isVisible, leadingHarmonic } from "./bearing-families.ts";
import { bearingFault, isOfElement, withoutEchoes } from "./bearing-rules.ts";
import {
  type Cannot,
  type CannotReason,
  type FindingKind,
  findingKey,
  type Judgement,
  type Verdict,
} from "./finding.ts";
import { bearingOrders } from "./frequencies.ts";
import { axisLooks, type Look, seenShaft } from "./look.ts";
import { bladePass, electrical, gearMesh } from "./process-rules.ts";
import { looseness, misalignment, unbalance } from "./shaft-rules.ts";
import { THRESHOLDS, type Thresholds } from "./thresholds.ts";

/** For a sensor without a class: ISO 10816-3 group 2 on a flexible, or group 1 on a rigid support. */
const DEFAULT_LIMITS = [2.3, 4.5, 7.1] as const;
/** Below this speed a shaft counts as stopped, r/min. */
const TURNING_RPM = 30;
/** A frequency and the nearest multiple of the shaft's must be this many lines apart. */
const APART_LINES = 1.5;

export interface Measured {
  readonly tones: readonly ChannelTones[];
  readonly values: Readonly<Record<string, unknown>>;
}

export interface Circumstances {
  readonly machine: Machine;
  readonly sensor: Pick<Sensor, "location" | "machineClass" | "limits">;
  /** r/min at the time of the reading; null: unknown. */
  readonly speedRpm: number | null;
  /** `unknown` if the machine names a signal and that has no value. */
  readonly state: "running" | "standing" | "unknown";
  readonly isHeld: (key: string) => boolean;
  /** See `Look`. */
  readonly fullRpm?: (key: string) => number | null;
  readonly thresholds?: Thresholds;
}

const NOTHING: Omit<Judgement, "cannot"> = { verdicts: [], judged: [] };

/** Bearings at the sensor's point, by their names. */
function bearingsOf({ machine, sensor }: Circumstances): (readonly [string, Bearing])[] {
  const all = (machine.bearings ?? []).map(
    (bearing, i) => [bearingName(bearing, i), bearing] as const,
  );
  return all.filter(([, { point }]) => point === sensor.location?.point);
}

export function judge(measured: Measured, around: Circumstances): Judgement {
  const refusal = refuse(measured, around);
  if (refusal !== null) {
    const [reason, text] = refusal;
    return { ...NOTHING, cannot: [{ finding: null, bearing: null, reason, text }] };
  }
  const { machine, sensor, isHeld, thresholds = THRESHOLDS } = around;
  const axes = axisLooks(measured.tones, measured.values);
  const measuredHz = (around.speedRpm ?? 0) / 60;
  const seen = seenShaft(axes, measuredHz, machine.lineHz);
  const limits = sensor.limits ?? (sensor.machineClass && VELOCITY_LIMITS[sensor.machineClass]);
  const look: Look = {
    axes,
    machine,
    measuredHz,
    shaftHz: seen?.hz ?? measuredHz,
    isSeen: seen !== null,
    shaftLines: seen?.lines ?? 0,
    limits: limits ?? DEFAULT_LIMITS,
    thresholds,
    isHeld,
    fullRpm: around.fullRpm ?? (() => null),
  };
  const rest = new Rest();
  bearingFaults(look, bearingsOf(around), rest);
  const hasPlay = rest.verdicts.some(({ stage }) => stage > 1);
  shaftFaults(look, rest, hasPlay);
  processFaults(look, rest);
  return rest;
}

/** Collects the results of the rules. */
class Rest implements Judgement {
  readonly verdicts: Verdict[] = [];
  readonly cannot: Cannot[] = [];
  readonly judged: string[] = [];

  record(finding: FindingKind, verdict: Verdict | null): void {
    this.judged.push(findingKey(finding, null));
    if (verdict !== null) this.verdicts.push(verdict);
  }

  cannotTell(
    finding: FindingKind,
    bearing: string | null,
    reason: CannotReason,
    text: string,
  ): void {
    this.cannot.push({ finding, bearing, reason, text });
  }
}

function refuse(
  { tones }: Measured,
  { machine, speedRpm, state, thresholds = THRESHOLDS }: Circumstances,
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
  if (speedRpm < TURNING_RPM)
    return ["machine_standing", "The machine is not running: its speed is zero."];
  const [usable] = tones.filter((axis) => axis.tones !== null);
  if (usable === undefined) return ["record_short", "The record is too short for a spectrum."];
  if (tones.every(({ isClipped }) => isClipped)) {
    return ["overloaded", "The sensor was overloaded, which adds lines to its spectrum."];
  }
  const turns = (usable.durationS * speedRpm) / 60;
  if (turns < thresholds.revolutionsMin) {
    const text = `The record of ${usable.durationS.toFixed(2)} s is too short: it holds ${turns.toFixed(1)} revolutions at ${Math.round(speedRpm)} r/min, but ${thresholds.revolutionsMin} are needed.`;
    return ["record_short", text];
  }
  return null;
}

/** @param hasPlay an advanced bearing fault: the shaft's own lines may be caused by its play */
function shaftFaults(look: Look, rest: Rest, hasPlay: boolean): void {
  const { lineHz, blades, teeth = [] } = look.machine;
  const resolutionHz = look.axes[0]?.accel.resolutionHz ?? 0;
  const isNear = (hz: number, to: number) => Math.abs(hz - to) < APART_LINES * resolutionHz;
  const isMains = (hz: number) => lineHz !== undefined && isNear(hz, 2 * lineHz);
  const isOwn = (hz: number) =>
    isMains(hz) ||
    [...(blades === undefined ? [] : [blades, 2 * blades]), ...teeth].some((order) =>
      isNear(hz, order * look.shaftHz),
    );
  if (hasPlay) {
    const text = "A damaged bearing has play, which may cause 1x and its harmonics.";
    rest.cannotTell("unbalance", null, "bearing_play", text);
    rest.cannotTell("looseness", null, "bearing_play", text);
  } else {
    rest.record("unbalance", unbalance(look));
    rest.record("looseness", looseness(look, isOwn));
  }
  const isLoose = rest.verdicts.some(({ finding }) => finding === "looseness");
  const isSecondMains = isMains(2 * look.shaftHz);
  if (isSecondMains) {
    rest.cannotTell(
      "misalignment",
      null,
      "resolution_coarse",
      `Twice the shaft frequency (${(2 * look.shaftHz).toFixed(2)} Hz) and twice the mains frequency are closer than ${APART_LINES} lines of ${resolutionHz.toFixed(2)} Hz.`,
    );
  } else if (isLoose) {
    const text =
      "Looseness causes 2x along with other harmonics, so 2x is not evidence of misalignment.";
    rest.cannotTell("misalignment", null, "looseness_present", text);
  } else rest.record("misalignment", misalignment(look));
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
    } else rest.record("blade_pass", bladePass(look));
  }
  if (teeth.length > 0) {
    const lowest = Math.min(...teeth) * look.shaftHz;
    if (lowest > topHz) {
      rest.cannotTell("gear_mesh", null, "sample_rate_low", beyond("Gear mesh", lowest, topHz));
    } else if (look.shaftHz < 3 * resolutionHz) {
      rest.cannotTell("gear_mesh", null, "resolution_coarse", coarse("side bands", resolutionHz));
    } else rest.record("gear_mesh", gearMesh(look));
  }
  if (lineHz !== undefined) {
    const { verdict, isTooClose } = electrical(look);
    if (isTooClose) {
      const text = `A line near twice the mains frequency (${2 * lineHz} Hz) may be a multiple of the shaft frequency: they are too close for lines of ${resolutionHz.toFixed(2)} Hz.`;
      rest.cannotTell("electrical", null, "resolution_coarse", text);
    } else rest.record("electrical", verdict);
  }
}

const beyond = (what: string, hz: number, topHz: number) =>
  `${what} at ${hz.toFixed(0)} Hz is above ${topHz.toFixed(0)} Hz, the limit of this sample rate.`;
const coarse = (what: string, hz: number) =>
  `Lines of ${hz.toFixed(2)} Hz are too coarse for ${what}: a longer record or a faster shaft is needed.`;

function bearingFaults(
  look: Look,
  bearings: readonly (readonly [string, Bearing])[],
  rest: Rest,
): void {
  const envelope = look.axes.find((axis) => axis.envelope !== null)?.envelope ?? null;
  for (const [name, bearing] of bearings) {
    const orders = bearingOrders(bearing);
    const faults = faultsOf(orders);
    const found: Verdict[] = [];
    for (const fault of faults) {
      const cannotTell = (reason: CannotReason, text: string) =>
        rest.cannotTell(fault.finding, name, reason, text);
      if (envelope === null) {
        cannotTell("no_envelope", "The sample rate is too low for an envelope.");
        continue;
      }
      const why = unresolved(look, fault, envelope);
      if (why !== null) {
        cannotTell(...why);
        continue;
      }
      const { verdict, onOrderHz } = bearingFault(look, fault, name, orders.ftf);
      const element = faults.find(({ finding }) => finding === "rolling_element");
      const isElements =
        verdict?.finding === "cage" &&
        element !== undefined &&
        isOfElement(look, element, orders.ftf ?? 0);
      const hidden = verdict === null ? hiddenBy(look, fault, envelope, name, onOrderHz) : null;
      if (hidden !== null) {
        cannotTell(...hidden);
        continue;
      }
      rest.judged.push(findingKey(fault.finding, name));
      if (verdict !== null && !isElements) found.push(verdict);
    }
    rest.verdicts.push(...withoutEchoes(look, found, orders.ftf));
  }
}

/** Why a fault without lines of its own may exist nevertheless; null: it does not exist. */
function hiddenBy(
  { shaftHz, isHeld }: Look,
  { finding, name, order }: BearingFault,
  envelope: ToneList,
  bearing: string,
  onOrderHz: number | null,
): readonly [CannotReason, string] | null {
  if (onOrderHz !== null) {
    const at = `${Math.round(onOrderHz / shaftHz)}x (${onOrderHz.toFixed(1)} Hz)`;
    return [
      "resolution_coarse",
      `The line at ${at} may be ${name}, which slip can move there, or a multiple of the shaft frequency.`,
    ];
  }
  const hz = order * shaftHz;
  // An active finding was seen at this frequency: it ends once it is not seen any more.
  if (isVisible(hz, envelope) || isHeld(findingKey(finding, bearing))) return null;
  return [
    "sample_rate_low",
    `${name} at ${hz.toFixed(0)} Hz shows no line, but above ${(envelope.topHz / 2).toFixed(0)} Hz the envelope of this sample rate may miss it.`,
  ];
}

function unresolved(
  { shaftHz }: Look,
  fault: BearingFault,
  { resolutionHz, topHz }: { readonly resolutionHz: number; readonly topHz: number },
): readonly [CannotReason, string] | null {
  const { order, finding, name } = fault;
  const hz = order * shaftHz;
  if (hz * (finding === "cage" ? 2 : 1) > topHz) {
    return ["sample_rate_low", beyond(name, hz, topHz)];
  }
  // The cage's second harmonic is the first that looseness and rub do not share.
  const isResolved =
    finding === "cage"
      ? Math.abs(2 * hz - shaftHz) >= APART_LINES * resolutionHz
      : leadingHarmonic(fault, shaftHz, { resolutionHz, topHz }) !== null;
  return isResolved && hz >= 3 * resolutionHz
    ? null
    : ["resolution_coarse", coarse(`${name} at ${hz.toFixed(1)} Hz`, resolutionHz)];
}
