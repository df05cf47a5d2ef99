/**
 * A line that dominates the velocity around a shaft and that nothing explains (plant section 24): a hint that the site file does
 * not describe the machine as it is.
 */

import type {
  EvidenceLine,
  Unexplained,
  UnexplainedLine,
  Verdict,
} from "../../../core/diagnosis/finding.ts";
import type { Machine } from "../../../core/machine.ts";
import type { Sensor } from "../../../core/sensor.ts";
import { type Shaft, shaftAt } from "../../../core/shaft.ts";
import { dominantAt } from "../../../pipeline/signal/dominant.ts";
import { zoneLimits } from "../../../pipeline/signal/severity.ts";
import { strongestIn } from "../../../pipeline/signal/tones.ts";
import { isExplained, reachOf, type TurningShaft } from "./explained.ts";
import type { AxisLook, Look } from "./look.ts";
import { speedDoubt } from "./rest.ts";

/** B/C of a sensor without a class, mm/s. */
const LIMIT_WITHOUT_CLASS = 2.8;
/** Speeds before and after a record that differ by more than this share say nothing of it. */
const STEADY_SHARE = 0.01;

/** The speed of a machine around a reading. */
interface AroundSpeed {
  /** Measured, r/min. */
  readonly rpm: number;
  /** Of the first reading after it; null: none is known. */
  readonly nextRpm: number | null;
}

/** A line of a finding that stands on a sensor of the machine. */
export interface StandingLine {
  /** Shaft of that sensor; null: the measured one. */
  readonly shaft: Shaft | null;
  readonly isOfMains: boolean;
  readonly hz: number;
  readonly order: number;
}

/** Around what a look says. */
export interface UnexplainedInput {
  /** As the site file has it. */
  readonly machine: Machine;
  readonly sensor: Pick<Sensor, "location" | "machineClass" | "limits">;
  readonly speed: AroundSpeed;
  readonly standing: readonly StandingLine[];
  /** Of the same reading. */
  readonly verdicts: readonly Verdict[];
  /** Of the limit, what a line of a standing alarm must reach. */
  readonly keepShare: number;
}

/** Null: the speed changed during the record, or no axis can be judged. */
export function unexplainedLines(look: Look, input: UnexplainedInput): Unexplained | null {
  const { machine, sensor, speed, standing, verdicts, keepShare } = input;
  const { rpm, nextRpm } = speed;
  if (look.axes.length === 0) return null;
  if (nextRpm !== null && Math.abs(nextRpm - rpm) > STEADY_SHARE * rpm) return null;
  const own = shaftAt(machine, sensor.location);
  const shafts = turningShafts(look, machine, own, speed);
  const shaftRpm = rpm * (own?.speedRatio ?? 1);
  const limit = zoneLimits(sensor)?.[1] ?? LIMIT_WITHOUT_CLASS;
  const foundHz = [
    ...verdicts.flatMap(({ lines }) => lines.flatMap(hzsOf)),
    ...standing.map(({ shaft, isOfMains, hz, order }) =>
      isOfMains ? hz : (order * rpm * (shaft?.speedRatio ?? 1)) / 60,
    ),
  ];
  const explaining = { machine, shafts, foundHz, slip: look.thresholds.slip };
  const lines = look.axes.flatMap((axis): UnexplainedLine[] => {
    const line = dominantAt(axis.dominant, look.measuredHz);
    if (line === null || line.level < keepShare * limit) return [];
    if (isExplained(line, axis, explaining)) return [];
    const { hz, level } = line;
    const reachHz = reachOf(hz, axis.accel.resolutionHz, own?.belt === true);
    const place = { channel: axis.channel, axis: axis.axis };
    const hasSecond = isThere(look, axis, 2 * hz);
    const order = (60 * hz) / shaftRpm;
    return [{ ...place, hz, order, rpm: shaftRpm, level, limit, reachHz, hasSecond }];
  });
  return { lines, isDoubtful: speedDoubt(look) !== null };
}

const hzsOf = ({ hz, sideBands }: EvidenceLine) => [hz, ...sideBands.map((band) => band.hz)];

function isThere({ thresholds }: Look, { accel }: AxisLook, hz: number): boolean {
  const tone = strongestIn(accel, hz - accel.resolutionHz, hz + accel.resolutionHz);
  return tone !== null && tone.ratio >= thresholds.supportRatio;
}

/** All shafts of the machine, by the speeds around the record and, where the spectrum shows one, by that. */
function turningShafts(
  look: Look,
  { shafts = [] }: Machine,
  own: Shaft | null,
  { rpm, nextRpm }: AroundSpeed,
): TurningShaft[] {
  // A belt slips: its shaft says nothing of the others'.
  const seenHz = look.isSeen && own?.belt !== true ? look.shaftHz / (own?.speedRatio ?? 1) : null;
  const measured = [rpm / 60, nextRpm === null ? null : nextRpm / 60, seenHz].filter(
    (hz) => hz !== null,
  );
  return [null, ...shafts].map((shaft): TurningShaft => {
    const hzs = measured.map((hz) => hz * (shaft?.speedRatio ?? 1));
    const isOwnBelt = shaft === own && own?.belt === true && look.isSeen;
    return { shaft, hzs: isOwnBelt ? [...hzs, look.shaftHz] : hzs };
  });
}
