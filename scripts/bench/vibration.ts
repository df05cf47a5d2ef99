/**
 * What one triaxial record costs: all its values by our transforms, against the textbook's sums and against JSON.parse of
 * the record as it comes from the wire. Ratios of pairs measured next to each other, so that a busy machine cancels out.
 * Target 9 of `npm run bench`.
 */
import { analyseAxis } from "../../src/core/signal/analyse.ts";
import { DftPlans } from "../../src/core/signal/fft.ts";
import { decodeSamples, encodeSamples } from "../../src/lib/waveform-codec.ts";
import { median, ownCpuMs } from "./measure.ts";
import type { Outcome } from "./plant.ts";
import { BEARING, bearingSamples } from "./simulated-bearing.ts";
import { textbookValues } from "./textbook.ts";

const PAIRS = 15;
const ROUNDS = 100;

export async function vibrationRows(): Promise<Outcome> {
  const { sampleRateHz, calibration } = BEARING;
  const plans = new DftPlans();
  const channels = [1, 2, 3].map((seed) => bearingSamples(seed));
  const wire = JSON.stringify({
    calibration,
    ...Object.fromEntries(channels.map((samples, i) => [`channel${i + 1}`, [...samples]])),
    sample_rate: sampleRateHz,
  });
  const analyse = () =>
    channels.map((samples) => analyseAxis(samples, { sampleRateHz, calibration, plans }));
  const diagnose = () =>
    channels.map((samples) =>
      analyseAxis(samples, { sampleRateHz, calibration, plans, tones: true }),
    );
  const parse = () => JSON.parse(wire) as unknown;
  const textbook = () =>
    channels.map((samples) => textbookValues(samples, sampleRateHz, calibration));

  // Warm, as in a running agent: code compiled, tables made.
  repeat(analyse, 3 * ROUNDS);
  repeat(diagnose, 3 * ROUNDS);
  repeat(parse, 3 * ROUNDS);
  const pairs = Array.from({ length: PAIRS }, () => {
    const oursUs = repeat(analyse, ROUNDS);
    return { oursUs, parseUs: repeat(parse, ROUNDS), tonesUs: repeat(diagnose, ROUNDS) };
  });
  const ours = median(pairs.map(({ oursUs }) => oursUs));
  const parsed = median(pairs.map(({ parseUs }) => parseUs));
  const slow = Array.from({ length: 5 }, () => repeat(textbook, 1) / repeat(analyse, ROUNDS));
  const worst = worstDifference(analyse(), textbook());
  // Fast by being wrong would be no feat.
  if (!(worst < 1e-6)) throw new Error(`the values differ from the textbook's by ${worst}`);

  const encode = () => channels.map((samples) => encodeSamples(samples));
  const packed = encode();
  const unpack = () =>
    packed.map(({ encoding, bytes }) => decodeSamples(encoding, bytes, BEARING.size));
  const bytes = packed.reduce((sum, blob) => sum + blob.bytes.length, 0);
  repeat(encode, ROUNDS);
  repeat(unpack, ROUNDS);
  return {
    rows: [
      {
        target: "9",
        what: "all values of one 3x4096 record / JSON.parse of it (us)",
        measured: median(pairs.map(({ oursUs, parseUs }) => oursUs / parseUs)),
        limit: 3,
        sense: "<=",
        note: `${ours.toFixed(0)} : ${parsed.toFixed(0)}; equal to the textbook within ${worst.toExponential(0)}`,
      },
      {
        target: "9",
        what: "the same with tones for findings / JSON.parse (us)",
        measured: median(pairs.map(({ tonesUs, parseUs }) => tonesUs / parseUs)),
        limit: 3,
        sense: "<=",
        note: `tones of the ${channels.length} axes take ${median(pairs.map(({ tonesUs, oursUs }) => tonesUs - oursUs)).toFixed(0)} us`,
      },
    ],
    raw: {
      pairs,
      textbookTimesSlower: median(slow),
      samplesTimesSmaller: (6 * BEARING.size) / bytes,
      packUs: repeat(encode, ROUNDS),
      unpackUs: repeat(unpack, ROUNDS),
    },
  };
}

/** Mean CPU of one call, us: a busy machine stretches the time, not the work. */
function repeat(work: () => unknown, rounds: number): number {
  const cpu = ownCpuMs(() => {
    for (let i = 0; i < rounds; i++) work();
  });
  return (cpu / rounds) * 1000;
}

function worstDifference(
  ours: readonly ReturnType<typeof analyseAxis>[],
  textbook: readonly ReturnType<typeof textbookValues>[],
): number {
  return textbook.reduce((worst, want, i) => {
    const got = ours[i];
    return Math.max(
      worst,
      ...(["velocityRms", "displacementRms", "envelopeRms"] as const).map((name) =>
        Math.abs((got?.[name].value ?? Number.NaN) / want[name] - 1),
      ),
    );
  }, 0);
}
