/**
 * The value of a band: sqrt of the sum of `P[k]` (signal-definitions 4) over the lines whose centre lies in it (plant
 * section 18). Velocity is integrated line by line, bearing frequencies are read in the spectrum of the envelope
 * (signal-definitions 7). Not rounded, no high-pass.
 */

import {
  type AxisOptions,
  type Bands as Limits,
  USABLE_RATE,
} from "../../pipeline/signal/bands.ts";
import {
  checkRecord,
  doubtOf,
  type Group,
  isGreater,
  type SignalFlag,
} from "../../pipeline/signal/checks.ts";
import { DftPlans } from "../../pipeline/signal/fft.ts";
import { type LinePower, recordLines } from "../../pipeline/signal/line-power.ts";
import { bad, type Doubt, type Graded } from "../quality.ts";
import { inOneGo } from "../steps.ts";
import { MM_S2_PER_G } from "../unit.ts";
import type { Band } from "./band.ts";
import { followsShaft } from "./definition.ts";

/** Half width of an order, and of a bearing frequency, which slips, as shares of its frequency. */
const ORDER_SHARE = 0.01;
const BEARING_SHARE = 0.02;
const BELT_SHARE = 0.02;
/** A half width never reaches the neighbouring order. */
const SHAFT_SHARE_MAX = 0.4;
/** The Hann window spreads a tone over its neighbours. */
const LINES_BESIDE = 1.5;
const HARMONICS = 3;
const CENTRES_MIN = 3;
/** A residual offset covers lines 0 and 1. */
const FIRST_LINE = 2;
const FIRST_ENVELOPE_LINE = 1;
/** Of a line: an edge on a line includes it. */
const LINE_GUARD = 1e-9;

/** Flags that speak of the bands of the overall values, not of these. */
const isOfOverallBands = (flag: SignalFlag) => flag.startsWith("BAND_");

/** The lines of one spectrum. */
interface PowerLines {
  /** Mean square, in the value's unit squared. */
  readonly power: LinePower;
  readonly stepHz: number;
  readonly firstLine: number;
  readonly lastLine: number;
}

interface Edges {
  readonly lowHz: number;
  readonly highHz: number;
}

/** What the bands of one channel are measured in. */
export interface BandOptions extends AxisOptions {
  /** Measured speed / 60; null without one, and then bands that follow the shaft have no value. */
  readonly shaftHz: number | null;
  /** False: the next speed differs by more than 1 %, which makes what follows the shaft uncertain. */
  readonly isSteady: boolean;
  /** The shaft is driven by a belt, which slips. */
  readonly isBelt?: boolean;
}

/** Values of the bands of one channel, by the band's name. */
export function measureBands(
  samples: Int16Array,
  bands: readonly Band[],
  options: BandOptions,
): Map<string, Graded> {
  return inOneGo(bandSteps(samples, bands, options));
}

/** In steps of a few milliseconds; a record of usual length takes one. */
export function* bandSteps(
  samples: Int16Array,
  bands: readonly Band[],
  options: BandOptions,
): Generator<void, Map<string, Graded>> {
  const { flags, facts, bands: limits } = checkRecord(samples, options);
  const held = flags.filter((flag) => !isOfOverallBands(flag));
  const values = new Map<string, Graded>();
  const wanted = bands.filter((band) => !followsShaft(band) || options.shaftHz !== null);
  if (facts === null || limits === null) {
    const doubt = doubtOf(held, "accel");
    for (const { name } of wanted) values.set(name, { value: null, doubt });
    return values;
  }
  const { plans = new DftPlans() } = options;
  const lines = yield* recordLines(samples, facts.mean, limits, { ...options, plans });
  const stepHz = options.sampleRateHz / samples.length;
  const accel = {
    power: lines.accel,
    stepHz,
    firstLine: FIRST_LINE,
    lastLine: Math.floor(samples.length / 2),
  };
  const velocity = { ...accel, power: integrated(accel) };
  // The envelope is made in the memory of the others' transform, so after them.
  const [bearings, others] = partition(wanted, (band) => "bearing" in band);
  for (const band of others) {
    const spectrum = groupOf(band) === "accel" ? accel : velocity;
    values.set(band.name, measured(band, held, spectrum, limits, options));
  }
  if (bearings.length > 0) {
    const isReadable = doubtOf(held, "envelope")?.quality !== "bad";
    const envelope = {
      power: isReadable ? yield* lines.envelope() : () => Number.NaN,
      stepHz: options.sampleRateHz / limits.envSize,
      firstLine: FIRST_ENVELOPE_LINE,
      lastLine: limits.envLines,
    };
    for (const band of bearings)
      values.set(band.name, measured(band, held, envelope, limits, options));
  }
  lines.end();
  return values;
}

