/**
 * The stages of radix 8 of a transform by Stockham (power-of-two.ts): butterflies of eight points with twiddles on the way
 * out. The points of a group lie an eighth of the data apart in x, and side by side, `stride` apart, in y.
 */
import { type Doubles, doubles } from "./doubles.ts";

/** One radix-8 stage: `groups` butterflies with twiddles of their own, each over `stride` neighbouring points. */
export interface FftStage {
  readonly groups: number;
  readonly stride: number;
  /** w to w⁷ of each group: fourteen numbers. */
  readonly twiddles: Doubles;
}

export function twiddlesOf(length: number): Doubles {
  const twiddles = doubles((14 * length) / 8);
  for (let group = 0; group < length / 8; group++) {
    for (let power = 1; power <= 7; power++) {
      const angle = (-2 * Math.PI * group * power) / length;
      twiddles[14 * group + 2 * power - 2] = Math.cos(angle);
      twiddles[14 * group + 2 * power - 1] = Math.sin(angle);
    }
  }
  return twiddles;
}

/** cos(π/4) */
const EIGHTH = Math.SQRT1_2;

/** Butterflies of eight with twiddles on the way out. */
export function twiddleStage(x: Doubles, y: Doubles, { groups, stride, twiddles }: FftStage): void {
  const step = 2 * stride;
  const eighth = step * groups;
  for (let group = 0; group < groups; group++) {
    const t = 14 * group;
    const w1r = twiddles[t] ?? 0;
    const w1i = twiddles[t + 1] ?? 0;
    const w2r = twiddles[t + 2] ?? 0;
    const w2i = twiddles[t + 3] ?? 0;
    const w3r = twiddles[t + 4] ?? 0;
    const w3i = twiddles[t + 5] ?? 0;
    const w4r = twiddles[t + 6] ?? 0;
    const w4i = twiddles[t + 7] ?? 0;
    const w5r = twiddles[t + 8] ?? 0;
    const w5i = twiddles[t + 9] ?? 0;
    const w6r = twiddles[t + 10] ?? 0;
    const w6i = twiddles[t + 11] ?? 0;
    const w7r = twiddles[t + 12] ?? 0;
    const w7i = twiddles[t + 13] ?? 0;
    const from = step * group;
    for (let q = 0; q < step; q += 2) {
      let i = from + q;
      const ar = x[i] ?? 0;
      const ai = x[i + 1] ?? 0;
      i += eighth;
      const br = x[i] ?? 0;
      const bi = x[i + 1] ?? 0;
      i += eighth;
      const cr = x[i] ?? 0;
      const ci = x[i + 1] ?? 0;
      i += eighth;
      const dr = x[i] ?? 0;
      const di = x[i + 1] ?? 0;
      i += eighth;
      const er = x[i] ?? 0;
      const ei = x[i + 1] ?? 0;
      i += eighth;
      const fr = x[i] ?? 0;
      const fi = x[i + 1] ?? 0;
      i += eighth;
      const gr = x[i] ?? 0;
      const gi = x[i + 1] ?? 0;
      i += eighth;
      const hr = x[i] ?? 0;
      const hi = x[i + 1] ?? 0;
      // Sums and differences of opposite points; differences of the odd ones turned by eighths.
      const s0r = ar + er;
      const s0i = ai + ei;
      const s1r = br + fr;
      const s1i = bi + fi;
      const s2r = cr + gr;
      const s2i = ci + gi;
      const s3r = dr + hr;
      const s3i = di + hi;
      const e0r = s0r + s2r;
      const e0i = s0i + s2i;
      const e1r = s1r + s3r;
      const e1i = s1i + s3i;
      const f0r = s0r - s2r;
      const f0i = s0i - s2i;
      const f1r = s1i - s3i;
      const f1i = s3r - s1r;
      const d0r = ar - er;
      const d0i = ai - ei;
      const d1r = br - fr;
      const d1i = bi - fi;
      const d2r = ci - gi;
      const d2i = gr - cr;
      const d3r = dr - hr;
      const d3i = di - hi;
      const u1r = EIGHTH * (d1r + d1i);
      const u1i = EIGHTH * (d1i - d1r);
      const u3r = EIGHTH * (d3i - d3r);
      const u3i = -EIGHTH * (d3r + d3i);
      const g0r = d0r + d2r;
      const g0i = d0i + d2i;
      const g1r = u1r + u3r;
      const g1i = u1i + u3i;
      const h0r = d0r - d2r;
      const h0i = d0i - d2i;
      const h1r = u1i - u3i;
      const h1i = u3r - u1r;
      let p = 8 * from + q;
      y[p] = e0r + e1r;
      y[p + 1] = e0i + e1i;
      p += step;
      const r1 = g0r + g1r;
      const i1 = g0i + g1i;
      y[p] = r1 * w1r - i1 * w1i;
      y[p + 1] = r1 * w1i + i1 * w1r;
      p += step;
      const r2 = f0r + f1r;
      const i2 = f0i + f1i;
      y[p] = r2 * w2r - i2 * w2i;
      y[p + 1] = r2 * w2i + i2 * w2r;
      p += step;
      const r3 = h0r + h1r;
      const i3 = h0i + h1i;
      y[p] = r3 * w3r - i3 * w3i;
      y[p + 1] = r3 * w3i + i3 * w3r;
      p += step;
      const r4 = e0r - e1r;
      const i4 = e0i - e1i;
      y[p] = r4 * w4r - i4 * w4i;
      y[p + 1] = r4 * w4i + i4 * w4r;
      p += step;
      const r5 = g0r - g1r;
      const i5 = g0i - g1i;
      y[p] = r5 * w5r - i5 * w5i;
      y[p + 1] = r5 * w5i + i5 * w5r;
      p += step;
      const r6 = f0r - f1r;
      const i6 = f0i - f1i;
      y[p] = r6 * w6r - i6 * w6i;
      y[p + 1] = r6 * w6i + i6 * w6r;
      p += step;
      const r7 = h0r - h1r;
      const i7 = h0i - h1i;
      y[p] = r7 * w7r - i7 * w7i;
      y[p + 1] = r7 * w7i + i7 * w7r;
    }
  }
}

