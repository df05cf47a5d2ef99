/**
 * What one triaxial record costs: all its values by our transforms, compared with the textbook's sums and with JSON.parse of
 * the record as received. Ratios of pairs measured next to each other, so that a busy machine cancels out.
 * Target 9 of `npm run bench`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import type * as Define from "../../src/core/bands/definition.ts";
import type * as Measure from "../../src/core/bands/measure.ts";
import type { Machine } from "../../src/core/machine.ts";
import type * as Judge from "../../src/features/diagnosis/rules/judge.ts";
import { decodeSamples, encodeSamples } from "../../src/lib/waveform-codec.ts";
import type * as Analyse from "../../src/pipeline/signal/analyse.ts";
import type * as Fft from "../../src/pipeline/signal/fft.ts";
import { median, ownCpuMs } from "./measure.ts";
import type { Outcome } from "./plant.ts";
import { BEARING, bearingSamples } from "./simulated-bearing.ts";
import { textbookValues } from "./textbook.ts";

const PAIRS = 15;
const ROUNDS = 100;

/** Everything that can be looked for: two bearings at the point, a fan, a gear pair and the mains. */
const MACHINE: Machine = {
  id: 40,
  speed: { sensor: "50021" },
  lineHz: 50,
  blades: 6,
  teeth: [23, 71],
  bearings: [
    { point: 1, name: "6205", balls: 9, ballMm: 7.94, pitchMm: 39.04, angleDeg: 0 },
    { point: 1, name: "NDE", bpfo: 3.05, bpfi: 4.95, bsf: 1.99, ftf: 0.38 },
  ],
};
/** As a tachometer may report it: within its tolerance, and just enough revolutions to be evaluated. */
const MEASURED_RPM = 1500;
const SHAFT_HZ = 25.05;
const FAULT_G = 1.6;
const BANDS = { orders: [1, 2, 3], bearings: true, blades: true, teeth: true };
const SENSOR = {
  location: { company: 1, area: 2, machine: 40, point: 1 },
  channels: {},
  machineClass: "group2-rigid",
} as const;
const AXES = ["H", "V", "A"] as const;

