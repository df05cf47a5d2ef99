/** Which lines of a machine's velocity its site file, or a finding, explains (plant section 24). */

import { bearingOrders, suppliesOf } from "../../../core/bearing-orders.ts";
import type { Machine } from "../../../core/machine.ts";
import { type Shaft, shaftAt } from "../../../core/shaft.ts";
import { strongestIn } from "../../../pipeline/signal/tones.ts";
import { HARMONICS } from "./bearing-families.ts";
import { faultsOf } from "./bearing-fault.ts";
import { type AxisLook, velocityOf } from "./look.ts";

/** How far a line may lie from what explains it: lines of the spectrum, and shares of its frequency. */
const REACH_LINES = 1.5;
const REACH_SHARE = 0.005;
const REACH_BELT_SHARE = 0.02;
const ORDERS_MAX = 10;
/** What a motor's supply makes above even orders: its poles turn faster than the shaft by its slip. */
const SUPPLY_ORDERS = [2, 4, 6, 8];
const SUPPLY_SLIP = [0.005, 0.05] as const;
/** Half orders are those of a loose part where all three stand, each at this share of the line. */
const HALF_ORDERS = [0.5, 1.5, 2.5];
const HALF_SHARE = 0.1;
/** Side bands to either side. */
const SIDE_BANDS = [-2, -1, 0, 1, 2];

/** A shaft of the machine as it turned when the record was made. */
export interface TurningShaft {
  /** What its frequency may be: by the speed before and after, and by the spectrum, Hz. */
  readonly hzs: readonly number[];
  /** Null: the measured one. */
  readonly shaft: Shaft | null;
}

export interface Explaining {
  readonly machine: Machine;
  readonly shafts: readonly TurningShaft[];
  /** Lines of findings, Hz. */
  readonly foundHz: readonly number[];
  /** Slip of a bearing, share. */
  readonly slip: number;
}

export interface Line {
  readonly hz: number;
  /** mm/s RMS. */
  readonly level: number;
}

/** How far apart two lines may be that are the same, Hz. */
export function reachOf(hz: number, resolutionHz: number, isBelt: boolean): number {
  return Math.max(REACH_LINES * resolutionHz, (isBelt ? REACH_BELT_SHARE : REACH_SHARE) * hz);
}

export function isExplained(line: Line, axis: AxisLook, by: Explaining): boolean {
  const { resolutionHz } = axis.accel;
  const { hz } = line;
  const reach = reachOf(hz, resolutionHz, false);
  const isNear = (to: number) => Math.abs(hz - to) <= reach;
  const isMains = (of: number) => isNear(Math.max(1, Math.round(hz / of)) * of);
  return (
    suppliesOf(by.machine).some(isMains) ||
    by.foundHz.some(isNear) ||
    by.shafts.some((turning) =>
      turning.hzs.some((shaftHz) => isOfShaft(line, axis, by, turning, shaftHz)),
    )
  );
}

function isOfShaft(
  line: Line,
  axis: AxisLook,
  by: Explaining,
  { shaft }: TurningShaft,
  shaftHz: number,
): boolean {
  const { hz } = line;
  const isBelt = shaft?.belt === true;
  const reach = reachOf(hz, axis.accel.resolutionHz, isBelt);
  const isNear = (order: number, slip = 0) =>
    Math.abs(hz - order * shaftHz) <= Math.max(reach, slip * order * shaftHz);
  const whole = Math.round(hz / shaftHz);
  if (whole <= ORDERS_MAX ? isNear(Math.max(1, whole)) : isNear(ORDERS_MAX)) return true;
  const [least, most] = SUPPLY_SLIP;
  const isSupply = (order: number) =>
    hz >= order * (1 + least) * shaftHz - reach && hz <= order * (1 + most) * shaftHz + reach;
  if (SUPPLY_ORDERS.some(isSupply)) return true;
  if (HALF_ORDERS.some((order) => isNear(order)) && areHalves(line, axis, shaftHz, isBelt))
    return true;
  return (
    processOrdersOf(by, shaft).some((order) => isNear(order)) ||
    bearingOrdersOf(by.machine, shaft).some((order) => isNear(order, by.slip))
  );
}

/** Whether all three half orders stand. */
function areHalves({ level }: Line, { accel }: AxisLook, shaftHz: number, isBelt: boolean) {
  return HALF_ORDERS.every((order) => {
    const hz = order * shaftHz;
    const reach = reachOf(hz, accel.resolutionHz, isBelt);
    const tone = strongestIn(accel, hz - reach, hz + reach);
    return tone !== null && velocityOf(tone) >= HALF_SHARE * level;
  });
}

/** Blades and meshes of a shaft with harmonics and side bands, as its orders; a mesh has those of the other shafts too. */
function processOrdersOf({ machine, shafts }: Explaining, shaft: Shaft | null): number[] {
  const { blades, teeth = [] } = shaft ?? machine;
  const ownRatio = shaft?.speedRatio ?? 1;
  const fastest = Math.max(...shafts.map((one) => one.shaft?.speedRatio ?? 1));
  const ratios = shafts.map((one) => (one.shaft?.speedRatio ?? 1) / ownRatio);
  const all = (count: number, spacings: readonly number[]) =>
    harmonicsOf(count, (ORDERS_MAX * fastest) / ownRatio + count).flatMap((order) =>
      spacings.flatMap((spacing) => SIDE_BANDS.map((m) => order + m * spacing)),
    );
  const meshes = teeth.flatMap((count) => {
    const others = teeth.filter((other) => other !== count).map((other) => count / other);
    return all(count, [...ratios, ...others]);
  });
  return blades === undefined ? meshes : [...all(blades, [1]), ...meshes];
}

/** Up to an order. */
function harmonicsOf(of: number, most: number): number[] {
  return Array.from({ length: Math.floor(most / of) }, (_, n) => (n + 1) * of);
}

/** Lines of the bearings on a shaft, as its orders. */
function bearingOrdersOf(machine: Machine, shaft: Shaft | null): number[] {
  const { bearings = [] } = machine;
  const own = bearings.filter((bearing) => shaftAt(machine, bearing) === shaft);
  return own.flatMap((bearing) => {
    const orders = bearingOrders(bearing);
    const { bsf, ftf } = orders;
    const spin = bsf === null ? [] : [{ order: bsf, spacing: ftf }];
    return [...faultsOf(orders), ...spin].flatMap(({ order, spacing }) =>
      Array.from({ length: HARMONICS }, (_, n) => (n + 1) * order).flatMap((harmonic) =>
        spacing === null ? harmonic : SIDE_BANDS.map((m) => harmonic + m * spacing),
      ),
    );
  });
}
