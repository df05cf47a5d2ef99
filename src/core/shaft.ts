/** Shafts of a machine (plant section 24). */

/** A shaft that turns at a multiple of the measured speed, by a gear or a belt. */
export interface Shaft {
  readonly name: string;
  /** Its speed over the measured one. */
  readonly speedRatio: number;
  /** Measuring points on it (`location.point` of the machine's sensors). */
  readonly points: readonly number[];
  /** A belt slips: its speed is found in the spectrum. */
  readonly belt?: boolean;
  readonly blades?: number;
  readonly teeth?: readonly number[];
}

/** Of a machine, what a shaft at a point has of its own. */
interface WithShafts {
  readonly shafts?: readonly Shaft[];
  readonly blades?: number;
  readonly teeth?: readonly number[];
}

/** The shaft of a measuring point; null: the measured one. */
export function shaftAt(
  { shafts = [] }: WithShafts,
  location: { readonly point: number } | undefined,
): Shaft | null {
  return (
    shafts.find(({ points }) => location !== undefined && points.includes(location.point)) ?? null
  );
}

/** The machine as a measuring point sees it: with blades and teeth of the shaft there. */
export function machineAt<M extends WithShafts>(
  machine: M,
  location: { readonly point: number } | undefined,
): M {
  const shaft = shaftAt(machine, location);
  if (shaft === null) return machine;
  const { blades: _blades, teeth: _teeth, ...rest } = machine;
  const { blades, teeth } = shaft;
  return {
    ...rest,
    ...(blades === undefined ? {} : { blades }),
    ...(teeth === undefined ? {} : { teeth }),
  } as M;
}