/** The code as bundled: tsx, which runs the bench, names every inner function again at each call. */
async function builtCode() {
  const directory = mkdtempSync(join(tmpdir(), "gateside-bench-"));
  const outfile = join(directory, "signal.mjs");
  const parts = [
    "core/bands/definition",
    "core/bands/measure",
    "features/diagnosis/rules/judge",
    "pipeline/signal/analyse",
    "pipeline/signal/fft",
  ];
  const contents = parts.map((part) => `export * from "./src/${part}.ts";`).join("\n");
  try {
    const stdin = { contents, resolveDir: process.cwd() };
    await build({
      stdin,
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
    });
    return (await import(pathToFileURL(outfile).href)) as typeof Define &
      typeof Measure &
      typeof Judge &
      typeof Analyse &
      typeof Fft;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export async function vibrationRows(): Promise<Outcome> {
  const { analyseAxis, bandsOf, DftPlans, judge, measureBands } = await builtCode();
  const { sampleRateHz, calibration } = BEARING;
  const plans = new DftPlans();
  const channels = [1, 2, 3].map((seed) => bearingSamples(seed, FAULT_G, SHAFT_HZ));
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
  const find = () => {
    const found = diagnose();
    const values: Record<string, number | null> = {};
    for (const [i, { velocityRms, envelopeRms }] of found.entries()) {
      values[`channel${i + 1}_vel_rms`] = velocityRms.value;
      values[`channel${i + 1}_env_rms`] = envelopeRms.value;
    }
    const tones = found.map((one, i) => ({
      channel: i + 1,
      axis: AXES[i] ?? "H",
      isClipped: false,
      durationS: BEARING.size / sampleRateHz,
      tones: one.tones,
    }));
    const speedRpm = MEASURED_RPM;
    const around = { machine: MACHINE, sensor: SENSOR, speedRpm, isHeld: () => false };
    return judge({ tones, values }, { ...around, state: "running" });
  };
  const bands = bandsOf({ ...MACHINE, bands: BANDS }, SENSOR.location);
  const band = () => {
    const around = { sampleRateHz, calibration, plans, shaftHz: MEASURED_RPM / 60, isSteady: true };
    return channels.map((samples) => measureBands(samples, bands, around));
  };
  const parse = () => JSON.parse(wire) as unknown;
  // The transforms that values, findings and bands need, and nothing else: what no better code can save.
  let runs: (() => void)[] = [];
  class Noted extends DftPlans {
    override complex(size: number) {
      const plan = super.complex(size);
      const run = (from?: number, to?: number) => {
        runs.push(() => plan.run(from, to));
        plan.run(from, to);
      };
      return { ...plan, run };
    }
  }
  const noted = new Noted();
  // Twice: the first record's transforms include those that make tables, which no later one needs.
  for (let round = 0; round < 2; round++) {
    runs = [];
    for (const samples of channels) {
      analyseAxis(samples, { sampleRateHz, calibration, plans: noted, tones: true });
      measureBands(samples, bands, {
        sampleRateHz,
        calibration,
        plans: noted,
        shaftHz: MEASURED_RPM / 60,
        isSteady: true,
      });
    }
  }
  const transform = () => {
    for (const run of runs) run();
  };
  const textbook = () =>
    channels.map((samples) => textbookValues(samples, sampleRateHz, calibration));

  // Warm, as in a running agent: code compiled, tables made.
  repeat(analyse, 3 * ROUNDS);
  repeat(find, 3 * ROUNDS);
  if (find().judged.length < 8) throw new Error(`only ${find().judged.join()} were looked for`);
  repeat(parse, 3 * ROUNDS);
  repeat(band, 3 * ROUNDS);
  repeat(transform, 3 * ROUNDS);
  const pairs = Array.from({ length: PAIRS }, () => {
    const oursUs = repeat(analyse, ROUNDS);
    const parseUs = repeat(parse, ROUNDS);
    return {
      oursUs,
      parseUs,
      tonesUs: repeat(diagnose, ROUNDS),
      findUs: repeat(find, ROUNDS),
      bandsUs: repeat(band, ROUNDS),
      transformsUs: repeat(transform, ROUNDS),
    };
  });
  const ours = median(pairs.map(({ oursUs }) => oursUs));
  const parsed = median(pairs.map(({ parseUs }) => parseUs));
  const slow = Array.from({ length: 5 }, () => repeat(textbook, 1) / repeat(analyse, ROUNDS));
  const worst = worstDifference(analyse(), textbook());
  // A fast wrong result is worth nothing.
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
        what: "all values of one 3x4096 record / JSON.parse of it (µs)",
        measured: median(pairs.map(({ oursUs, parseUs }) => oursUs / parseUs)),
        limit: 3,
        sense: "<=",
        note: `${ours.toFixed(0)} : ${parsed.toFixed(0)}; equal to the textbook within ${worst.toExponential(0)}`,
      },
      {
        target: "9",
        what: "the same with findings / JSON.parse (µs)",
        measured: median(pairs.map(({ findUs, parseUs }) => findUs / parseUs)),
        limit: 3,
        sense: "<=",
        note: `tones of the ${channels.length} axes take ${median(pairs.map(({ tonesUs, oursUs }) => tonesUs - oursUs)).toFixed(0)} us, judging them ${median(pairs.map(({ findUs, tonesUs }) => findUs - tonesUs)).toFixed(0)}`,
      },
      {
        target: "9",
        what: "values, findings and bands / the transforms that they need (µs)",
        measured: median(
          pairs.map(({ findUs, bandsUs, transformsUs }) => (findUs + bandsUs) / transformsUs),
        ),
        limit: 1.5,
        sense: "<=",
        note: `${median(pairs.map(({ findUs, bandsUs }) => findUs + bandsUs)).toFixed(0)} : ${median(pairs.map(({ transformsUs }) => transformsUs)).toFixed(0)}; ${runs.length} transforms`,
      },
      {
        target: "9b",
        what: `${bands.length} bands of each axis / JSON.parse and values with findings of the record (µs)`,
        measured: median(pairs.map(({ bandsUs, findUs, parseUs }) => bandsUs / (findUs + parseUs))),
        limit: 0.1,
        sense: "<=",
        note: `${median(pairs.map(({ bandsUs }) => bandsUs)).toFixed(0)} us`,
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
  ours: readonly Analyse.AxisAnalysis[],
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
