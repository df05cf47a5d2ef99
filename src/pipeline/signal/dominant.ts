/**
 * The line that dominates the velocity spectrum around a shaft (plant section 24): what diagnosis needs of the whole spectrum, as a
 * handful of numbers. The shaft's speed may become known later than the record, so it is given for every speed.
 */
import { MM_S2_PER_G } from "../../core/unit.ts";
import { type Bands, USABLE_RATE } from "./bands.ts";
import type { LinePower } from "./line-power.ts";
import type { DominantLine } from "./tones.ts";

/** The range around a shaft, as multiples of its frequency. */
const FROM_ORDER = 0.2;
const TO_ORDER = 10;
/** In tenths of the line spacing, one line more enters the range with each step of the shaft, and one leaves it with every fiftieth. */
const STEPS_PER_LINE = TO_ORDER;
const STEPS_PER_LOWER = TO_ORDER / FROM_ORDER;
/** Of the range's power, what the strongest line and its two neighbours hold at least. */
const SHARE_MIN = 0.5;
/** Nothing is said of a shaft that turns less often within the record. */
const REVOLUTIONS_MIN = 8;
/** Of a frequency, so that a limit on a line includes it. */
const GUARD = 1e-9;

/** The one around a shaft; null where nothing dominates. */
export function dominantAt(
  lines: readonly DominantLine[] | undefined,
  shaftHz: number,
): DominantLine | null {
  const hz = shaftHz * (1 + GUARD);
  return lines?.find(({ fromHz, toHz }) => hz >= fromHz && hz < toHz) ?? null;
}

/** By rising speed. @param power of the acceleration, G² */
export function dominantLines(
  power: LinePower,
  size: number,
  sampleRateHz: number,
  { lineMin }: Pick<Bands, "lineMin">,
): DominantLine[] {
  const stepHz = sampleRateHz / size;
  const scale = (MM_S2_PER_G / (2 * Math.PI * stepHz)) ** 2;
  const velocityOf = (k: number) => (power(k) * scale) / (k * k);
  // Above rate/2.56 lines may be aliases.
  const last = Math.min(Math.floor(size / USABLE_RATE), Math.floor(size / 2) - 1);
  const velocities = new Float64Array(last + 2);
  /** Power of all lines below each. */
  const below = new Float64Array(last + 2);
  for (let k = 1, sum = 0; k <= last + 1; k++) {
    below[k] = sum;
    const line = k < lineMin ? 0 : velocityOf(k);
    velocities[k] = line;
    sum += line;
  }
  const at = (k: number) => velocities[k] ?? 0;
  const heldBy = (k: number) => at(k - 1) + at(k) + at(k + 1);
  /** The high-pass may cut a slope, which is no line. */
  const isPeak = (k: number) => velocityOf(k - 1) <= at(k) && at(k + 1) <= at(k);
  const hzOf = (step: number) => (step / STEPS_PER_LINE) * stepHz;
  const found: DominantLine[] = [];
  const close = (line: number, fromStep: number, toStep: number) => {
    const hz = stepHz * between(power, line);
    const level = Math.sqrt(heldBy(line));
    found.push({ fromHz: hzOf(fromStep), toHz: hzOf(toStep), hz, level });
  };
  const stepMax = STEPS_PER_LOWER * last;
  // The largest of a window whose ends only rise: falling values at rising places, each the largest without those before it.
  const places = new Int32Array(last + 2);
  let [head, tail, next] = [0, 0, 0];
  let first = 0;
  // The strongest line, its power with both neighbours, and the step from which on it has dominated; -1: it does not.
  let line = -1;
  let held = 0;
  let mayDominate = false;
  let openStep = -1;
  for (let step = REVOLUTIONS_MIN * STEPS_PER_LINE; step <= stepMax; ) {
    while (STEPS_PER_LOWER * first < step) first += 1;
    const end = step < last ? step : last;
    for (; next <= end; next++) {
      const value = velocities[next] ?? 0;
      while (tail > head && (velocities[places[tail - 1] ?? 0] ?? 0) < value) tail -= 1;
      places[tail] = next;
      tail += 1;
    }
    while ((places[head] ?? 0) < first) head += 1;
    const strongest = places[head] ?? 0;
    if (strongest !== line) {
      if (openStep >= 0) close(line, openStep, step);
      openStep = -1;
      line = strongest;
      held = heldBy(line);
      mayDominate = held > 0 && isPeak(line);
    }
    const isDominant =
      mayDominate && held >= SHARE_MIN * ((below[end + 1] ?? 0) - (below[first] ?? 0));
    if (isDominant) openStep = openStep < 0 ? step : openStep;
    else if (openStep >= 0) {
      close(line, openStep, step);
      openStep = -1;
    }
    step = step < last ? step + 1 : first * STEPS_PER_LOWER + 1;
  }
  if (openStep >= 0) close(line, openStep, stepMax + 1);
  return found;
}

/** Where a tone lies that a Hann window spreads over a line and its neighbours (Grandke 1983), in lines. */
export function between(power: LinePower, line: number): number {
  const [below, above] = [power(line - 1), power(line + 1)];
  const q = Math.sqrt(Math.max(below, above) / power(line));
  const apart = Math.max(0, (2 * q - 1) / (1 + q));
  return line + (above > below ? apart : -apart);
}
