/**
 * What one triaxial record costs: all its values by our transforms, against the textbook's sums and against JSON.parse of
 * the record as it comes from the wire. Ratios of pairs measured next to each other, so that a busy machine cancels out.
 *
 *   node --import tsx scripts/bench/vibration.ts
 */
import { analyseAxis } from "../../src/core/signal/analyse.ts";
import { DftPlans } from "../../src/core/signal/fft.ts";
import { decodeSamples, encodeSamples } from "../../src/lib/waveform-codec.ts";
import { BEARING, bearingSamples } from "./simulated-bearing.ts";
import { textbookValues } from "./textbook.ts";

const PAIRS = 15;
const ROUNDS = 100;

function main(): void {
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
  const parse = () => JSON.parse(wire) as unknown;
  const textbook = () =>
    channels.map((samples) => textbookValues(samples, sampleRateHz, calibration));

  // Warm, as in a running agent: code compiled, tables made.
  repeat(analyse, 3 * ROUNDS);
  repeat(parse, 3 * ROUNDS);
  const pairs = Array.from({ length: PAIRS }, () => {
    const oursUs = repeat(analyse, ROUNDS);
    return { oursUs, parseUs: repeat(parse, ROUNDS) };
  });
  const ours = median(pairs.map(({ oursUs }) => oursUs));
  const slow = Array.from({ length: 5 }, () => repeat(textbook, 1) / repeat(analyse, ROUNDS));
  print("record", `3 x ${BEARING.size} samples, ${(wire.length / 1000).toFixed(1)} kB of JSON`);
  print("all values", `${ours.toFixed(0)} us`);
  print("JSON.parse", `${median(pairs.map(({ parseUs }) => parseUs)).toFixed(0)} us`);
  const ratios = pairs.map(({ oursUs, parseUs }) => oursUs / parseUs).sort((a, b) => a - b);
  const [low, high] = [ratios.at(0) ?? 0, ratios.at(-1) ?? 0];
  print(
    "values / JSON.parse",
    `${median(ratios).toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)} in ${PAIRS} pairs)`,
  );
  print("textbook / values", `${median(slow).toFixed(0)} (5 pairs)`);
  print("largest difference", worstDifference(analyse(), textbook()).toExponential(1));

  const encode = () => channels.map((samples) => encodeSamples(samples));
  const packed = encode();
  const unpack = () =>
    packed.map(({ encoding, bytes }) => decodeSamples(encoding, bytes, BEARING.size));
  const bytes = packed.reduce((sum, blob) => sum + blob.bytes.length, 0);
  repeat(encode, ROUNDS);
  repeat(unpack, ROUNDS);
  print("stored samples", `${((6 * BEARING.size) / bytes).toFixed(2)} times smaller`);
  print(
    "pack, unpack",
    `${repeat(encode, ROUNDS).toFixed(0)} us, ${repeat(unpack, ROUNDS).toFixed(0)} us`,
  );
}

/** Mean time of one call, us. */
function repeat(work: () => unknown, rounds: number): number {
  const startedAt = performance.now();
  for (let i = 0; i < rounds; i++) work();
  return ((performance.now() - startedAt) / rounds) * 1000;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
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

function print(what: string, text: string): void {
  process.stdout.write(`${what.padEnd(22)}${text}\n`);
}

main();
