/**
 * Complex transforms of a power of two: Stockham's autosort radix-4 (Stockham 1966; Van Loan 1992, ch. 1.7). Every stage
 * reads one array and writes another in order, so no bit reversal is needed; an odd power ends with one radix-2 stage.
 * Data are interleaved (re, im, …). Nothing is allocated after the plan is made.
 */

import { type Doubles, doubles } from "./doubles.ts";

/** One radix-4 stage: `groups` butterflies with twiddles of their own, each over `stride` neighbouring points. */
interface FftStage {
  readonly groups: number;
  readonly stride: number;
  /** w, w², w³ of each group: six numbers. */
  readonly twiddles: Doubles;
}

/**
 * X[k] = sum x[n]·exp(-j·2π·k·n/size) from `input` to `output`, which must be two arrays. Points outside [from, to) count as
 * zero, whatever they are; those inside are unchanged.
 */
type PowerOfTwoTransform = (output: Doubles, input: Doubles, from?: number, to?: number) => void;

export function powerOfTwoTransform(size: number): PowerOfTwoTransform {
  const stages: FftStage[] = [];
  let stride = 1;
  for (let rest = size; rest >= 4; rest /= 4) {
    stages.push({ groups: rest / 4, stride, twiddles: twiddlesOf(rest) });
    stride *= 4;
  }
  const endsWithPairs = stride * 2 === size;
  const passes = stages.length + (endsWithPairs ? 1 : 0);
  const work = doubles(2 * size);

  const skipsZeros = stages.length > 1;

  return (output, input, first = 0, end = size) => {
    const isWhole = first === 0 && end === size;
    if (!isWhole && !skipsZeros) {
      input.fill(0, 0, 2 * first);
      input.fill(0, 2 * end);
    }
    if (passes === 0) for (let i = 0; i < 2 * size; i++) output[i] = input[i] ?? 0;
    let from = input;
    // The arrays alternate, so that the last stage writes the output.
    let to = passes % 2 === 1 ? output : work;
    for (const stage of stages) {
      // The last of the radix-4 stages has one group, whose twiddles are all 1.
      if (stage.groups === 1) plainStage(from, to, stage.stride);
      else if (stage.stride === 1 && isWhole) firstStage(from, to, stage);
      else if (stage.stride === 1) sparseFirstStage(from, to, stage, first, end);
      else twiddleStage(from, to, stage);
      from = to;
      to = to === output ? work : output;
    }
    if (endsWithPairs) pairStage(from, to, stride);
  };
}

function twiddlesOf(length: number): Doubles {
  const twiddles = doubles((6 * length) / 4);
  for (let group = 0; group < length / 4; group++) {
    for (let power = 1; power <= 3; power++) {
      const angle = (-2 * Math.PI * group * power) / length;
      twiddles[6 * group + 2 * power - 2] = Math.cos(angle);
      twiddles[6 * group + 2 * power - 1] = Math.sin(angle);
    }
  }
  return twiddles;
}