/** The first stage, whose groups are one butterfly each: the loop over neighbours costs more than it would repeat. */
export function firstStage(x: Doubles, y: Doubles, { groups, twiddles }: FftStage): void {
  const eighth = 2 * groups;
  for (let q = 0, t = 0; q < eighth; q += 2, t += 14) {
    let i = q;
    const ar = x[i] ?? 0;
    const ai = x[i + 1] ?? 0;
    i += eighth;
    const br = x[i] ?? 0;
    const bi = x[i + 1] ?? 0;
    i += eighth;
    const cr = x[i] ?? 0;
    const ci = x[i + 1] ?? 0;
    i += eighth;
    const dr = x[i] ?? 0;
    const di = x[i + 1] ?? 0;
    i += eighth;
    const er = x[i] ?? 0;
    const ei = x[i + 1] ?? 0;
    i += eighth;
    const fr = x[i] ?? 0;
    const fi = x[i + 1] ?? 0;
    i += eighth;
    const gr = x[i] ?? 0;
    const gi = x[i + 1] ?? 0;
    i += eighth;
    const hr = x[i] ?? 0;
    const hi = x[i + 1] ?? 0;
    // Sums and differences of opposite points; differences of the odd ones turned by eighths.
    const s0r = ar + er;
    const s0i = ai + ei;
    const s1r = br + fr;
    const s1i = bi + fi;
    const s2r = cr + gr;
    const s2i = ci + gi;
    const s3r = dr + hr;
    const s3i = di + hi;
    const e0r = s0r + s2r;
    const e0i = s0i + s2i;
    const e1r = s1r + s3r;
    const e1i = s1i + s3i;
    const f0r = s0r - s2r;
    const f0i = s0i - s2i;
    const f1r = s1i - s3i;
    const f1i = s3r - s1r;
    const d0r = ar - er;
    const d0i = ai - ei;
    const d1r = br - fr;
    const d1i = bi - fi;
    const d2r = ci - gi;
    const d2i = gr - cr;
    const d3r = dr - hr;
    const d3i = di - hi;
    const u1r = EIGHTH * (d1r + d1i);
    const u1i = EIGHTH * (d1i - d1r);
    const u3r = EIGHTH * (d3i - d3r);
    const u3i = -EIGHTH * (d3r + d3i);
    const g0r = d0r + d2r;
    const g0i = d0i + d2i;
    const g1r = u1r + u3r;
    const g1i = u1i + u3i;
    const h0r = d0r - d2r;
    const h0i = d0i - d2i;
    const h1r = u1i - u3i;
    const h1i = u3r - u1r;
    let p = 8 * q;
    y[p] = e0r + e1r;
    y[p + 1] = e0i + e1i;
    p += 2;
    const r1 = g0r + g1r;
    const i1 = g0i + g1i;
    const w1r = twiddles[t] ?? 0;
    const w1i = twiddles[t + 1] ?? 0;
    y[p] = r1 * w1r - i1 * w1i;
    y[p + 1] = r1 * w1i + i1 * w1r;
    p += 2;
    const r2 = f0r + f1r;
    const i2 = f0i + f1i;
    const w2r = twiddles[t + 2] ?? 0;
    const w2i = twiddles[t + 3] ?? 0;
    y[p] = r2 * w2r - i2 * w2i;
    y[p + 1] = r2 * w2i + i2 * w2r;
    p += 2;
    const r3 = h0r + h1r;
    const i3 = h0i + h1i;
    const w3r = twiddles[t + 4] ?? 0;
    const w3i = twiddles[t + 5] ?? 0;
    y[p] = r3 * w3r - i3 * w3i;
    y[p + 1] = r3 * w3i + i3 * w3r;
    p += 2;
    const r4 = e0r - e1r;
    const i4 = e0i - e1i;
    const w4r = twiddles[t + 6] ?? 0;
    const w4i = twiddles[t + 7] ?? 0;
    y[p] = r4 * w4r - i4 * w4i;
    y[p + 1] = r4 * w4i + i4 * w4r;
    p += 2;
    const r5 = g0r - g1r;
    const i5 = g0i - g1i;
    const w5r = twiddles[t + 8] ?? 0;
    const w5i = twiddles[t + 9] ?? 0;
    y[p] = r5 * w5r - i5 * w5i;
    y[p + 1] = r5 * w5i + i5 * w5r;
    p += 2;
    const r6 = f0r - f1r;
    const i6 = f0i - f1i;
    const w6r = twiddles[t + 10] ?? 0;
    const w6i = twiddles[t + 11] ?? 0;
    y[p] = r6 * w6r - i6 * w6i;
    y[p + 1] = r6 * w6i + i6 * w6r;
    p += 2;
    const r7 = h0r - h1r;
    const i7 = h0i - h1i;
    const w7r = twiddles[t + 12] ?? 0;
    const w7i = twiddles[t + 13] ?? 0;
    y[p] = r7 * w7r - i7 * w7i;
    y[p + 1] = r7 * w7i + i7 * w7r;
  }
}
