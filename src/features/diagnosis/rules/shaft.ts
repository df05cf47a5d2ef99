/**
 * Where the shaft is: at the measured speed, made more exact by a line of its first two orders that fits it. A line that
 * does not fit is somebody else's (a neighbour, the mains, a bearing), until a second order agrees with it.
 */
import { strongestIn, type Tone, type ToneList } from "../../../pipeline/signal/tones.ts";

/** Speed and record are not taken in the same second: standard deviation of the measured speed, share. */
export const SPEED_SHARE = 0.003;
/** A tone of this ratio to the noise may be off by half a line over it (Rife & Boorstyn 1974). */
const RATIO_LINES = 0.5;
const SIGMAS = 3;
/** However strong its line is, one of a neighbour within its main lobe pulls it by up to this, lines. */
const PULL_LINES = 0.08;
/** Lines that are asked for the shaft, and how far from the measured speed two of them that agree are believed. */
const RATIO_MIN = 5;
const PAIR_SHARE = 0.02;
/** A prominent line this far from a measured speed that shows none is named as a disagreement. */
const BESIDE_SHARE = 0.05;
/** Lines closer than this are one, in resolutions. */
const SAME_LINE = 0.75;
const SEARCH_STEPS = 8;

export interface Shaft {
  readonly hz: number;
  /** How far it may be off: lines of the spectrum for 1x; an order has its multiple. */
  readonly lines: number;
  /** Whether a line of it is seen. */
  readonly isSeen: boolean;
  /** A strong line near the measured speed, which itself shows none, Hz: one of the two is wrong. */
  readonly besideHz: number | null;
  /** Whether it stands at twice that frequency alone: where 1x is too weak to be seen, 2x may be. */
  readonly isBesideDouble?: boolean;
}

/** What turns or hums near the shaft without being it. */
export interface NotTheShaft {
  /** What the mains frequency is, or may be. */
  readonly suppliesHz: readonly number[];
  /** Multiples of the shaft frequency at which its bearings have lines, and their slip. */
  readonly bearingOrders: readonly number[];
  readonly slip: number;
}

interface ShaftCandidate {
  readonly hz: number;
  readonly sigmaHz: number;
}

/** @param spectra of the acceleration, one per axis */
export function shaftOf(
  spectra: readonly ToneList[],
  measuredHz: number,
  others: NotTheShaft,
): Shaft {
  const resolutionHz = spectra[0]?.resolutionHz ?? 1;
  const speedSigmaHz = SPEED_SHARE * measuredHz;
  const firsts = candidates(spectra, 1, measuredHz, others);
  const seconds = candidates(spectra, 2, measuredHz, others);
  const fits = ({ hz, sigmaHz }: ShaftCandidate) =>
    Math.abs(hz - measuredHz) <= SIGMAS * Math.hypot(sigmaHz, speedSigmaHz);
  const own = nearest([...firsts, ...seconds].filter(fits), measuredHz);
  if (own !== null) {
    const weight = speedSigmaHz ** 2 / (speedSigmaHz ** 2 + own.sigmaHz ** 2);
    const sigmaHz = own.sigmaHz * Math.sqrt(weight);
    const hz = measuredHz + weight * (own.hz - measuredHz);
    const lines = Math.max(PULL_LINES, (SIGMAS * sigmaHz) / resolutionHz);
    return { hz, lines, isSeen: true, besideHz: null };
  }
  const agrees = (first: ShaftCandidate) =>
    seconds.some(
      ({ hz, sigmaHz }) =>
        Math.abs(hz - first.hz) <= SIGMAS * Math.hypot(sigmaHz, first.sigmaHz) + 0.1 * resolutionHz,
    );
  const moved = nearest(
    firsts.filter(
      (first) => Math.abs(first.hz - measuredHz) <= PAIR_SHARE * measuredHz && agrees(first),
    ),
    measuredHz,
  );
  if (moved !== null) {
    const lines = Math.max(PULL_LINES, (SIGMAS * moved.sigmaHz) / resolutionHz);
    return { hz: moved.hz, lines, isSeen: true, besideHz: null };
  }
  // Where nothing else is seen, a line at the mains frequency may be a shaft's that turns as fast.
  const beside =
    firsts.length > 0 ? firsts : candidates(spectra, 1, measuredHz, { ...others, suppliesHz: [] });
  const isMains = (hz: number) => humsOf(others).some((at) => Math.abs(hz - at) < resolutionHz);
  const doubles = seconds.filter(({ hz }) => !isMains(2 * hz));
  const isBesideDouble = beside.length === 0;
  return {
    hz: measuredHz,
    lines: (SIGMAS * speedSigmaHz) / resolutionHz,
    isSeen: false,
    besideHz: nearest(isBesideDouble ? doubles : beside, measuredHz)?.hz ?? null,
    isBesideDouble,
  };
}