/** Butterflies of four with twiddles on the way out. */
function twiddleStage(x: Doubles, y: Doubles, stage: FftStage): void {
  const { groups, stride, twiddles } = stage;
  const step = 2 * stride;
  const quarter = step * groups;
  for (let group = 0; group < groups; group++) {
    const t = 6 * group;
    const w1r = twiddles[t] ?? 0;
    const w1i = twiddles[t + 1] ?? 0;
    const w2r = twiddles[t + 2] ?? 0;
    const w2i = twiddles[t + 3] ?? 0;
    const w3r = twiddles[t + 4] ?? 0;
    const w3i = twiddles[t + 5] ?? 0;
    const a = step * group;
    const b = a + quarter;
    const c = b + quarter;
    const d = c + quarter;
    const o = 4 * a;
    for (let q = 0; q < step; q += 2) {
      const ar = x[a + q] ?? 0;
      const ai = x[a + q + 1] ?? 0;
      const br = x[b + q] ?? 0;
      const bi = x[b + q + 1] ?? 0;
      const cr = x[c + q] ?? 0;
      const ci = x[c + q + 1] ?? 0;
      const dr = x[d + q] ?? 0;
      const di = x[d + q + 1] ?? 0;
      const evenR = ar + cr;
      const evenI = ai + ci;
      const oddR = br + dr;
      const oddI = bi + di;
      const p = o + q;
      y[p] = evenR + oddR;
      y[p + 1] = evenI + oddI;
      // -j·(b - d) = (bi - di) - j·(br - dr)
      const r1 = ar - cr + (bi - di);
      const i1 = ai - ci - (br - dr);
      y[p + step] = r1 * w1r - i1 * w1i;
      y[p + step + 1] = r1 * w1i + i1 * w1r;
      const r2 = evenR - oddR;
      const i2 = evenI - oddI;
      y[p + 2 * step] = r2 * w2r - i2 * w2i;
      y[p + 2 * step + 1] = r2 * w2i + i2 * w2r;
      const r3 = ar - cr - (bi - di);
      const i3 = ai - ci + (br - dr);
      y[p + 3 * step] = r3 * w3r - i3 * w3i;
      y[p + 3 * step + 1] = r3 * w3i + i3 * w3r;
    }
  }
}

/** The first stage, whose groups are one butterfly each: the loop over neighbours costs more than it would repeat. */
function firstStage(x: Doubles, y: Doubles, { groups, twiddles }: FftStage): void {
  const quarter = 2 * groups;
  for (let a = 0, o = 0, t = 0; a < quarter; a += 2, o += 8, t += 6) {
    const ar = x[a] ?? 0;
    const ai = x[a + 1] ?? 0;
    const br = x[a + quarter] ?? 0;
    const bi = x[a + quarter + 1] ?? 0;
    const cr = x[a + 2 * quarter] ?? 0;
    const ci = x[a + 2 * quarter + 1] ?? 0;
    const dr = x[a + 3 * quarter] ?? 0;
    const di = x[a + 3 * quarter + 1] ?? 0;
    const evenR = ar + cr;
    const evenI = ai + ci;
    const oddR = br + dr;
    const oddI = bi + di;
    const sideR = ar - cr;
    const sideI = ai - ci;
    const turnR = bi - di;
    const turnI = br - dr;
    y[o] = evenR + oddR;
    y[o + 1] = evenI + oddI;
    const w1r = twiddles[t] ?? 0;
    const w1i = twiddles[t + 1] ?? 0;
    const r1 = sideR + turnR;
    const i1 = sideI - turnI;
    y[o + 2] = r1 * w1r - i1 * w1i;
    y[o + 3] = r1 * w1i + i1 * w1r;
    const w2r = twiddles[t + 2] ?? 0;
    const w2i = twiddles[t + 3] ?? 0;
    const r2 = evenR - oddR;
    const i2 = evenI - oddI;
    y[o + 4] = r2 * w2r - i2 * w2i;
    y[o + 5] = r2 * w2i + i2 * w2r;
    const w3r = twiddles[t + 4] ?? 0;
    const w3i = twiddles[t + 5] ?? 0;
    const r3 = sideR - turnR;
    const i3 = sideI + turnI;
    y[o + 6] = r3 * w3r - i3 * w3i;
    y[o + 7] = r3 * w3i + i3 * w3r;
  }
}

/** The first stage where only the points [first, end) are to be read: groups that find the same quarters there go together. */
function sparseFirstStage(
  x: Doubles,
  y: Doubles,
  stage: FftStage,
  first: number,
  end: number,
): void {
  const { groups } = stage;
  const edges = [0, groups];
  for (let quarter = 0; quarter < 4; quarter++) {
    for (const point of [first, end]) {
      const edge = point - quarter * groups;
      if (edge > 0 && edge < groups) edges.push(edge);
    }
  }
  edges.sort((a, b) => a - b);
  for (let i = 1; i < edges.length; i++) {
    const from = edges[i - 1] ?? 0;
    sparseGroups(x, y, stage, { from, to: edges[i] ?? 0, first, end });
  }
}

