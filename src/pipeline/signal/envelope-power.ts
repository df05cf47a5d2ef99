/**
 * The envelope's overall value without a transform of the envelope's own awkward length.
 *
 * The wanted value is sum |Q[k]|² over k = 1..K, where Q is the exact M-point DFT of q and M (0.9·N) is seldom a
 * power of two. With r[l] the linear autocorrelation of q, |Q[k]|² = sum r[l]·cos(2πkl/M); and r[l] is the inverse
 * transform of |S[i]|², where S is any zero-padded transform of L >= 2M-1 points (Wiener-Khinchin). Swapping the
 * sums:
 *
 *   sum |Q[k]|² = sum over i of |S[i]|²·G[i],  G = DFT_L(D)/L,  D[l] = sum over k of cos(2πkl/M), |l| < M
 *
 * G depends on M and K alone. So one real power-of-two transform and a weighted sum give the exact value, 3 times
 * faster than Bluestein's transform of q. Real input of L points is transformed as L/2 complex points.
 */
import { type Doubles, doubles } from "./doubles.ts";
import type { DftPlan, DftPlans } from "./fft.ts";
import { powerOfTwoFrom } from "./long-transform.ts";

export interface BandPower {
  /** Its `input` takes q as it is, M real numbers; what lies beyond does not matter. */
  readonly plan: DftPlan;
  /** Sum of |Q[k]|², k = 1..K, of the q in the plan's input. */
  sum(): number;
}

export function bandPower(plans: DftPlans, size: number, lines: number): BandPower {
  const half = powerOfTwoFrom(2 * size - 1) / 2;
  const plan = plans.complex(half);
  const weights = plans.table(`band-power/${size}/${lines}`, 3 * half, () =>
    weightsOf(plans, size, lines, half),
  );
  return { plan, sum: () => weightedSum(plan, weights, size) };
}

/**
 * By line i of 0..half/2: the weight of |S[i]|² + |S[half-i]|², then real and imaginary part of the weight of their
 * difference, which is 4·Re(E·conj(W·O)) for the even and odd halves E, O and W = exp(-2πj·i/L).
 */
function weightsOf(plans: DftPlans, size: number, lines: number, half: number): Doubles {
  const full = 2 * half;
  const plan = plans.complex(full);
  plan.input.fill(0);
  for (let l = 0; l < size; l++) {
    const d = dirichlet(l, size, lines);
    plan.input[2 * l] = d;
    if (l > 0) plan.input[2 * (full - l)] = d;
  }
  plan.run();
  // Every line but 0 and half stands for itself and its mirror.
  const g = (i: number) => ((plan.output[2 * i] ?? 0) / full) * (i === 0 || i === half ? 1 : 2);
  const weights = doubles(3 * (half / 2 + 1));
  for (let i = 0; i <= half / 2; i++) {
    const a = g(i);
    const b = g(half - i);
    const angle = (2 * Math.PI * i) / full;
    // The middle line is its own partner and occurs once.
    const share = 2 * i === half ? 0.5 : 1;
    weights[3 * i] = 0.5 * (a + b) * share;
    weights[3 * i + 1] = 0.5 * (a - b) * Math.cos(angle) * share;
    weights[3 * i + 2] = 0.5 * (a - b) * Math.sin(angle) * share;
  }
  return weights;
}

/** sum of cos(2πkl/M) over k = 1..K, in closed form: (sin((2K+1)x)/sin(x) - 1)/2 with x = πl/M. */
function dirichlet(l: number, size: number, lines: number): number {
  if (l === 0) return lines;
  // Whole turns are removed in integers, so that large products lose no phase.
  const x = Math.PI * (l / size);
  const y = (Math.PI * (((2 * lines + 1) * l) % (2 * size))) / size;
  return (Math.sin(y) / Math.sin(x) - 1) / 2;
}

function weightedSum(plan: DftPlan, weights: Doubles, size: number): number {
  // An odd number of real points ends in the middle of a complex one.
  if (size % 2 === 1) plan.input[size] = 0;
  plan.run(0, Math.ceil(size / 2));
  const z = plan.output;
  const half = plan.size;
  let sum = 0;
  for (let i = 0; i <= half / 2; i++) {
    const a = 2 * i;
    const b = i === 0 ? 0 : 2 * (half - i);
    const are = z[a] ?? 0;
    const aim = z[a + 1] ?? 0;
    const bre = z[b] ?? 0;
    const bim = z[b + 1] ?? 0;
    // E = (Z[i] + conj Z[half-i])/2, O = (Z[i] - conj Z[half-i])/2j; both doubled here.
    const ere = are + bre;
    const eim = aim - bim;
    const ore = aim + bim;
    const oim = bre - are;
    const even = ere * ere + eim * eim;
    const odd = ore * ore + oim * oim;
    // E·conj(W·O), W = cos - j·sin.
    const re = ere * ore + eim * oim;
    const im = eim * ore - ere * oim;
    const w = 3 * i;
    sum +=
      0.5 * (even + odd) * (weights[w] ?? 0) +
      re * (weights[w + 1] ?? 0) -
      im * (weights[w + 2] ?? 0);
  }
  // Rounding may give slightly less than zero if the band is empty.
  return Math.max(0, sum);
}
