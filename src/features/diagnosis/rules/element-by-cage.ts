/**
 * A damaged rolling element whose own first line hides, at a multiple of the shaft frequency or below the noise: the load on
 * it changes as the cage carries it through the loaded zone (FTF), and with it goes a line that only an element has: at
 * 1x - FTF, where it meets the load that turns with the shaft, or at BSF, where one race answers less than the other. The
 * cage's own impacts repeat at FTF too, but with harmonics that hardly fall.
 */

import type { BearingOrders } from "../../../core/bearing-orders.ts";
import { type EvidenceLine, findingKey, type Verdict } from "../../../core/diagnosis/finding.ts";
import { strongestIn, type Tone, type ToneList } from "../../../pipeline/signal/tones.ts";
import { WHITENED } from "./bearing-sources.ts";
import { type AxisLook, heldLimit, type Look, rss, toneNear } from "./look.ts";

/** Least depth of the two lines together in the whitened envelope, per cent of its mean. */
const PAIR_MIN = 10;
/** Steps of the slip, and lines by which a tone may be off, in resolutions. */
const SLIP_STEPS = 4;
const REACH_LINES = 0.6;
/** Lines by which tones must be apart to be two. */
const APART_LINES = 3;
/** Between these multiples of the shaft frequency nothing may be stronger than either of the two. */
const AROUND = [0.3, 0.85] as const;
/**
 * What else turns nearby: a line above them that is stronger, or a series of a line with its double from this share of the
 * stronger one on. So many lines are examined.
 */
const SERIES_SHARE = 0.5;
const SERIES_DOUBLE = 0.3;
const SERIES_LINES = 6;
/** Harmonics of FTF that all reach these shares of the first are those of impacts. */
const IMPACT_SHARES = [
  [2, 0.4],
  [3, 0.36],
  [4, 0.28],
] as const;

type Named = readonly [name: string, tone: Tone];

/** Whether the lines at FTF can be told from each other and from the shaft's: then their absence says something. */
export function canTellByCage({ axes, shaftHz }: Look, { ftf }: BearingOrders): boolean {
  const resolutionHz = axes.find(({ white }) => white !== null)?.white?.resolutionHz;
  if (resolutionHz === undefined || ftf === null) return false;
  return Math.min(ftf, 1 - 2 * ftf) * shaftHz >= APART_LINES * resolutionHz;
}

export function elementByCage(look: Look, bearing: string, orders: BearingOrders): Verdict | null {
  if (!canTellByCage(look, orders)) return null;
  const key = findingKey("rolling_element", bearing);
  const limit = heldLimit(look, key, PAIR_MIN);
  let best: Verdict | null = null;
  for (const axis of look.axes) {
    const found = axis.white === null ? null : pairIn(look, axis.white, orders);
    if (found === null) continue;
    const lines = found.map(([name, tone]) => lineOf(look, axis, name, tone));
    const level = rss(lines.map(({ amplitude }) => amplitude));
    if (level < limit || level <= (best?.level ?? 0)) continue;
    best = { finding: "rolling_element", bearing, stage: 1, level, unit: "%", limit, lines };
  }
  return best;
}