interface Sparse {
  /** Groups of butterflies, all with the same quarters in [first, end). */
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly end: number;
}

function sparseGroups(
  x: Doubles,
  y: Doubles,
  { groups, twiddles }: FftStage,
  { from, to, first, end }: Sparse,
): void {
  const has = (quarter: number) => {
    const point = from + quarter * groups;
    return point >= first && point < end;
  };
  const [hasA, hasB, hasC, hasD] = [has(0), has(1), has(2), has(3)];
  const quarter = 2 * groups;
  for (let a = 2 * from; a < 2 * to; a += 2) {
    const ar = hasA ? (x[a] ?? 0) : 0;
    const ai = hasA ? (x[a + 1] ?? 0) : 0;
    const br = hasB ? (x[a + quarter] ?? 0) : 0;
    const bi = hasB ? (x[a + quarter + 1] ?? 0) : 0;
    const cr = hasC ? (x[a + 2 * quarter] ?? 0) : 0;
    const ci = hasC ? (x[a + 2 * quarter + 1] ?? 0) : 0;
    const dr = hasD ? (x[a + 3 * quarter] ?? 0) : 0;
    const di = hasD ? (x[a + 3 * quarter + 1] ?? 0) : 0;
    const o = 4 * a;
    const t = 3 * a;
    y[o] = ar + cr + (br + dr);
    y[o + 1] = ai + ci + (bi + di);
    const w1r = twiddles[t] ?? 0;
    const w1i = twiddles[t + 1] ?? 0;
    const r1 = ar - cr + (bi - di);
    const i1 = ai - ci - (br - dr);
    y[o + 2] = r1 * w1r - i1 * w1i;
    y[o + 3] = r1 * w1i + i1 * w1r;
    const w2r = twiddles[t + 2] ?? 0;
    const w2i = twiddles[t + 3] ?? 0;
    const r2 = ar + cr - (br + dr);
    const i2 = ai + ci - (bi + di);
    y[o + 4] = r2 * w2r - i2 * w2i;
    y[o + 5] = r2 * w2i + i2 * w2r;
    const w3r = twiddles[t + 4] ?? 0;
    const w3i = twiddles[t + 5] ?? 0;
    const r3 = ar - cr - (bi - di);
    const i3 = ai - ci + (br - dr);
    y[o + 6] = r3 * w3r - i3 * w3i;
    y[o + 7] = r3 * w3i + i3 * w3r;
  }
}

/** The same for the one group whose twiddles are 1. */
function plainStage(x: Doubles, y: Doubles, stride: number): void {
  const step = 2 * stride;
  for (let q = 0; q < step; q += 2) {
    const ar = x[q] ?? 0;
    const ai = x[q + 1] ?? 0;
    const br = x[step + q] ?? 0;
    const bi = x[step + q + 1] ?? 0;
    const cr = x[2 * step + q] ?? 0;
    const ci = x[2 * step + q + 1] ?? 0;
    const dr = x[3 * step + q] ?? 0;
    const di = x[3 * step + q + 1] ?? 0;
    y[q] = ar + cr + (br + dr);
    y[q + 1] = ai + ci + (bi + di);
    y[step + q] = ar - cr + (bi - di);
    y[step + q + 1] = ai - ci - (br - dr);
    y[2 * step + q] = ar + cr - (br + dr);
    y[2 * step + q + 1] = ai + ci - (bi + di);
    y[3 * step + q] = ar - cr - (bi - di);
    y[3 * step + q + 1] = ai - ci + (br - dr);
  }
}

/** Butterflies of two, the last stage of an odd power. */
function pairStage(x: Doubles, y: Doubles, stride: number): void {
  const half = 2 * stride;
  for (let q = 0; q < half; q++) {
    const a = x[q] ?? 0;
    const b = x[half + q] ?? 0;
    y[q] = a + b;
    y[half + q] = a - b;
  }
}