/** A belt's shaft turns within this of its rated speed, share; the least ratio of its line's power to the lines around it. */
const BELT_SHARE = 0.02;
const BELT_POWER_MIN = 5;

/** The shaft frequency behind a belt: the strongest line of all axes near the rated one; null where none stands out. */
export function beltLine(spectra: readonly ToneList[], ratedHz: number): number | null {
  const reach = BELT_SHARE * ratedHz;
  const found = spectra
    .flatMap((list) => strongestIn(list, ratedHz - reach, ratedHz + reach) ?? [])
    .filter(({ ratio }) => ratio * ratio >= BELT_POWER_MIN)
    .toSorted((a, b) => b.amplitude - a.amplitude);
  return found[0]?.hz ?? null;
}

function nearest(found: readonly ShaftCandidate[], measuredHz: number): ShaftCandidate | null {
  let best: ShaftCandidate | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of found) {
    // Of two that are equally near, the more exact one.
    const distance = Math.max(Math.abs(candidate.hz - measuredHz), candidate.sigmaHz);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

/** Where the mains hums, Hz: at its frequency and at twice that. */
const humsOf = ({ suppliesHz }: NotTheShaft) => suppliesHz.flatMap((of) => [of, 2 * of]);

/** Prominent lines around an order, as shaft frequencies. */
function candidates(
  spectra: readonly ToneList[],
  order: number,
  measuredHz: number,
  others: NotTheShaft,
): ShaftCandidate[] {
  const { bearingOrders, slip } = others;
  const centreHz = order * measuredHz;
  return spectra.flatMap((list) => {
    const { resolutionHz } = list;
    const reach = Math.max(BESIDE_SHARE * centreHz, resolutionHz);
    const mains = humsOf(others);
    const isOthers = (hz: number) =>
      mains.some(
        (at) =>
          Math.abs(hz - at) < SAME_LINE * resolutionHz && Math.abs(centreHz - at) >= resolutionHz,
      ) ||
      bearingOrders.some(
        (of) => Math.abs(hz - of * measuredHz) <= slip * of * measuredHz + 0.5 * resolutionHz,
      );
    return tonesIn(list, centreHz - reach, centreHz + reach, isOthers).map(({ hz, ratio }) => ({
      hz: hz / order,
      sigmaHz: (RATIO_LINES * resolutionHz) / ratio / order,
    }));
  });
}

/** The strongest few tones of a range that are prominent enough. */
function tonesIn(
  list: ToneList,
  fromHz: number,
  toHz: number,
  isPassedOver: (hz: number) => boolean,
): Tone[] {
  const found: Tone[] = [];
  for (let step = 0; step < SEARCH_STEPS; step++) {
    const isTaken = (hz: number) => found.some((tone) => tone.hz === hz) || isPassedOver(hz);
    const tone = strongestIn(list, fromHz, toHz, isTaken);
    if (tone === null) break;
    found.push(tone);
  }
  return found.filter(({ ratio }) => ratio >= RATIO_MIN);
}