/** The line at FTF with one that only an element has, at one slip of the cage. */
function pairIn(look: Look, white: ToneList, { ftf, bsf }: BearingOrders): Named[] | null {
  const { shaftHz, thresholds } = look;
  const reach = REACH_LINES * white.resolutionHz;
  const slips = Array.from({ length: 2 * SLIP_STEPS + 1 }, (_, i) => i / SLIP_STEPS - 1).map(
    (step) => 1 + step * thresholds.slip,
  );
  let best: readonly [Tone, Tone, string] | null = null;
  for (const slip of slips) {
    const cage = toneNear(white, (ftf ?? 0) * slip * shaftHz, reach);
    if (cage === null || cage.ratio < WHITENED.supportRatio || isCageImpact(white, cage)) continue;
    const turning = toneNear(white, (1 - (ftf ?? 0) * slip) * shaftHz, reach);
    const spinning = toneNear(white, (bsf ?? 0) * slip * shaftHz, reach);
    const others: (readonly [Tone | null, number, string])[] = [
      [turning, WHITENED.supportRatio, "1x - FTF"],
      [
        spinning !== null && isOrder(look, white, spinning.hz) ? null : spinning,
        WHITENED.mainRatio,
        "BSF",
      ],
    ];
    for (const [other, least, name] of others) {
      if (other === null || other.ratio < least || cage.ratio < least) continue;
      if (hasStronger(look, white, cage, name === "BSF" ? cage : other)) continue;
      if (best !== null && best[0].ratio + best[1].ratio >= cage.ratio + other.ratio) continue;
      best = [cage, other, name];
    }
  }
  if (best === null) return null;
  const [cage, other, name] = best;
  return [
    ["FTF", cage],
    [name, other],
  ];
}

function isOrder({ shaftHz, shaftLines }: Look, white: ToneList, hz: number): boolean {
  const order = Math.max(1, Math.round(hz / shaftHz));
  const apart = Math.hypot(1, shaftLines * order) * white.resolutionHz;
  return Math.abs(hz - order * shaftHz) < apart;
}

/**
 * Slow changes of the load raise all lines around FTF, and blows of anything else that turns, as of another bearing nearby,
 * come with a cage's lines too: then theirs are the strongest.
 */
function hasStronger(look: Look, white: ToneList, first: Tone, second: Tone): boolean {
  const { shaftHz } = look;
  const apart = APART_LINES * white.resolutionHz;
  const isOwn = (hz: number) =>
    [first.hz, second.hz, 2 * first.hz].some((own) => Math.abs(hz - own) < apart);
  const [from, to] = AROUND;
  const beside = strongestIn(white, from * shaftHz, to * shaftHz, isOwn);
  const [weaker = 0, stronger = 0] = [first.amplitude, second.amplitude].toSorted((a, b) => a - b);
  return (beside?.amplitude ?? 0) > weaker || hasSeries(look, white, stronger, isOwn);
}

function hasSeries(
  look: Look,
  white: ToneList,
  stronger: number,
  isOwn: (hz: number) => boolean,
): boolean {
  const seen: number[] = [];
  const isPassed = (hz: number) => isOwn(hz) || isOrder(look, white, hz) || seen.includes(hz);
  for (let n = 0; n < SERIES_LINES; n++) {
    const tone = strongestIn(white, AROUND[1] * look.shaftHz, white.topHz, isPassed);
    if (tone === null || tone.amplitude < SERIES_SHARE * stronger) return false;
    if (tone.amplitude > stronger) return true;
    const double = toneNear(white, 2 * tone.hz, white.resolutionHz);
    if (double !== null && double.amplitude >= SERIES_DOUBLE * tone.amplitude) return true;
    seen.push(tone.hz);
  }
  return false;
}

/** Impacts of the cage itself have harmonics that hardly fall; a load that changes as the cage turns has few. */
export function isCageImpact(white: ToneList, { hz, amplitude }: Tone): boolean {
  return IMPACT_SHARES.every(([n, share]) => {
    const tone = toneNear(white, n * hz, (0.5 + 0.2 * n) * white.resolutionHz);
    return tone !== null && tone.amplitude >= share * amplitude;
  });
}

function lineOf(
  { shaftHz }: Look,
  { channel, axis }: AxisLook,
  name: string,
  { hz, amplitude, ratio }: Tone,
): EvidenceLine {
  return {
    name,
    spectrum: "whitened envelope",
    channel,
    axis,
    hz,
    order: hz / shaftHz,
    amplitude: (100 * amplitude) / Math.SQRT2,
    unit: "%",
    ratio,
    sideBands: [],
  };
}