function groupOf(band: Band): Group {
  if ("bearing" in band) return "envelope";
  return "of" in band && band.of === "accel" ? "accel" : "velocity";
}

function measured(
  band: Band,
  flags: readonly SignalFlag[],
  spectrum: PowerLines,
  limits: Limits,
  { sampleRateHz, shaftHz, isSteady, isBelt = false }: BandOptions,
): Graded {
  const group = groupOf(band);
  const doubt = doubtOf(flags, group);
  if (doubt?.quality === "bad") return { value: null, doubt };
  const topHz = group === "envelope" ? limits.envLowPassHz : sampleRateHz / USABLE_RATE;
  const edges = edgesOf(band, shaftHz ?? Number.NaN, spectrum.stepHz, isBelt).filter(
    ({ highHz }) => !isGreater(highHz, topHz),
  );
  const [first] = edges;
  // Of a bearing, harmonics above the low-pass are left out, but not the first: the ranges rise.
  if (first === undefined) return bad("sample_rate_low");
  const lines = linesIn(edges, spectrum);
  if (first.lowHz < (spectrum.firstLine - LINE_GUARD) * spectrum.stepHz) return bad("too_short");
  if (lines.size < CENTRES_MIN) return bad("too_short");
  let sum = 0;
  for (const line of lines) sum += spectrum.power(line);
  return { value: Math.sqrt(sum), doubt: doubt ?? unsteady(band, isSteady) };
}

function unsteady(band: Band, isSteady: boolean): Doubt | null {
  if (isSteady || !followsShaft(band)) return null;
  return { quality: "uncertain", reason: "inconsistent" };
}

/** Ranges of the band, rising; several for the harmonics of a bearing frequency. */
function edgesOf(band: Band, shaftHz: number, stepHz: number, isBelt: boolean): Edges[] {
  if ("unit" in band) {
    const factor = band.unit === "order" ? shaftHz : 1;
    return [{ lowHz: band.from * factor, highHz: band.to * factor }];
  }
  const around = (centreHz: number, share: number): Edges => {
    const half = Math.min(share * centreHz, SHAFT_SHARE_MAX * shaftHz) + LINES_BESIDE * stepHz;
    return { lowHz: centreHz - half, highHz: centreHz + half };
  };
  if ("order" in band) return [around(band.order * shaftHz, isBelt ? BELT_SHARE : ORDER_SHARE)];
  return Array.from({ length: HARMONICS }, (_, at) =>
    around((at + 1) * band.bearing * shaftHz, BEARING_SHARE),
  );
}

/** Lines whose centres lie in the ranges; one that two of them share counts once. */
function linesIn(
  ranges: readonly Edges[],
  { stepHz, firstLine, lastLine }: PowerLines,
): Set<number> {
  const lines = new Set<number>();
  for (const { lowHz, highHz } of ranges) {
    const last = Math.min(lastLine, Math.floor(highHz / stepHz + LINE_GUARD));
    const first = Math.max(firstLine, Math.ceil(lowHz / stepHz - LINE_GUARD));
    for (let line = first; line <= last; line += 1) lines.add(line);
  }
  return lines;
}

/** From G² to (mm/s)²: each line by (9800/w)². */
function integrated({ power, stepHz }: PowerLines): LinePower {
  return (line) => power(line) * (MM_S2_PER_G / (2 * Math.PI * line * stepHz)) ** 2;
}

function partition<T>(of: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [of.filter(isFirst), of.filter((one) => !isFirst(one))];
}
